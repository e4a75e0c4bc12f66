"""What is said of an event: to the byte as the contract says it, on every attempt and to every endpoint."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from octostore.leases.models import Lease, LeaseEvent, OwedEvent
from octostore.teams.models import Team
from octostore.teams.principals import lock_space
from tests.elections.rooms import instant
from tests.house.sources import ROOT
from tests.locks.cast import Worker, age_session, expire, row
from tests.webhooks.cast import Call, Keeper, become_due, calls, in_turn, send
from tests.webhooks.receivers import Receiver, answering, receiving, resetting
from webhooks import messages, schedule, sending, signing
from webhooks.messages import Message

SPACE = "locks/2f6d8c1a-4b7e-4e90-95d3-c8a1f0b7e264"
AT = 1_796_162_960_123


def golden(**changed: Any) -> Message:
    """The message of an event that is always the same but for what is changed."""
    event = {
        "space": SPACE,
        "name": "repo/issue-1842",
        "incarnation": 28_937_790_000,
        "n": 7,
        "kind": "acquired",
        "at": AT,
        "term": 28_937_790_123,
        "holder": "worker-7",
        "group_id": None,
        "expires_at": AT + 60_000,
        "renewals": 0,
        "reason": "",
    }
    return Message.of(OwedEvent(**(event | changed)))


@pytest.mark.only("sqlite")  # pure
class TestTheBytes:
    def test_of_an_acquired_lock(self) -> None:
        assert golden().body == (
            '{"type":"lock.acquired","timestamp":"2026-12-01T22:09:20.123Z","data":{"lock":"repo/issue-1842",'
            '"holder_id":"ef624ddd-7774-485b-a990-c828cbc1d86d","holder":"worker-7","fencing_token":28937790123,'
            '"expires_at":"2026-12-01T22:10:20.123Z","revision":"28937790000-7"}}'
        )

    def test_of_a_renewal_have_no_revision(self) -> None:
        assert golden(kind="renewed", incarnation=None, n=None, renewals=3, group_id="session", holder="").body == (
            '{"type":"lock.renewed","timestamp":"2026-12-01T22:09:20.123Z","data":{"lock":"repo/issue-1842",'
            '"holder_id":"77deab64-274a-4e16-99ef-4af19f72c383","holder":null,"fencing_token":28937790123,'
            '"expires_at":"2026-12-01T22:10:20.123Z"}}'
        )

    @pytest.mark.parametrize(
        ("event", "told_as", "reason"),
        [
            ({"kind": "released"}, "lock.released", None),
            ({"kind": "released", "reason": "session_deleted"}, "lock.released", "session_deleted"),
            ({"kind": "expired"}, "lock.expired", None),
            # What the operator wrote is the team's own affair.
            ({"kind": "revoked", "reason": "it hangs, ask Ann"}, "lock.released", "revoked"),
        ],
    )
    def test_of_an_end_say_why(self, event: dict[str, Any], told_as: str, reason: str | None) -> None:
        said = json.loads(golden(**event).body)
        assert (said["type"], said["data"].get("reason")) == (told_as, reason)

    def test_are_those_of_the_documents_and_signed_as_there(self) -> None:
        page = (ROOT / "docs" / "webhooks.md").read_text(encoding="utf-8")
        (secret,) = re.findall(r'"secret": "(whsec_\S+)"', (ROOT / "docs" / "api.md").read_text(encoding="utf-8"))
        headers = dict(re.findall(r"^(webhook-\w+): (.*)$", page, re.MULTILINE))
        message, at = golden(), datetime.fromtimestamp(AT // 1000, UTC)
        assert f"\n{message.body}\n" in page
        body = message.body.encode()
        assert headers == signing.signed_headers([secret], message_id=message.id, at=at, body=body)

    def test_are_utf_8(self) -> None:
        assert '"lock":"größe/日本"' in golden(name="größe/日本").body


@pytest.mark.only("sqlite")  # pure
class TestTheId:
    def test_is_the_same_whoever_makes_it(self) -> None:
        assert golden().id == "msg_qMAWxirogQF8zt37omUPfbeO8F0"
        assert golden(kind="released", at=1, holder="x").id == golden().id

    @pytest.mark.parametrize("changed", [{"n": 8}, {"incarnation": 1}, {"name": "b"}, {"space": "locks/b"}])
    def test_is_another_for_each_event(self, changed: dict[str, Any]) -> None:
        assert golden(**changed).id != golden().id

    def test_is_another_for_each_renewal(self) -> None:
        renewals = [
            golden(kind="renewed", incarnation=None, n=None, term=term, renewals=renewals)
            for term in (1, 7, 11)
            for renewals in (1, 7, 11)
        ]
        # As numbers that an event has for its incarnation and its count.
        events = [golden(incarnation=incarnation, n=n) for incarnation in (1, 7, 11) for n in (1, 7, 11)]
        assert len({message.id for message in [*renewals, *events]}) == 18

    def test_can_be_signed(self) -> None:
        assert "." not in golden().id
        assert len(golden().id) == len("msg_") + 27


class TestWhatIsSent:
    def body_of(self, receiver: Receiver, kind: str) -> dict[str, Any]:
        send()
        (body,) = [call.body for call in calls(receiver) if call.body["type"] == f"lock.{kind}"]
        return body

    def test_of_an_acquire_says_what_the_api_says(
        self, keeper: Keeper, worker: Worker, receiver: Receiver, lock: str
    ) -> None:
        keeper.register(receiver.url())
        won = worker.hold(lock, holder="worker-7", metadata="canary-metadata")
        body = self.body_of(receiver, "acquired")
        seen = worker.lock(lock)
        assert body == {
            "type": "lock.acquired",
            "timestamp": body["timestamp"],
            "data": {
                "lock": lock,
                "holder_id": seen["holder_id"],
                "holder": "worker-7",
                "fencing_token": won["fencing_token"],
                "expires_at": won["expires_at"],
                "revision": f"{row(lock).incarnation}-1",
            },
        }
        assert instant(body["timestamp"]) == row(lock).began_at
        assert list(body["data"]) == ["lock", "holder_id", "holder", "fencing_token", "expires_at", "revision"]
        assert "canary" not in str(receiver.requests)

    def test_of_a_release(self, keeper: Keeper, worker: Worker, receiver: Receiver, lock: str) -> None:
        keeper.register(receiver.url(), events=["released"])
        won = worker.hold(lock)
        holder_id = worker.lock(lock)["holder_id"]
        worker.release(lock, won["lease_id"])
        body = self.body_of(receiver, "released")
        assert instant(body["timestamp"]) == row(lock).ended_at
        assert body["data"] == {
            "lock": lock,
            "holder_id": holder_id,
            "holder": None,
            "fencing_token": won["fencing_token"],
            "expires_at": won["expires_at"],
            "revision": f"{row(lock).incarnation}-2",
        }

    def test_of_an_expiry_is_dated_by_the_deadline(
        self, keeper: Keeper, worker: Worker, receiver: Receiver, lock: str
    ) -> None:
        keeper.register(receiver.url())
        worker.hold(lock)
        expire(lock)
        deadline = row(lock).expires_at
        worker.hold(lock)
        body = self.body_of(receiver, "expired")
        assert instant(body["timestamp"]) == instant(body["data"]["expires_at"]) == deadline
        assert "reason" not in body["data"]

    def test_of_a_revocation(self, keeper: Keeper, worker: Worker, admin: Keeper, receiver: Receiver) -> None:
        keeper.register(receiver.url())
        admin.revoke("a", worker.hold("a")["fencing_token"], reason="canary-reason")
        assert self.body_of(receiver, "released")["data"]["reason"] == "revoked"
        assert "canary" not in str(receiver.requests)

    def test_of_a_deleted_session(self, keeper: Keeper, worker: Worker, receiver: Receiver) -> None:
        keeper.register(receiver.url())
        session = worker.begin()
        worker.hold("a", session_id=session, ephemeral=True)
        holder_id = worker.lock("a")["holder_id"]
        worker.delete(f"/sessions/{session}")
        data = self.body_of(receiver, "released")["data"]
        assert (data["reason"], data["holder_id"]) == ("session_deleted", holder_id)
        assert session not in str(receiver.requests)

    def test_of_a_renewal(self, keeper: Keeper, worker: Worker, receiver: Receiver) -> None:
        keeper.register(receiver.url(), events=["renewed"])
        won = worker.hold("a", holder="w")
        renewed = [worker.renew_lock("a", won["lease_id"], ttl_seconds=ttl).json() for ttl in (100, 200)]
        send()
        bodies = [call.body for call in calls(receiver)]
        assert [body["data"]["expires_at"] for body in bodies] == [one["expires_at"] for one in renewed]
        assert {body["type"] for body in bodies} == {"lock.renewed"}
        assert all(body["data"].keys().isdisjoint({"revision", "reason"}) for body in bodies)
        assert len({call.id for call in calls(receiver)}) == 2

    def test_revisions_are_those_of_the_watch(
        self, keeper: Keeper, worker: Worker, receiver: Receiver, team: Team
    ) -> None:
        keeper.register(receiver.url())
        for _ in range(5):
            worker.release("a", worker.hold("a")["lease_id"])
        send()
        told = {call.body["data"]["revision"] for call in calls(receiver)}
        events = LeaseEvent.objects.filter(lease=Lease.objects.get(space=lock_space(str(team.uuid)), name="a"))
        assert told == {f"{event.incarnation}-{event.n}" for event in events}
        assert len(told) == 10


@pytest.mark.usefixtures("private")
class TestEveryAttempt:
    def attempts(self, keeper: Keeper, worker: Worker) -> tuple[str, list[Call]]:
        """The secret, and all nine calls for one event."""
        with receiving(in_turn(answering("500 Oops"), resetting, answering("503 Busy"))) as receiver:
            secret = keeper.register(receiver.url())["secret"]
            worker.hold("größe")
            for _ in range(schedule.ATTEMPTS):
                send()
                become_due()
            return secret, calls(receiver)

    def test_has_the_same_id_and_bytes(self, keeper: Keeper, worker: Worker) -> None:
        _, made = self.attempts(keeper, worker)
        assert len(made) == schedule.ATTEMPTS
        assert len({(call.id, call.raw) for call in made}) == 1

    def test_is_signed_at_its_own_instant(
        self, keeper: Keeper, worker: Worker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        began = timezone.now()
        ticks = iter(range(10_000))

        class Clock:
            @staticmethod
            def now() -> Any:
                return began + timedelta(seconds=next(ticks))

        monkeypatch.setattr(sending, "timezone", Clock)
        secret, made = self.attempts(keeper, worker)
        stamps = [int(call.headers["webhook-timestamp"]) for call in made]
        assert stamps == sorted(set(stamps))
        assert all(call.is_signed_with(secret) for call in made)

    def test_has_three_headers_of_the_specification(self, keeper: Keeper, worker: Worker) -> None:
        _, made = self.attempts(keeper, worker)
        assert made[0].headers["content-type"] == "application/json"
        assert made[0].headers.keys() >= {"webhook-id", "webhook-timestamp", "webhook-signature"}
        assert not [name for name in made[0].headers if name.startswith("svix")]


class TestEveryEndpoint:
    def test_is_told_the_same_under_one_id(self, keeper: Keeper, worker: Worker, receiver: Receiver) -> None:
        secrets = [keeper.register(receiver.url())["secret"] for _ in range(3)]
        worker.hold("a")
        send()
        made = calls(receiver)
        assert len(made) == 3
        assert len({(call.id, call.raw) for call in made}) == 1
        assert sorted(secret for call in made for secret in secrets if call.is_signed_with(secret)) == sorted(secrets)


class TestASession:
    def test_moves_deadlines_without_a_call(self, keeper: Keeper, worker: Worker, receiver: Receiver) -> None:
        """Neither by its keepalive nor by acquiring again does anybody renew a lock."""
        keeper.register(receiver.url(), events=["renewed"])
        session = worker.begin()
        worker.hold("a", session_id=session, ephemeral=True)
        age_session(session, 5)
        deadline = row("a").expires_at
        worker.keep(session)
        worker.hold("a", session_id=session, ephemeral=True)
        assert row("a").expires_at > deadline
        assert send() == 0


def test_every_kind_of_event_is_told() -> None:
    assert messages._TOLD_AS.keys() == {*LeaseEvent.Kind.values, "renewed"}
