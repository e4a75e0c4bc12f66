"""The rules of groups, and what the machine knows that tries the engine against its model."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from octostore.leases import groups, reaper
from octostore.leases.models import Ending
from octostore.leases.outcomes import Alive, GroupOver, GroupUnknown
from tests.leases.acts import SPACE
from tests.leases.model import DAY, Group, Name, Term

# Lengths are thousands of seconds: real time that passes meanwhile changes nothing, and no sum of them is a day.
lengths = st.sampled_from([1_000, 2_000, 5_000])
# Groups live longer, so that something happens within them.
group_lengths = st.sampled_from([4_000, 20_000, 100_000])
# Two groups at a time; one that is formed anew takes the place of another.
slots = st.sampled_from([0, 1])


def seconds(length: int) -> timedelta:
    return timedelta(seconds=length)


class GroupRules(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.model = {name: Name() for name in ("one", "two")}
        # Milliseconds by which all that the tables tell was moved back.
        self.passed = 0
        self.keys = 0
        self.every_group: list[Group] = []
        self.forgotten: set[str] = set()
        self.groups = [self.formed(ttl) for ttl in (4_000, 50_000)]

    @precondition(lambda self: any(self.now >= group.deadline or group.ended_at is not None for group in self.groups))
    @rule(slot=slots, ttl=group_lengths)
    def form(self, slot: int, ttl: int) -> None:
        self.groups[slot] = self.formed(ttl)

    def formed(self, ttl: int) -> Group:
        key = f"group-{self.keys}"
        self.keys += 1
        alive = groups.form(SPACE, key, ttl=seconds(ttl))
        assert alive.ttl == seconds(ttl)
        group = Group(key, ttl, self.now + ttl)
        self.every_group.append(group)
        return group

    @precondition(lambda self: self.is_at_work())
    @rule(slot=slots)
    def keep(self, slot: int) -> None:
        group = self.groups[slot]
        if self.is_told_of(group, groups.keep(SPACE, group.key)):
            group.deadline = self.now + group.ttl
            for _, term in self.bound_to(group):
                term.keep_to(group)

    @precondition(lambda self: self.is_at_work())
    @rule(slot=slots)
    def dissolve(self, slot: int) -> None:
        group = self.groups[slot]
        if self.is_told_of(group, groups.dissolve(SPACE, group.key, reason="left")):
            group.ended_at = self.now
            for known, _ in self.bound_to(group):
                known.end(Ending.RELEASED, self.now, 0)

    @precondition(lambda self: self.is_at_work())
    @rule(slot=slots)
    def look(self, slot: int) -> None:
        group = self.groups[slot]
        if self.is_told_of(group, outcome := groups.inspect(SPACE, group.key)):
            assert isinstance(outcome, Alive)
            left = group.deadline - self.now
            assert left - 100 < outcome.remaining.total_seconds() <= left

    def is_at_work(self) -> bool:
        """Whether a name's last term is one of the groups'."""
        return any(known.last and known.last.content.group in self.groups for known in self.model.values())

    def is_told_of(self, group: Group, outcome: Alive | GroupOver | GroupUnknown) -> bool:
        """Whether it is told to live, as the model has it."""
        if group.key in self.forgotten:
            assert outcome == GroupUnknown()
        elif group.is_over(self.now):
            assert isinstance(outcome, GroupOver)
        else:
            assert isinstance(outcome, Alive)
        return isinstance(outcome, Alive)

    def bound_to(self, group: Group) -> list[tuple[Name, Term]]:
        """The live terms that are bound to the group."""
        lasts = [(known, known.last) for known in self.model.values() if known.last and known.is_live(self.now)]
        return [(known, last) for known, last in lasts if last.content.bound and last.content.group is group]

    @precondition(lambda self: any(group.ended_at is not None for group in self.every_group))
    @rule(idle=st.sampled_from([0, DAY]))
    def forget_groups(self, idle: int) -> None:
        gone = [group for group in self.every_group if group.ended_at is not None and self.now - group.ended_at >= idle]
        assert reaper.forget_groups(idle=seconds(idle)) == len(gone)
        for group in gone:
            self.every_group.remove(group)
            self.forgotten.add(group.key)
