"""Attempts: the secret of a caller that makes retries of an acquire safe (G5)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from octostore.leases.engine import Access
from octostore.leases.models import Lease
from octostore.leases.outcomes import AttemptDiffers, AttemptOver, Granted, Held
from tests.leases.acts import (
    DAY,
    MINUTE,
    SECOND,
    SPACE,
    acquire,
    bound,
    form,
    grant,
    release,
    renew,
    row,
    story,
    unbound,
)
from tests.leases.moving_time import age, expire
from tests.leases.threads import together

pytestmark = pytest.mark.usefixtures("database")

ATTEMPT = "attempt-0123456789abcdef"


class TestWhileTheTermLives:
    def test_a_retry_gets_the_same_term_and_capability(self) -> None:
        first = grant(attempt=ATTEMPT, metadata="m")
        again = grant(attempt=ATTEMPT, metadata="m")
        assert (again.hold.term, again.capability) == (first.hold.term, first.capability)
        assert again.replayed
        assert story() == [(1, "acquired")]

    def test_a_retry_gets_fresh_times(self) -> None:
        grant(attempt=ATTEMPT)
        age(MINUTE / 2)
        again = grant(attempt=ATTEMPT)
        assert timedelta(0) < again.remaining <= MINUTE / 2
        renew(again, ttl=10 * MINUTE)
        assert grant(attempt=ATTEMPT).remaining > 9 * MINUTE

    def test_a_retry_works_as_proof(self) -> None:
        grant(attempt=ATTEMPT)
        renew(grant(attempt=ATTEMPT))
        release(grant(attempt=ATTEMPT))

    def test_a_retry_asks_no_hook(self) -> None:
        def refuse() -> None:
            raise AssertionError("asked")

        grant(attempt=ATTEMPT)
        assert grant(attempt=ATTEMPT, charge=refuse, admit=refuse).replayed

    def test_twenty_retries_at_once_make_one_grant(self) -> None:
        outcomes = together(20, lambda _: grant(attempt=ATTEMPT))
        assert len({(granted.hold.term, granted.capability) for granted in outcomes}) == 1
        assert sorted(granted.replayed for granted in outcomes) == [False] + [True] * 19
        assert story() == [(1, "acquired")]

    @pytest.mark.parametrize(
        "altered",
        [
            {"holder": "borea"},
            {"ttl": 2 * MINUTE},
            {"metadata": "n"},
            {"metadata": None},
            {"group": unbound("h")},
            {"group": None},
            {"group": bound("g")},
            {"delay": SECOND},
            {"access": Access(entries=("key:a", "user:b"), acl=("key:a",))},
        ],
        ids=str,
    )
    def test_other_content_is_told_apart(self, altered: dict[str, Any]) -> None:
        form("g")
        form("h")
        content: dict[str, Any] = {"holder": "atlas", "ttl": MINUTE, "metadata": "m", "group": unbound("g")}
        granted = grant(attempt=ATTEMPT, **content)
        before = Lease.objects.values().get()
        assert acquire(attempt=ATTEMPT, **content | altered) == AttemptDiffers(term=granted.hold.term)
        assert Lease.objects.values().get() == before

    @pytest.mark.parametrize("metadata", [("None", None), ("", None), ("''", ""), ("m", "'m'")], ids=str)
    def test_look_alike_metadata_is_other_content(self, metadata: tuple[str | None, str | None]) -> None:
        first, second = metadata
        grant(attempt=ATTEMPT, metadata=first)
        assert isinstance(acquire(attempt=ATTEMPT, metadata=second), AttemptDiffers)

    def test_whom_it_is_charged_to_is_no_content(self) -> None:
        grant(attempt=ATTEMPT, charged_to="here")
        assert grant(attempt=ATTEMPT, charged_to="there").replayed
        assert row().charged_to == "here"

    def test_another_attempt_loses(self) -> None:
        grant(attempt=ATTEMPT)
        assert isinstance(acquire(attempt=ATTEMPT + "!"), Held)
        assert isinstance(acquire(), Held)

    def test_no_attempt_is_not_recognised_by_none(self) -> None:
        grant()
        assert isinstance(acquire(attempt=ATTEMPT), Held)
        assert isinstance(acquire(), Held)


class TestScope:
    def test_an_attempt_belongs_to_one_name(self) -> None:
        one, two = grant("one", attempt=ATTEMPT), grant("two", attempt=ATTEMPT)
        assert not two.replayed
        assert one.capability != two.capability

    def test_an_attempt_belongs_to_one_space(self) -> None:
        one, two = grant(attempt=ATTEMPT, space=SPACE), grant(attempt=ATTEMPT, space="elsewhere")
        assert not two.replayed
        assert one.capability != two.capability

    @pytest.mark.parametrize("odd", ["", "x", "\u00e9" * 300, "'; --"])
    def test_an_attempt_may_be_any_text(self, odd: str) -> None:
        assert grant(attempt=odd).capability == grant(attempt=odd).capability


class TestAfterTheTerm:
    def test_a_late_duplicate_of_a_released_term_wins_nothing(self) -> None:
        granted = grant(attempt=ATTEMPT)
        release(granted)
        assert acquire(attempt=ATTEMPT) == AttemptOver(term=granted.hold.term)
        assert story() == [(1, "acquired"), (2, "released")]

    def test_a_late_duplicate_of_an_expired_term_wins_nothing(self) -> None:
        granted = grant(attempt=ATTEMPT)
        expire()
        assert acquire(attempt=ATTEMPT) == AttemptOver(term=granted.hold.term)

    def test_what_was_told_to_be_over_stays_over(self) -> None:
        grant(attempt=ATTEMPT)
        expire()
        acquire(attempt=ATTEMPT)
        age(-MINUTE)
        assert isinstance(acquire(attempt=ATTEMPT), AttemptOver)
        assert story() == [(1, "acquired"), (2, "expired")]

    def test_other_content_is_over_as_well(self) -> None:
        granted = grant(attempt=ATTEMPT)
        release(granted)
        assert acquire(attempt=ATTEMPT, holder="borea") == AttemptOver(term=granted.hold.term)

    def test_twenty_late_duplicates_at_once_win_nothing(self) -> None:
        grant(attempt=ATTEMPT)
        expire()
        outcomes = together(20, lambda _: acquire(attempt=ATTEMPT))
        assert {type(outcome) for outcome in outcomes} == {AttemptOver}

    def test_another_attempt_wins(self) -> None:
        release(grant(attempt=ATTEMPT))
        assert grant(attempt=ATTEMPT + "!").replayed is False

    @pytest.mark.parametrize("end", ["released", "expired"])
    def test_is_remembered_for_a_day(self, end: str) -> None:
        granted = grant(attempt=ATTEMPT)
        if end == "released":
            release(granted)
        else:
            expire()
        age(DAY - MINUTE)
        assert isinstance(acquire(attempt=ATTEMPT), AttemptOver)
        age(2 * MINUTE)
        assert grant(attempt=ATTEMPT).hold.term > granted.hold.term

    def test_is_remembered_for_a_day_from_the_end_and_not_from_the_beginning(self) -> None:
        release(grant(attempt=ATTEMPT, ttl=3 * DAY))
        Lease.objects.update(began_at=0)
        assert isinstance(acquire(attempt=ATTEMPT), AttemptOver)

    def test_is_an_ordinary_acquire_once_another_term_came(self) -> None:
        release(grant(attempt=ATTEMPT))
        other = grant(holder="borea")
        assert isinstance(acquire(attempt=ATTEMPT), Held)
        release(other)
        assert isinstance(acquire(attempt=ATTEMPT), Granted)
