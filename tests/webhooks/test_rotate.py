"""POST /webhooks/{id}/rotate: a new signing secret, with or without a day of both."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import pytest
from django.utils import timezone

from octostore.teams.models import AuditEntry
from tests.elections.rooms import instant
from tests.locks.cast import Worker
from tests.locks.ladder import NO_TEXTS, broken, misfits
from tests.webhooks.bad_input import GIVEN, NO_SECRETS
from tests.webhooks.cast import Keeper, become_due, calls, endpoint_of, go_back, in_turn, milliseconds, send, stored
from tests.webhooks.ladder import LadderOfOne
from tests.webhooks.receivers import Receiver, answering, receiving
from webhooks import signing
from webhooks.models import Endpoint

DAY = timedelta(hours=24)


def signers(receiver: Receiver, **secrets: str) -> set[str]:
    """Which of these signed the last call; each signature is one of theirs."""
    last = calls(receiver)[-1]
    names = {name for name, secret in secrets.items() if last.is_signed_with(secret)}
    assert len(names) == len(last.signatures)
    return names


class TestRotating:
    def test_shows_a_new_secret_this_once(self, keeper: Keeper) -> None:
        made = keeper.register()
        rotated = keeper.rotate(made["id"])
        assert rotated["secret"] != made["secret"]
        assert signing.is_secret(rotated["secret"])
        until = endpoint_of(made).previous_until
        assert until
        assert abs(instant(rotated["old_secret_until"]) - milliseconds(until)) <= 1
        assert timedelta() <= timezone.now() + DAY - until < timedelta(minutes=1)
        expected = made | {"secret": "****", "old_secret_until": rotated["old_secret_until"]}
        assert keeper.webhook(made["id"]) == expected
        assert rotated | {"secret": "****"} == expected

    def test_takes_a_given_secret(self, keeper: Keeper) -> None:
        assert keeper.rotate(keeper.register()["id"], secret=GIVEN)["secret"] == GIVEN

    def test_is_in_the_audit_without_secrets(self, keeper: Keeper) -> None:
        made = keeper.register()
        keeper.rotate(made["id"], secret=GIVEN)
        keeper.rotate(made["id"], now=True)
        entries = AuditEntry.objects.filter(action="webhook_secret_rotated").order_by("id")
        assert [(entry.object, entry.before, entry.after) for entry in entries] == [
            (f"webhook:{made['id']}", None, {"old_signs_on": True}),
            (f"webhook:{made['id']}", None, {"old_signs_on": False}),
        ]


class TestSignatures:
    def test_are_of_both_for_a_day(self, keeper: Keeper, receiver: Receiver) -> None:
        made = keeper.register(receiver.url())
        old, new = made["secret"], keeper.rotate(made["id"])["secret"]
        keeper.try_out(made["id"])
        send()
        assert signers(receiver, old=old, new=new) == {"old", "new"}
        first = calls(receiver)[-1].signatures[0]
        go_back(Endpoint.objects.all(), DAY, "previous_until")
        keeper.try_out(made["id"])
        send()
        assert signers(receiver, old=old, new=new) == {"new"}
        assert first != calls(receiver)[-1].signatures[0]
        assert keeper.webhook(made["id"])["old_secret_until"] is None

    def test_are_never_of_more_than_two(self, keeper: Keeper, receiver: Receiver) -> None:
        made = keeper.register(receiver.url())
        secrets = [made["secret"], *(keeper.rotate(made["id"])["secret"] for _ in range(3))]
        keeper.try_out(made["id"])
        send()
        assert signers(receiver, **{str(n): secret for n, secret in enumerate(secrets)}) == {"2", "3"}

    def test_are_of_the_new_one_alone_when_the_old_is_dropped(self, keeper: Keeper, receiver: Receiver) -> None:
        made = keeper.register(receiver.url())
        old, new = made["secret"], keeper.rotate(made["id"], now=True)["secret"]
        assert keeper.webhook(made["id"])["old_secret_until"] is None
        keeper.try_out(made["id"])
        send()
        assert signers(receiver, old=old, new=new) == {"new"}

    @pytest.mark.usefixtures("private")
    @pytest.mark.parametrize(("asked", "expected"), [({}, {"old", "new"}), ({"now": True}, {"new"})])
    def test_of_queued_retries_are_of_what_is_valid_then(
        self, keeper: Keeper, worker: Worker, asked: dict[str, Any], expected: set[str]
    ) -> None:
        with receiving(in_turn(answering("500 Oops"), answering())) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            send()
            assert signers(receiver, old=made["secret"]) == {"old"}
            new = keeper.rotate(made["id"], **asked)["secret"]
            become_due()
            send()
            assert signers(receiver, old=made["secret"], new=new) == expected

    def test_dropping_the_old_one_drops_one_that_overlaps(self, keeper: Keeper, receiver: Receiver) -> None:
        made = keeper.register(receiver.url())
        second = keeper.rotate(made["id"])["secret"]
        third = keeper.rotate(made["id"], now=True)["secret"]
        keeper.try_out(made["id"])
        send()
        assert signers(receiver, first=made["secret"], second=second, third=third) == {"third"}


class TestInput(LadderOfOne):
    path: ClassVar[str] = "/webhooks/{webhook}/rotate"
    body: ClassVar[dict[str, Any]] = {}

    def test_each_bad_field_is_refused_and_named(self, keeper: Keeper) -> None:
        made = keeper.register()
        before = stored()
        for field, faults in {
            "secret": misfits(NO_TEXTS) | broken(NO_SECRETS),
            "now": misfits({"number": "1", "text": '"true"', "list": "[]"}),
        }.items():
            for label, (text, status, code) in faults.items():
                headers = {"Content-Type": "application/json"}
                raw = f'{{"{field}": {text}}}'.encode()
                answer = keeper.post(f"/webhooks/{made['id']}/rotate", content=raw, headers=headers)
                assert (answer.status_code, answer.json()["code"]) == (status, code), (label, answer.text)
                assert field in answer.json()["details"], label
        assert stored() == before

    def test_no_body_is_an_empty_one(self, keeper: Keeper) -> None:
        assert keeper.post(f"/webhooks/{keeper.register()['id']}/rotate").status_code == 200
