"""The engine does what the model says, whatever is asked of it in whatever order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from octostore.leases import engine, history, reaper
from octostore.leases.engine import Access, Acquired, Membership
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Ending, Lease, LeaseEvent, LeaseGroup
from octostore.leases.outcomes import (
    AclDiffers,
    AttemptDiffers,
    AttemptOver,
    Delayed,
    Granted,
    GroupOver,
    GroupUnknown,
    Held,
    Hold,
    QuotaReached,
    Refused,
    Revoked,
    Vacant,
)
from tests.leases.acts import SPACE, acquire, inspect, settle
from tests.leases.group_rules import GroupRules, lengths, seconds
from tests.leases.model import DAY, Content, Name, Term
from tests.leases.moving_time import pass_time

pytestmark = pytest.mark.usefixtures("database")

names = st.sampled_from(["one", "one", "two"])
delays = st.sampled_from([0, 0, 1_000, 3_000])
passages = st.sampled_from([1_000, 2_000, 4_000, 40_000, 90_000])
holders = st.sampled_from(["atlas", "borea"])
metadata = st.sampled_from([None, "", "m"])
attempts = st.sampled_from([None, None, "first", "second"])
acls = st.sampled_from([None, None, None, None, None, ("key:atlas",), ("key:atlas", "key:borea")])
quotas = st.sampled_from([None, None, 1, 2])
# Which of a name's terms, from the newest; beyond the first one stands for a capability nobody gave.
whichever = st.sampled_from([0, 0, 0, 0, 1, 2, 5])

MADE_UP = "A" * 43


class Machine(GroupRules):
    def teardown(self) -> None:
        self.the_history_is_the_models()
        LeaseEvent.objects.all().delete()
        Lease.objects.all().delete()
        LeaseGroup.objects.all().delete()

    @rule(
        name=names,
        holder=holders,
        ttl=lengths,
        metadata=metadata,
        delay=delays,
        attempt=attempts,
        slot=st.sampled_from([None, 0, 0, 1]),
        bound=st.booleans(),
        acl=acls,
        quota=quotas,
    )
    def acquire(
        self,
        name: str,
        holder: str,
        ttl: int,
        metadata: str | None,
        delay: int,
        attempt: str | None,
        slot: int | None,
        bound: bool,
        acl: tuple[str, ...] | None,
        quota: int | None,
    ) -> None:
        group = None if slot is None else self.groups[slot]
        content = Content(holder, ttl, metadata, delay, group, bound and group is not None, acl)
        if quota is not None:
            # Whoever finds a quota used up may mark what is overdue.
            self.swept()
        outcome = acquire(
            name,
            holder=holder,
            ttl=seconds(ttl),
            metadata=metadata,
            delay=seconds(delay),
            attempt=attempt,
            group=Membership(key=group.key, bound=bound) if group else None,
            access=Access(entries=(f"key:{holder}", "user:somebody"), acl=acl),
            quota=quota,
        )
        self.acquired(self.model[name], outcome, attempt, content, quota)

    def acquired(
        self, known: Name, outcome: Acquired, attempt: str | None, content: Content, quota: int | None
    ) -> None:
        """The outcome is the model's; the checks come in the engine's order."""
        last, live, group = known.last, known.is_live(self.now), content.group
        if last and live and attempt is not None and last.attempt == attempt:
            if last.content != content:
                assert outcome == AttemptDiffers(term=self.number_now(last))
            else:
                assert isinstance(outcome, Granted)
                assert outcome.replayed
                self.is_the_term(outcome, last)
        elif last and known.remembers(attempt, self.now):
            assert outcome == AttemptOver(term=self.number_now(last))
            known.settle(self.now)
        elif group and group.key in self.forgotten:
            assert outcome == GroupUnknown()
        elif group and group.is_over(self.now):
            assert isinstance(outcome, GroupOver)
        elif known.bars(f"key:{content.holder}"):
            assert outcome == Refused()
        elif known.acl is not None and content.acl is not None and known.acl != list(content.acl):
            assert outcome == AclDiffers()
        elif last and live and group and last.content.group is group:
            assert isinstance(outcome, Granted)
            last.own_deadline = max(last.own_deadline, self.now + content.ttl)
            last.keep_to(group)
            assert not outcome.replayed
            self.is_the_term(outcome, last)
        elif last and live:
            assert isinstance(outcome, Held)
        elif self.now < known.open_at(self.now):
            assert isinstance(outcome, Delayed)
        elif quota is not None and self.count_counted() >= quota:
            assert outcome == QuotaReached()
            known.found(self.now)
        else:
            assert isinstance(outcome, Granted)
            assert not outcome.replayed
            self.granted(known, outcome, attempt, content, counted=quota is not None)

    def granted(self, known: Name, outcome: Granted, attempt: str | None, content: Content, *, counted: bool) -> None:
        term = Term(
            number=outcome.hold.term + self.passed,
            capability=outcome.capability,
            attempt=attempt,
            content=content,
            counted=counted,
            began_at=self.now,
            own_deadline=self.now + content.ttl,
            ttl=content.ttl,
        )
        if content.group:
            term.keep_to(content.group)
        assert all(earlier.number < term.number for earlier in known.ever)
        assert all(earlier.capability != term.capability for one in self.model.values() for earlier in one.ever)
        known.grant(term)

    def is_the_term(self, outcome: Granted, term: Term) -> None:
        assert (outcome.capability, outcome.hold.term) == (term.capability, self.number_now(term))

    def count_counted(self) -> int:
        lasts = [known.last for known in self.model.values() if known.last and known.is_live(self.now)]
        return sum(last.counted for last in lasts)

    @rule(name=names, acl=acls)
    def set_acl(self, name: str, acl: tuple[str, ...] | None) -> None:
        engine.set_acl(SPACE, name, acl, capability=None)
        known = self.model[name]
        if acl is not None:
            known.found(self.now)
        known.acl = None if acl is None else list(acl)

    @precondition(lambda self: self.some(lambda known: bool(known.ever)))
    @rule(name=names, which=whichever, ttl=st.none() | lengths)
    def renew(self, name: str, which: int, ttl: int | None) -> None:
        known, term = self.term(name, which)
        length = None if ttl is None else seconds(ttl)
        if term and term is known.last and known.is_live(self.now):
            outcome = engine.renew(SPACE, name, capability=term.capability, ttl=length)
            term.ttl = ttl or term.ttl
            term.own_deadline = self.now + term.ttl
            term.renewals += 1
            assert (outcome.hold.term, outcome.hold.renewals) == (self.number_now(term), term.renewals)
            assert outcome.hold.ttl == seconds(term.ttl)
            assert outcome.remaining == outcome.hold.ttl or term.content.bound
        else:
            with pytest.raises(NotCurrent) as refused:
                engine.renew(SPACE, name, capability=term.capability if term else MADE_UP, ttl=length)
            assert refused.value.ending is self.told_ending(known, term)

    @precondition(lambda self: self.some(lambda known: bool(known.ever)))
    @rule(name=names, which=whichever, delayed=st.booleans())
    def release(self, name: str, which: int, delayed: bool) -> None:
        known, term = self.term(name, which)
        if term and term is known.last and known.is_live(self.now):
            outcome = engine.release(SPACE, name, capability=term.capability, delayed=delayed)
            known.end(Ending.RELEASED, self.now, self.now + term.delay if delayed else 0)
            assert outcome.hold.term == self.number_now(term)
        else:
            with pytest.raises(NotCurrent) as refused:
                engine.release(SPACE, name, capability=term.capability if term else MADE_UP, delayed=delayed)
            assert refused.value.ending is self.told_ending(known, term)

    @precondition(lambda self: self.some(lambda known: bool(known.ever)))
    @rule(name=names, which=whichever, delay=delays)
    def revoke(self, name: str, which: int, delay: int) -> None:
        known, term = self.term(name, which)
        number = self.number_now(term) if term else 1
        outcome = engine.revoke(SPACE, name, term=number, reason="why", actor="who", delay=seconds(delay))
        if term and term is known.last and known.is_live(self.now):
            assert isinstance(outcome, Revoked)
            known.end(Ending.REVOKED, self.now, self.now + delay)
        else:
            assert not isinstance(outcome, Revoked)

    @rule(by=passages)
    def pass_time(self, by: int) -> None:
        pass_time(seconds(by))
        self.now += by
        self.passed += by * 1000

    @precondition(lambda self: self.some(lambda known: known.is_overdue(self.now)))
    @rule(name=names)
    def settle(self, name: str) -> None:
        settle(name)
        self.model[name].settle(self.now)

    @precondition(lambda self: self.some(lambda known: known.is_overdue(self.now)))
    @rule()
    def sweep(self) -> None:
        self.swept()

    def swept(self) -> None:
        assert reaper.sweep() == sum([known.settle(self.now) for known in self.model.values()])
        for group in self.every_group:
            group.is_over(self.now)

    @precondition(lambda self: self.some(lambda known: known.last is None or known.last.ending is not None))
    @rule(idle=st.sampled_from([0, DAY]))
    def forget(self, idle: int) -> None:
        gone = [known for known in self.model.values() if known.can_be_forgotten(self.now, idle)]
        assert reaper.forget(SPACE, idle=seconds(idle)) == len(gone)
        for known in gone:
            known.forget()

    @precondition(lambda self: self.some(lambda known: len(known.events) > 2))
    @rule(kept=st.sampled_from([1, 2]))
    def trim(self, kept: int) -> None:
        assert reaper.trim(terms_kept=kept) == sum([known.trim(2 * kept) for known in self.model.values()])

    @precondition(lambda self: self.some(lambda known: known.last is not None))
    @rule()
    def restore(self) -> None:
        ended = reaper.after_restore(actor="who")
        for group in self.every_group:
            if not group.is_over(self.now):
                group.ended_at = self.now
        for known in self.model.values():
            known.settle(self.now)
        was_live = []
        for name, known in self.model.items():
            if known.last:
                incarnation = Lease.objects.get(name=name).incarnation + self.passed
                assert incarnation > max(known.incarnation, known.last.number)
                was_live.append(known.restore(self.now, incarnation))
        assert ended == sum(was_live)

    @invariant()
    def the_state_is_the_models(self) -> None:
        for name, known in self.model.items():
            state = inspect(name)
            if known.is_live(self.now):
                assert known.last is not None
                assert isinstance(state, Held)
                self.is_told(state.hold, known.last)
                left = known.last.deadline - self.now
                assert left - 100 < state.remaining.total_seconds() <= left
            elif known.last and self.now < known.open_at(self.now):
                assert isinstance(state, Delayed)
                self.is_told(state.last, known.last)
            else:
                assert isinstance(state, Vacant)
                assert (state.last is None) == (known.last is None)
            assert state.revision.n == known.count
            assert not state.revision.incarnation or state.revision.incarnation + self.passed == known.incarnation

    @invariant()
    def the_events_are_the_models(self) -> None:
        for name, known in self.model.items():
            recorded = LeaseEvent.objects.filter(lease__name=name).order_by("incarnation", "n")
            assert [
                (event.incarnation + self.passed, event.n, event.kind, event.term + self.passed, event.renewals)
                for event in recorded
            ] == [(event.incarnation, event.n, event.kind, event.term.number, event.renewals) for event in known.events]
        assert LeaseEvent.objects.count() == sum(len(known.events) for known in self.model.values())

    def the_history_is_the_models(self) -> None:
        for name, known in self.model.items():
            told = history.terms(SPACE, name, limit=200)
            begun = [event.term for event in known.events if event.kind == "acquired"]
            assert [past.term + self.passed for past in told] == [term.number for term in reversed(begun)]
            for past, term in zip(told, reversed(begun), strict=True):
                ending = Ending.EXPIRED if term is known.last and known.is_overdue(self.now) else term.ending
                assert (past.holder, past.metadata, past.ending) == (term.holder, term.metadata, ending)
                assert past.renewals == term.renewals

    def some(self, one: Callable[[Name], bool]) -> bool:
        return any(one(known) for known in self.model.values())

    def is_told(self, hold: object, term: Term) -> None:
        assert isinstance(hold, Hold)
        assert (hold.term, hold.holder, hold.metadata) == (self.number_now(term), term.holder, term.metadata)
        assert hold.renewals == term.renewals

    def term(self, name: str, which: int) -> tuple[Name, Term | None]:
        known = self.model[name]
        return known, known.ever[-1 - which] if which < len(known.ever) else None

    def number_now(self, term: Term) -> int:
        """What the tables call it by now."""
        return term.number - self.passed

    def told_ending(self, known: Name, term: Term | None) -> Ending | None:
        """What its bearer is told of a term that does not live; an end that is due is marked first."""
        if term is None or term is not known.last:
            return None
        known.settle(self.now)
        return term.ending


def run(*, examples: int, steps: int) -> None:
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
            phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        ),
    )


def test_the_engine_does_what_the_model_says() -> None:
    run(examples=100, steps=40)


@pytest.mark.soak
def test_the_engine_does_what_the_model_says_for_long() -> None:
    run(examples=2_000, steps=60)
