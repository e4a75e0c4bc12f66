"""Keepalives, ends and acquires of groups at one instant: one holder at a time, nothing lost (G1, G4)."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection

from octostore.leases import engine, reaper
from octostore.leases.engine import Membership
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Lease, LeaseEvent, LeaseGroup
from octostore.leases.outcomes import Alive, Granted, GroupOver
from tests.leases.acts import MINUTE, SPACE, acquire, bound, dissolve, form, grant, keep, row, story
from tests.leases.moving_time import age_group
from tests.leases.threads import crew, together
from tests.players import now_ms

pytestmark = pytest.mark.usefixtures("database")

HOUR = timedelta(hours=1)


def refused(act: Callable[[], Any]) -> bool:
    try:
        act()
    except NotCurrent:
        return True
    return False


def sleep_until(instant: float) -> None:
    time.sleep(max(0.0, instant - time.monotonic()))


def leave(key: str, left: timedelta) -> float:
    """Let the group, and what is bound to it, have `left` to live; gives its deadline on the monotonic clock."""
    group = LeaseGroup.objects.get(key=key)
    age_group(timedelta(milliseconds=group.expires_at - now_ms()) - left, key)
    return time.monotonic() + left.total_seconds()


@contextmanager
def commit_held_back(until: float) -> Iterator[None]:
    """A keepalive of this thread has its clock and its rows, and commits no sooner than at `until`."""

    def hold(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        result = execute(sql, *args)
        if "leases_leasegroup" in sql and "SET expires_at" in sql:
            sleep_until(until)
        return result

    with connection.execute_wrapper(hold):
        yield


def broken_promises() -> list[str]:
    """What the tables say that must never be so, of whatever happened."""
    groups = {group.key: group for group in LeaseGroup.objects.all()}
    broken = []
    for lease in Lease.objects.filter(bound=True, ended_at=None):
        group = groups[lease.group_id or ""]
        if group.ended_at is not None and lease.expires_at > group.ended_at:
            broken.append(f"{lease} outlives its group")
        if lease.expires_at != min(lease.own_expires_at, group.expires_at):
            broken.append(f"{lease} until {lease.expires_at}, its group until {group.expires_at}")
    before: LeaseEvent | None = None
    for event in LeaseEvent.objects.order_by("lease_id", "incarnation", "n"):
        if before and before.lease_id == event.lease_id:
            if event.n != before.n + 1 or (event.kind == "acquired") == (before.kind == "acquired"):
                broken.append(f"{event} after {before}")
            if event.kind == "acquired" and event.at < before.at:
                broken.append(f"{event} before the end of {before}")
        before = event
    return broken


class TestAKeepaliveInFlight:
    """It takes its clock before the deadline and commits after it, while others acquire."""

    ROUNDS, LANES = 100, 3

    def test_keeps_what_it_answered_and_nobody_else_gets_it(self) -> None:
        kept = Counter[str]()
        with crew(self.LANES * 2) as act_together:
            for number in range(self.ROUNDS):
                names = [f"{number}-{lane}" for lane in range(self.LANES)]
                deadlines = []
                for name in names:
                    form(name)
                    grant(name, group=bound(name), ttl=HOUR)
                    deadlines.append(leave(name, timedelta(milliseconds=random.randint(8, 30))))
                over = [False] * self.LANES

                def act(
                    who: int,
                    names: list[str] = names,
                    deadlines: list[float] = deadlines,
                    over: list[bool] = over,
                ) -> Any:
                    lane = who // 2
                    if who % 2:
                        return rival(names[lane], lambda: over[lane])
                    try:
                        with commit_held_back(deadlines[lane] + 0.004):
                            return keep(names[lane])
                    finally:
                        over[lane] = True

                outcomes = act_together(act)
                for lane, name in enumerate(names):
                    outcome, won = outcomes[2 * lane : 2 * lane + 2]
                    kept[type(outcome).__name__] += 1
                    if isinstance(outcome, Alive):
                        assert not won, f"{name} has two holders"
                        assert row(name).expires_at == outcome.expires_at
                        assert story(name) == [(1, "acquired")]
                    else:
                        assert isinstance(outcome, GroupOver)
                        assert len(won) == 1
        assert broken_promises() == []
        assert kept["Alive"] > self.ROUNDS / 10, kept


def rival(name: str, over: Callable[[], bool], **more: Any) -> list[Granted]:
    """What somebody wins who tries again and again until it is over, and once more."""
    won: list[Granted] = []
    last = False
    while not last:
        last = over()
        outcome = acquire(name, holder="rival", **more)
        if isinstance(outcome, Granted) and outcome.hold.term not in [granted.hold.term for granted in won]:
            won.append(outcome)
    return won


@dataclass
class Arena:
    """One name, the group that holds it, and what was promised of that term."""

    name: str
    first: Granted
    deadline: float
    # When each call that proved the first term was made, and until when that term was promised to live.
    calls: list[float] = field(default_factory=list)
    promised: list[int] = field(default_factory=list)
    # When a rival's win was answered.
    lost_at: list[float] = field(default_factory=list)

    def play(self, role: int) -> None:
        if role < 4:
            sleep_until(self.deadline + random.uniform(-0.05, 0.006))
        called = time.monotonic()
        match role:
            case 0:
                kept = keep(self.name)
                if isinstance(kept, Alive):
                    self.promised.append(kept.expires_at)
            case 1:
                refused(lambda: self.renew(called))
            case 2:
                again = acquire(self.name, group=bound(self.name), ttl=HOUR)
                if isinstance(again, Granted) and again.hold.term == self.first.hold.term:
                    self.succeeded(called, again.hold.expires_at)
            case 3:
                self.leave()
            case 4:
                self.challenge(None)
            case 5:
                form(f"{self.name}-rival")
                self.challenge(bound(f"{self.name}-rival"))

    def renew(self, called: float) -> None:
        renewed = engine.renew(SPACE, self.name, capability=self.first.capability, ttl=HOUR)
        self.succeeded(called, renewed.hold.expires_at)

    def leave(self) -> None:
        match random.randrange(4):
            case 0:
                refused(lambda: engine.release(SPACE, self.name, capability=self.first.capability))
            case 1:
                dissolve(self.name)
            case 2:
                reaper.sweep()

    def challenge(self, group: Membership | None) -> None:
        while time.monotonic() < self.deadline + 0.012:
            outcome = acquire(self.name, holder="rival", group=group)
            if isinstance(outcome, Granted) and outcome.hold.term != self.first.hold.term:
                self.lost_at.append(time.monotonic())
                return

    def succeeded(self, called: float, promised: int) -> None:
        self.calls.append(called)
        self.promised.append(promised)

    def verdict(self) -> str:
        """How the first term ended; asserts that nothing of it was lost."""
        if self.lost_at:
            assert max(self.calls, default=0.0) < min(self.lost_at), f"{self.name}: used after it was lost"
        ends = LeaseEvent.objects.filter(lease__name=self.name, term=self.first.hold.term).exclude(kind="acquired")
        for end in ends:
            if end.kind == "expired":
                assert end.at >= max(self.promised, default=0), f"{self.name}: lost an extension"
            return str(end.kind)
        return "lives"


class TestTheLastFiftyMilliseconds:
    ROUNDS, LANES, ROLES = 100, 3, 6

    def test_of_a_group_never_give_two_holders_or_lose_an_extension(self) -> None:
        verdicts = Counter[str]()
        with crew(self.LANES * self.ROLES) as act_together:
            for number in range(self.ROUNDS):
                arenas = []
                for lane in range(self.LANES):
                    name = f"{number}-{lane}"
                    form(name)
                    first = grant(name, group=bound(name), ttl=HOUR)
                    arenas.append(Arena(name, first, leave(name, timedelta(milliseconds=50))))

                def act(who: int, arenas: list[Arena] = arenas) -> None:
                    arenas[who // self.ROLES].play(who % self.ROLES)

                act_together(act)
                verdicts.update(arena.verdict() for arena in arenas)
        assert broken_promises() == []
        assert min(verdicts[kind] for kind in ("lives", "expired", "released")) > 0, verdicts


class TestAtOnce:
    """Ends, acquires, renewals and releases of one group's lease, in whatever order."""

    ROUNDS = 40

    def test_an_end_leaves_nothing_alive_that_was_bound(self) -> None:
        with crew(8) as act_together:
            for number in range(self.ROUNDS):
                name, other = f"{number}", f"{number}-other"
                form(name)
                first = grant(name, group=bound(name), ttl=HOUR)

                def act(who: int, name: str = name, other: str = other, first: Granted = first) -> object:
                    time.sleep(random.uniform(0, 0.004))
                    match who:
                        case 0:
                            return dissolve(name)
                        case 1:
                            return refused(lambda: engine.renew(SPACE, name, capability=first.capability, ttl=MINUTE))
                        case 2:
                            return refused(lambda: engine.release(SPACE, name, capability=first.capability))
                        case 3 | 4:
                            return acquire(name, group=bound(name), ttl=HOUR)
                        case 5 | 6:
                            return acquire(other, group=bound(name), ttl=HOUR)
                        case _:
                            return keep(name)

                assert isinstance(act_together(act)[0], Alive)
                live = Lease.objects.filter(group_id=name, bound=True, ended_at=None)
                assert not live.exists()
        assert broken_promises() == []

    def test_a_group_that_acquires_again_while_it_gives_back_has_one_term_at_a_time(self) -> None:
        form("worker-7", ttl=HOUR)
        granted = grant(group=bound("worker-7"), ttl=MINUTE)
        for _ in range(self.ROUNDS):

            def act(who: int, granted: Granted = granted) -> Granted | None:
                if who == 0:
                    refused(lambda: engine.release(SPACE, "nightly-build", capability=granted.capability))
                    return None
                return grant(group=bound("worker-7"), ttl=MINUTE)

            again = [outcome for outcome in together(4, act) if outcome]
            granted = max(again, key=lambda outcome: outcome.hold.term)
            assert len({outcome.capability for outcome in again}) == len({outcome.hold.term for outcome in again})
        assert broken_promises() == []

    def test_keepalives_and_acquires_of_one_group_lose_no_extension(self) -> None:
        form("worker-7", ttl=MINUTE)
        with crew(6) as act_together:
            for number in range(self.ROUNDS):

                def act(who: int, number: int = number) -> object:
                    if who < 2:
                        return keep("worker-7")
                    return grant(f"{number}-{who}", group=bound("worker-7"), ttl=HOUR)

                act_together(act)
                age_group(timedelta(milliseconds=5), "worker-7")
                assert broken_promises() == []

    def test_many_groups_keep_and_take_over_without_a_deadlock(self) -> None:
        names = [str(number) for number in range(6)]
        keys = [f"worker-{number}" for number in range(6)]
        for key in keys:
            form(key)
        finish = time.monotonic() + 1.5

        def act(who: int) -> int:
            done = 0
            while time.monotonic() < finish:
                key = keys[who % len(keys)]
                keep(key)
                for name in random.sample(names, len(names)):
                    outcome = acquire(name, group=bound(key), ttl=timedelta(milliseconds=random.randint(1, 30)))
                    if isinstance(outcome, Granted) and random.random() < 0.5:
                        refused(partial(engine.release, SPACE, name, capability=outcome.capability))
                if who == 0:
                    reaper.sweep()
                done += 1
            return done

        assert min(together(9, act)) > 0
        assert broken_promises() == []
