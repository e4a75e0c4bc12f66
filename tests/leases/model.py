"""The engine as one would explain it at a table: a few names, whole seconds, nobody else around.

Instants are seconds since the model began. Numbers of terms and incarnations are those the engine
gave, plus the milliseconds that have passed since then without anybody waiting.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from octostore.leases.models import Ending

DAY = 86_400


class Content(NamedTuple):
    """What an attempt says."""

    holder: str
    ttl: int
    metadata: str | None
    delay: int
    group: Group | None
    bound: bool
    acl: tuple[str, ...] | None


@dataclass(eq=False)
class Group:
    key: str
    ttl: int
    deadline: int
    # When its end was, once that is marked.
    ended_at: int | None = None

    def is_over(self, now: int) -> bool:
        """Whether it has ended, which it is marked to have from then on."""
        if self.ended_at is None and now >= self.deadline:
            self.ended_at = self.deadline
        return self.ended_at is not None


@dataclass
class Term:
    number: int
    capability: str
    attempt: str | None
    content: Content
    counted: bool
    began_at: int
    # By its own account; see `deadline`.
    own_deadline: int
    ttl: int
    renewals: int = 0
    ending: Ending | None = None
    ended_at: int = 0
    # Its group's, as long as it moved with that.
    group_deadline: int | None = None

    @property
    def deadline(self) -> int:
        return self.own_deadline if self.group_deadline is None else min(self.own_deadline, self.group_deadline)

    @property
    def holder(self) -> str:
        return self.content.holder

    @property
    def metadata(self) -> str | None:
        return self.content.metadata

    @property
    def delay(self) -> int:
        return self.content.delay

    def keep_to(self, group: Group) -> None:
        """Live no longer than the group, if it is bound."""
        if self.content.bound:
            self.group_deadline = group.deadline


@dataclass(frozen=True)
class Event:
    incarnation: int
    n: int
    kind: str
    term: Term
    renewals: int


@dataclass
class Name:
    """One name: its last term unless that was forgotten, every term it ever had, and its events."""

    ever: list[Term] = field(default_factory=list)
    last: Term | None = None
    incarnation: int = 0
    count: int = 0
    available_at: int = 0
    events: list[Event] = field(default_factory=list)
    acl: list[str] | None = None
    # Since when there is a row of a name nobody holds or held.
    found_at: int | None = None

    def is_live(self, now: int) -> bool:
        return self.last is not None and self.last.ending is None and now < self.last.deadline

    def is_overdue(self, now: int) -> bool:
        return self.last is not None and self.last.ending is None and now >= self.last.deadline

    def open_at(self, now: int) -> int:
        """From when a vacant name can be acquired."""
        if self.last and self.is_overdue(now):
            return self.last.deadline + self.last.delay
        return self.available_at

    def remembers(self, attempt: str | None, now: int) -> bool:
        """Whether a retry of `attempt` is told that its term is over."""
        if self.last is None or attempt is None or self.last.attempt != attempt or self.is_live(now):
            return False
        left_at = self.last.deadline if self.last.ending is None else self.last.ended_at
        return now - left_at < DAY

    def found(self, now: int) -> None:
        """Have a row, perhaps of nothing else yet."""
        if self.last is None and self.found_at is None:
            self.found_at = now

    def bars(self, entry: str) -> bool:
        return self.acl is not None and entry not in self.acl

    def can_be_forgotten(self, now: int, idle: int) -> bool:
        if self.acl is not None:
            return False
        if self.last is None:
            return self.found_at is not None and now - self.found_at >= idle
        return self.last.ending is not None and now - self.last.ended_at >= idle and now - self.last.began_at >= DAY

    def grant(self, term: Term) -> None:
        self.settle(term.began_at)
        if self.acl is None and term.content.acl is not None:
            self.acl = list(term.content.acl)
        if self.last is None:
            self.incarnation, self.count = term.number, 0
        self.last = term
        self.ever.append(term)
        self._record("acquired", term)

    def end(self, ending: Ending, at: int, available_at: int) -> None:
        assert self.last is not None
        self.last.ending, self.last.ended_at = ending, at
        self.available_at = available_at
        self._record(ending, self.last)

    def settle(self, now: int) -> bool:
        """Mark an end that is due; whether there was one."""
        if not (self.last and self.is_overdue(now)):
            return False
        self.end(Ending.EXPIRED, self.last.deadline, self.last.deadline + self.last.delay)
        return True

    def restore(self, now: int, incarnation: int) -> bool:
        """Start a new incarnation; whether a live term was ended by it."""
        assert self.last is not None
        was_live = self.is_live(now)
        self.incarnation, self.count = incarnation, 0
        if was_live:
            self.end(Ending.REVOKED, now, 0)
        return was_live

    def forget(self) -> None:
        self.last, self.incarnation, self.count, self.available_at, self.found_at = None, 0, 0, 0, None
        self.events.clear()

    def trim(self, kept: int) -> int:
        """Drop the events beyond the last `kept`; how many went."""
        if self.count <= kept:
            return 0
        before = len(self.events)
        self.events = [
            event for event in self.events if event.incarnation == self.incarnation and event.n > self.count - kept
        ]
        return before - len(self.events)

    def _record(self, kind: str, term: Term) -> None:
        self.count += 1
        self.events.append(Event(self.incarnation, self.count, str(kind), term, term.renewals))
