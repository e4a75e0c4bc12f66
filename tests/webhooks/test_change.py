"""PATCH /webhooks/{id}: another URL, other events or locks; switched off, and on again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import pytest
from django.utils import timezone

from octostore.leases.models import FollowedSpace
from octostore.teams.models import AuditEntry, Team
from tests.elections.rooms import told
from tests.locks.cast import Worker
from tests.locks.ladder import NO_TEXTS, broken, misfits
from tests.webhooks.bad_input import NO_EVENTS, NO_PATTERNS, NO_URLS
from tests.webhooks.cast import SHOWN, URL, Keeper, audited, calls, endpoint_of, send, stored
from tests.webhooks.ladder import LadderOfOne
from tests.webhooks.receivers import Receiver
from webhooks.models import Endpoint


def renewals_owed() -> list[bool]:
    """For each space that is followed, whether with renewals."""
    return list(FollowedSpace.objects.values_list("renewals", flat=True))


class TestChanging:
    @pytest.mark.parametrize(
        "asked",
        [
            {"url": "https://example.org/other"},
            {"events": ["expired"]},
            {"lock_pattern": "other/*"},
            {"url": "https://example.org/other", "events": ["*"], "lock_pattern": "a"},
        ],
    )
    def test_changes_what_is_given_and_nothing_else(self, keeper: Keeper, asked: dict[str, Any]) -> None:
        made = keeper.register()
        assert keeper.change(made["id"], **asked) == made | {"secret": "****"} | asked
        assert keeper.webhook(made["id"]) == made | {"secret": "****"} | asked

    @pytest.mark.parametrize("asked", [{}, {"url": None, "events": None, "active": None}, {"secret": "x", "id": "y"}])
    def test_with_nothing_given_changes_nothing(self, keeper: Keeper, asked: dict[str, Any]) -> None:
        made = keeper.register()
        before = stored()
        assert keeper.change(made["id"], **asked) == made | {"secret": "****"}
        assert stored() == before
        assert not AuditEntry.objects.filter(action="webhook_changed").exists()

    def test_again_is_harmless(self, keeper: Keeper, team: Team) -> None:
        made = keeper.register()
        asked = {"events": ["expired"], "active": False}
        assert keeper.change(made["id"], **asked) == keeper.change(made["id"], **asked)
        assert audited(team)[1:] == [("webhook_changed", f"webhook:{made['id']}")]

    def test_is_in_the_audit_with_before_and_after(self, keeper: Keeper) -> None:
        made = keeper.register()
        answer = keeper.patch(f"/webhooks/{made['id']}", json={"events": ["expired"], "active": False})
        entry = AuditEntry.objects.get(action="webhook_changed")
        assert (entry.actor, entry.request_id) == (f"key:{keeper.visible}", answer.headers["X-Request-Id"])
        before = {"url": SHOWN, "events": "acquired released expired", "lock_pattern": "*", "active": True}
        assert (entry.before, entry.after) == (before, before | {"events": "expired", "active": False})

    def test_of_the_query_alone_is_in_the_audit_too(self, keeper: Keeper) -> None:
        keeper.change(keeper.register()["id"], url=URL + "-other")
        entry = AuditEntry.objects.get(action="webhook_changed")
        assert entry.before == entry.after
        assert "canary" not in str(entry.after)

    def test_goes_for_what_is_queued_too(self, keeper: Keeper, worker: Worker, receiver: Receiver) -> None:
        made = keeper.register(receiver.url("/old"))
        worker.hold("a")
        send()
        worker.hold("b")
        keeper.change(made["id"], url=receiver.url("/new"))
        send()
        assert [request.split(b" ")[1] for request in receiver.requests] == [b"/old", b"/new"]

    def test_of_the_url_forgets_how_the_old_one_did(self, keeper: Keeper) -> None:
        made = keeper.register()
        past = timezone.now() - timedelta(days=4)
        Endpoint.objects.update(failing_since=past, last_success_at=past)
        keeper.change(made["id"], url=URL)
        assert endpoint_of(made).failing_since == past
        changed = keeper.change(made["id"], url="https://example.org/other")
        assert (changed["failing_since"], changed["last_success_at"]) == (None, None)

    def test_of_events_and_pattern_goes_for_what_happens_from_then_on(
        self, keeper: Keeper, worker: Worker, receiver: Receiver
    ) -> None:
        made = keeper.register(receiver.url(), events=["released"], lock_pattern="x")
        worker.hold("a")
        send()
        keeper.change(made["id"], events=["acquired"], lock_pattern="*")
        worker.hold("b")
        send()
        assert [call.body["data"]["lock"] for call in calls(receiver)] == ["b"]


class TestSwitchingOff:
    def test_is_told(self, keeper: Keeper) -> None:
        made = keeper.register()
        changed = keeper.change(made["id"], active=False)
        assert (changed["active"], changed["inactive_reason"]) == (False, "asked")

    def test_and_on_again(self, keeper: Keeper) -> None:
        made = keeper.register()
        keeper.change(made["id"], active=False)
        Endpoint.objects.update(failing_since=timezone.now() - timedelta(days=9))
        assert keeper.change(made["id"], active=True) == made | {"secret": "****"}

    def test_follows_the_teams_locks_as_far_as_somebody_asks(self, keeper: Keeper) -> None:
        first, second = keeper.register(events=["renewed"])["id"], keeper.register()["id"]
        assert renewals_owed() == [True]
        keeper.change(first, active=False)
        assert renewals_owed() == [False]
        keeper.change(second, active=False)
        assert renewals_owed() == []
        keeper.change(first, active=True)
        assert renewals_owed() == [True]
        keeper.change(first, events=["acquired"])
        assert renewals_owed() == [False]


class TestAKeyWithAPrefix:
    def test_changes_what_is_within_to_what_is_within(self, within: Keeper) -> None:
        made = within.register()
        assert within.change(made["id"], lock_pattern="repo/a*")["lock_pattern"] == "repo/a*"

    def test_moves_nothing_out(self, within: Keeper) -> None:
        made = within.register()
        before = stored()
        for pattern in ("*", "repo*", "other/*"):
            answer = within.patch(f"/webhooks/{made['id']}", json={"lock_pattern": pattern})
            assert told(answer) == (403, "forbidden"), pattern
        assert stored() == before


class TestInput(LadderOfOne):
    method: ClassVar[str] = "PATCH"
    path: ClassVar[str] = "/webhooks/{webhook}"
    body: ClassVar[dict[str, Any]] = {"url": URL}

    def test_each_bad_field_is_refused_and_named(self, keeper: Keeper) -> None:
        made = keeper.register()
        before = stored()

        def refuses(faults: dict[str, tuple[str, int, str]], field: str) -> None:
            for label, (text, status, code) in faults.items():
                raw = f'{{"{field}": {text}}}'.encode()
                headers = {"Content-Type": "application/json"}
                answer = keeper.patch(f"/webhooks/{made['id']}", content=raw, headers=headers)
                assert told(answer) == (status, code), (label, answer.text)
                assert field in answer.json()["details"], label

        refuses(misfits(NO_TEXTS) | broken(NO_URLS), "url")
        refuses(misfits({"text": '"acquired"', "numbers": "[1]"}) | broken(NO_EVENTS), "events")
        refuses(misfits(NO_TEXTS) | broken(NO_PATTERNS), "lock_pattern")
        refuses(misfits({"number": "1", "text": '"true"', "list": "[]"}), "active")
        assert stored() == before
