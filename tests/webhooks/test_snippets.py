"""What the documents give receivers to verify with, run against real deliveries in each language."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.http.request import HttpHeaders
from django.utils import timezone

from tests.locks.cast import Worker
from tests.webhooks.cast import Call, Keeper, attempt_next, calls, endpoint_of
from tests.webhooks.receivers import Receiver
from tests.webhooks.snippets import Received, Verify, in_bash, in_go, in_python, in_typescript
from webhooks import fanning, sending, signing
from webhooks.models import Delivery

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")


@pytest.fixture(scope="module", params=[in_python, in_typescript, in_go, in_bash], ids=lambda made: made.__name__[3:])
def verify(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Verify:
    verify: Verify = request.param(tmp_path_factory.mktemp("snippet"))
    return verify


@pytest.fixture
def deliver(
    keeper: Keeper, worker: Worker, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Received]:
    """A delivery of today, or of `ago`, signed with each of `secrets`."""

    def deliver(*secrets: str, ago: timedelta = timedelta()) -> Received:
        first, *more = secrets or (signing.mint_secret(),)
        made = keeper.register(receiver.url(), secret=first)
        for secret in more:
            keeper.rotate(made["id"], secret=secret)
        monkeypatch.setattr(sending, "timezone", SimpleNamespace(now=lambda: timezone.now() - ago))
        worker.hold(f"größe/日本-{len(receiver.requests)}", holder="worker-7")
        fanning.fan_out()
        Delivery.objects.update(due_at=timezone.now() - timedelta(days=1000))
        assert attempt_next(endpoint_of(made).pk)
        keeper.remove(made["id"])
        call = calls(receiver)[-1]
        return Received(secrets=[first], headers=_said(call), body=call.raw)

    return deliver


def _said(call: Call) -> dict[str, str]:
    return {name: value for name, value in call.headers.items() if name.startswith("webhook-")}


def header(one: Received, **changed: str) -> Received:
    return replace(one, headers=one.headers | {f"webhook-{name}": value for name, value in changed.items()})


def without(one: Received, name: str) -> Received:
    return replace(one, headers={key: value for key, value in one.headers.items() if key != f"webhook-{name}"})


class TestADelivery:
    def test_is_verified(self, verify: Verify, deliver: Callable[..., Received]) -> None:
        assert verify([deliver()]) == [True]

    def test_of_a_rotated_pair_is_verified_with_either(self, verify: Verify, deliver: Callable[..., Received]) -> None:
        old, new, other = (signing.mint_secret() for _ in range(3))
        one = deliver(old, new)
        assert len(one.headers["webhook-signature"].split()) == 2
        sets: list[list[str]] = [[old], [new], [old, new], [new, old], [other, new], [other], []]
        assert verify([replace(one, secrets=secrets) for secrets in sets]) == [True] * 5 + [False] * 2

    @pytest.mark.parametrize("size", [24, 33, 64])
    def test_is_verified_with_secrets_of_every_length(
        self, verify: Verify, deliver: Callable[..., Received], size: int
    ) -> None:
        assert verify([deliver("whsec_" + base64.b64encode(b"\xfb" * size).decode())]) == [True]

    def test_may_be_minutes_old_and_no_older(self, verify: Verify, deliver: Callable[..., Received]) -> None:
        ages = [timedelta(minutes=minutes) for minutes in (4, -4, 6, -6, 60 * 24, 60 * 24 * 365)]
        assert verify([deliver(ago=ago) for ago in ages]) == [True, True, False, False, False, False]


class TestWhatIsNone:
    def test_is_refused(self, verify: Verify, deliver: Callable[..., Received]) -> None:
        one = deliver()
        signature = one.headers["webhook-signature"]
        later = str(int(one.headers["webhook-timestamp"]) + 1)
        none: dict[str, Received] = {
            "tampered body": replace(one, body=one.body.replace(b"acquired", b"released")),
            "longer body": replace(one, body=one.body + b"\n"),
            "shorter body": replace(one, body=one.body[:-1]),
            "empty body": replace(one, body=b""),
            "other secret": replace(one, secrets=[signing.mint_secret()]),
            "no secret": replace(one, secrets=[]),
            "other id": header(one, id="msg_other"),
            "other time": header(one, timestamp=later),
            "no id": without(one, "id"),
            "no time": without(one, "timestamp"),
            "empty time": header(one, timestamp=""),
            "negative time": header(one, timestamp="-" + one.headers["webhook-timestamp"]),
            "time of text": header(one, timestamp="now"),
            "time and text": header(one, timestamp=one.headers["webhook-timestamp"] + "a"),
            "endless time": header(one, timestamp="9" * 5000),
            "fraction": header(one, timestamp=one.headers["webhook-timestamp"] + ".0"),
            "no signature": without(one, "signature"),
            "empty signature": header(one, signature=""),
            "version alone": header(one, signature="v1,"),
            "other version": header(one, signature=signature.replace("v1,", "v1a,")),
            "without version": header(one, signature=signature.removeprefix("v1,")),
            "half": header(one, signature=signature[:20]),
            "more": header(one, signature=signature + "A"),
            "other case": header(one, signature=signature.swapcase()),
            "star": header(one, signature="v1,* *"),
        }
        verdicts = dict(zip(none, verify(list(none.values())), strict=True))
        assert {label for label, is_good in verdicts.items() if is_good} == set()

    def test_stands_in_the_way_of_no_good_signature(self, verify: Verify, deliver: Callable[..., Received]) -> None:
        one = deliver()
        signature = one.headers["webhook-signature"]
        around = [f"v1,bad {signature}", f"{signature} v1,bad", f"v1a,other {signature} v2,new"]
        assert verify([header(one, signature=text) for text in around]) == [True] * 3


def test_python_takes_any_mapping_of_headers(deliver: Callable[..., Received], tmp_path: Any) -> None:
    one = deliver()
    environ = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in one.headers.items()}
    headers: Any = HttpHeaders(environ)
    assert in_python(tmp_path)([replace(one, headers=headers)]) == [True]
