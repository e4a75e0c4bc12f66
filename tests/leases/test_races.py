"""Many callers at one instant: one of them wins, and everybody is told the same (G1, G2)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from octostore.leases import engine, reaper
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Lease
from octostore.leases.outcomes import Granted, Held
from tests.leases.acts import MINUTE, NAME, SPACE, acquire, grant, inspect, recorded, release, renew, row, story
from tests.leases.moving_time import age, expire
from tests.leases.threads import together
from tests.players import now_ms

pytestmark = pytest.mark.usefixtures("database")


def refused(act: Callable[[], Any]) -> bool:
    try:
        act()
    except NotCurrent:
        return True
    return False


class TestFiftyTakers:
    def contend(self) -> Granted:
        """Fifty acquires at once: the one grant, after checking what the others were told."""
        outcomes = together(50, lambda number: acquire(holder=str(number)))
        granted = [outcome for outcome in outcomes if isinstance(outcome, Granted)]
        held = [outcome for outcome in outcomes if isinstance(outcome, Held)]
        assert (len(granted), len(held)) == (1, 49)
        assert {(loss.hold.term, loss.hold.holder) for loss in held} == {(granted[0].hold.term, granted[0].hold.holder)}
        return granted[0]

    def test_of_a_new_name_have_one_winner(self) -> None:
        self.contend()
        assert story() == [(1, "acquired")]

    def test_of_an_expired_name_have_one_winner_each_time(self) -> None:
        terms = [grant().hold.term]
        for _ in range(3):
            expire()
            terms.append(self.contend().hold.term)
        assert terms == sorted(set(terms))
        assert [kind for _, kind in story()] == ["acquired"] + ["expired", "acquired"] * 3

    def test_of_a_released_name_have_one_winner(self) -> None:
        release(grant())
        self.contend()

    def test_find_the_name_free_while_it_is_forgotten_again_and_again(self) -> None:
        def act(number: int) -> int:
            if number < 2:
                for _ in range(20):
                    reaper.forget(SPACE, idle=timedelta(0))
                return 0
            won = 0
            for _ in range(5):
                outcome = acquire(holder=str(number))
                if isinstance(outcome, Granted):
                    release(outcome)
                    # Long ago, so that it can be forgotten.
                    Lease.objects.filter(space=SPACE, name=NAME).exclude(ended_at=None).update(term=1)
                    won += 1
            return won

        assert sum(together(8, act)) > 0
        counts = [event.n for event in recorded()] if Lease.objects.exists() else []
        assert counts == list(range(1, len(counts) + 1))


class TestAtTheDeadline:
    def test_a_renewal_and_a_taker_never_both_succeed(self) -> None:
        won = {"renewal": 0, "taker": 0, "nobody": 0}
        for _ in range(40):
            granted = grant()
            age(timedelta(milliseconds=granted.hold.expires_at - now_ms() - 15))
            deadline = time.monotonic() + 0.015

            def act(number: int, granted: Granted = granted, deadline: float = deadline) -> bool:
                time.sleep(max(0.0, deadline - time.monotonic() + random.uniform(-0.004, 0.004)))
                return isinstance(acquire(), Granted) if number else not refused(lambda: renew(granted))

            renewed, taken = together(2, act)
            assert not (renewed and taken)
            won["renewal" if renewed else "taker" if taken else "nobody"] += 1
            end_whatever_lives()
        assert won["renewal"] + won["taker"] > 0, won

    def test_nobody_is_granted_before_the_deadline(self) -> None:
        for _ in range(10):
            granted = grant()
            age(timedelta(milliseconds=granted.hold.expires_at - now_ms() - 10))
            deadline = row().expires_at
            outcomes = contend_after(granted.hold.term)
            winners = [outcome for outcome in outcomes if isinstance(outcome, Granted)]
            assert len(winners) == 1
            assert winners[0].hold.began_at >= deadline
            end_whatever_lives()


def contend_after(term: int) -> list[Granted | Held]:
    """What four callers are told who try until `term` is over."""

    def act(_: int) -> Granted | Held:
        while True:
            outcome = acquire()
            assert isinstance(outcome, Granted | Held)
            if outcome.hold.term != term:
                return outcome

    return together(4, act)


def end_whatever_lives() -> None:
    outcome = inspect()
    if isinstance(outcome, Held):
        engine.revoke(SPACE, NAME, term=outcome.hold.term, reason="", actor="")


class TestOneHolderAtATime:
    def test_through_a_storm_of_short_holds(self) -> None:
        """Ten workers each hold one name three times; the events tell one holder at a time."""

        def work(number: int) -> list[int]:
            terms: list[int] = []
            while len(terms) < 3:
                outcome = acquire(holder=str(number))
                if not isinstance(outcome, Granted):
                    time.sleep(0.002)
                else:
                    terms.append(outcome.hold.term)
                    renew(outcome)
                    release(outcome)
            return terms

        terms = [term for mine in together(10, work) for term in mine]
        assert len(set(terms)) == 30
        events = recorded()
        assert [event.n for event in events] == list(range(1, 2 * len(terms) + 1))
        assert [event.kind for event in events] == ["acquired", "released"] * len(terms)
        assert [event.term for event in events[::2]] == sorted(terms)
        assert [event.at for event in events] == sorted(event.at for event in events)

    def test_whatever_the_others_do(self) -> None:
        """Releases, removals, renewals and takers at once: each term ends once."""
        for _ in range(10):
            self.storm(grant())
            end_whatever_lives()
        kinds = [event.kind for event in recorded()]
        assert kinds[::2] == ["acquired"] * (len(kinds) // 2)
        assert "acquired" not in kinds[1::2]

    def storm(self, granted: Granted) -> None:
        def act(number: int) -> None:
            match number % 5:
                case 0:
                    refused(lambda: release(granted))
                case 1:
                    refused(lambda: renew(granted, ttl=MINUTE))
                case 2:
                    engine.revoke(SPACE, NAME, term=granted.hold.term, reason="", actor="")
                case 3:
                    acquire()
                case 4:
                    reaper.sweep()

        together(10, act)
