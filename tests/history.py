"""What clients did and were told, and the invariants every such history is checked against.

Numbers are those of `docs/guarantees.md`. Instants of operations are seconds on one monotonic
clock; an operation took effect at some instant between `called` and `returned`, and one whose
outcome is unknown may have taken effect or not.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeVar

# How long a lost statement of an unknown operation may still take effect after its caller gave up.
LATE_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call. `term` is the term granted, kept, ended or seen; None where none was (vacant).

    `write` is a write to a resource that stores the highest term; `overrun` is the test's own
    doing: after it the deadline of `term` has passed.
    """

    verb: Literal["campaign", "renew", "resign", "status", "write", "overrun"]
    name: str
    client: str
    called: float
    returned: float
    # ok: done. lost: another one leads. refused: changed nothing. unknown: nobody can tell.
    outcome: Literal["ok", "lost", "refused", "unknown"]
    term: int | None = None
    # Digest of the capability granted or presented, and of the Idempotency-Key.
    capability: str | None = None
    attempt: str | None = None
    ttl: float = 0.0
    # How long from `called` the client may believe; seconds.
    safe_for: float = 0.0

    def __str__(self) -> str:
        span = f"{self.called:.4f}..{self.returned:.4f}"
        return f"{self.client} {self.verb} {self.name} {self.outcome} term {self.term} at {span}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One committed event row; `at` and `expires_at` in milliseconds of the database's clock."""

    name: str
    incarnation: int
    n: int
    kind: str
    term: int
    at: int
    expires_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Blockade:
    """While it lasted the name's row was locked from outside, so that nothing took effect on it.

    By the monotonic clock, and in milliseconds of the database's.
    """

    name: str
    since: float
    until: float
    since_ms: int
    until_ms: int


Named = TypeVar("Named", Operation, Event, Blockade)


@dataclass
class History:
    """Operations of many clients, recorded from many threads, and the events they left behind."""

    operations: list[Operation] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    blockades: list[Blockade] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def record(self, operation: Operation) -> None:
        with self._lock:
            self.operations.append(operation)

    def count(self, verb: str, outcome: str) -> int:
        return sum((operation.verb, operation.outcome) == (verb, outcome) for operation in self.operations)


class Record:
    """The history of one name, indexed for the rules."""

    def __init__(self, operations: list[Operation], events: list[Event], blockades: list[Blockade]) -> None:
        self.operations, self.blockades = operations, blockades
        self.events = sorted(events, key=lambda event: (event.incarnation, event.n))
        self.granted = [op for op in operations if op.outcome == "ok" and op.verb in {"campaign", "renew"}]
        self.reads = [op for op in operations if op.outcome == "ok" and op.verb == "status"]
        self.writes = [op for op in operations if op.outcome == "ok" and op.verb == "write"]
        self._uses: dict[str | None, list[Operation]] = defaultdict(list)
        for op in operations:
            self._uses[op.capability].append(op)
        self.overruns = {op.term: op for op in operations if op.verb == "overrun"}

    @cached_property
    def first_grants(self) -> dict[int, Operation]:
        """For each term the campaign whose answer came first; the others replay it."""
        firsts: dict[int, Operation] = {}
        for op in sorted((op for op in self.granted if op.verb == "campaign"), key=lambda op: op.returned):
            firsts.setdefault(op.term or 0, op)
        return firsts

    def uses(self, operation: Operation) -> list[Operation]:
        """The other operations with the same capability."""
        return [op for op in self._uses[operation.capability] if op is not operation]

    def earliest(self, operation: Operation) -> float:
        """Before this it cannot have taken effect."""
        called = operation.called
        return max([called, *(b.until for b in self.blockades if b.since <= called <= b.until)])

    def believed_until(self, held: Operation) -> float:
        """How long the holder may believe: by its own reckoning, and until it gave up or its deadline was moved."""
        ends = [
            op.called
            for op in self.uses(held)
            if (op.verb == "resign" and op.outcome != "refused")
            or (op.verb == "renew" and op.called > held.called and op.ttl < held.ttl)
        ]
        if held.term in self.overruns:
            ends.append(self.overruns[held.term].called)
        return min([held.called + held.safe_for, *ends])

    def latest_deadline(self, held: Operation) -> float:
        """After this the term cannot live, by what was answered of it; `held` itself counts unless it is a use."""
        deadlines = [
            op.returned + op.ttl + (LATE_SECONDS if op.outcome == "unknown" else 0.0)
            for op in self.uses(held) + ([held] if held.verb == "campaign" else [])
            if op.verb in {"campaign", "renew"} and op.outcome in {"ok", "unknown"} and op.called < held.returned
        ]
        if held.term in self.overruns:
            deadlines = [min([self.overruns[held.term].returned, *deadlines])]
        return max(deadlines, default=float("inf"))


def digest(secret: str | None) -> str | None:
    """A secret as histories keep it."""
    return None if secret is None else hashlib.sha256(secret.encode()).hexdigest()[:16]


def violations(history: History) -> list[str]:
    """Every breach of an invariant, as `I<n>: what happened`; empty for a right history."""
    operations, events, blockades = (
        _by_name(history.operations),
        _by_name(history.events),
        _by_name(history.blockades),
    )
    records = [Record(operations[name], events[name], blockades[name]) for name in {*operations, *events}]
    return [
        f"{rule.__name__.partition('_')[0].upper()}: {breach}"
        for record in records
        for rule in RULES
        for breach in rule(record)
    ]


def i1_no_two_holders_believe_at_once(record: Record) -> Iterator[str]:
    """I1, I3 and I12 as clients can see them."""
    spans = sorted(((op.returned, record.believed_until(op), op) for op in record.granted), key=lambda span: span[0])
    for place, (_, until, held) in enumerate(spans):
        for start, rival_until, rival in spans[place + 1 :]:
            if start >= until:
                break
            if rival.capability != held.capability and start < rival_until:
                yield f"{rival} while {held} may believe until {until:.4f}"


def i1_committed_terms_do_not_overlap(record: Record) -> Iterator[str]:
    """By the database's own account: counts are dense, a term begins after the one before it ended."""
    for before, after in pairwise(record.events):
        if before.incarnation == after.incarnation and after.n != before.n + 1:
            yield f"event {after.n} follows {before.n}"
        if after.kind == "acquired" and (before.kind == "acquired" or after.at < before.at):
            yield f"{after} before the end of {before}"
        if after.kind == "acquired" and after.term <= before.term:
            yield f"{after} follows term {before.term}"
        if after.kind != "acquired" and (before.kind != "acquired" or after.term != before.term):
            yield f"{after} ends what {before} left"
        if after.kind == "expired" and after.at != after.expires_at:
            yield f"{after} expired at another instant than its deadline"


def i1_nothing_is_dated_while_the_row_was_held(record: Record) -> Iterator[str]:
    """G4: who waited for the row must look at the clock after the wait."""
    for blockade in record.blockades:
        for event in record.events:
            if event.kind in {"acquired", "released"} and blockade.since_ms < event.at < blockade.until_ms:
                yield f"{event} within {blockade}"


def i2_a_term_has_one_capability(record: Record) -> Iterator[str]:
    for key, value in (("term", "capability"), ("capability", "term")):
        seen: dict[object, set[object]] = defaultdict(set)
        for op in record.granted:
            seen[getattr(op, key)].add(getattr(op, value))
        yield from (f"{key} {one} with {many}" for one, many in seen.items() if len(many) > 1)


def i2_terms_rise_in_time(record: Record) -> Iterator[str]:
    highest: Operation | None = None
    ended = sorted(record.first_grants.values(), key=lambda op: op.returned)
    for later in sorted(record.first_grants.values(), key=lambda op: op.called):
        while ended and ended[0].returned < later.called:
            highest = max(filter(None, (highest, ended.pop(0))), key=lambda op: op.term or 0)
        if highest and (highest.term or 0) >= (later.term or 0):
            yield f"{later} after {highest}"


def i3_a_capability_keeps_its_term(record: Record) -> Iterator[str]:
    granted = {op.capability: op.term for op in record.first_grants.values()}
    for op in record.operations:
        if op.verb in {"renew", "resign"} and op.outcome == "ok" and granted.get(op.capability, op.term) != op.term:
            yield f"{op}, whose capability was granted with term {granted[op.capability]}"


def i3_a_term_lasts_until_its_deadline(record: Record) -> Iterator[str]:
    """Nobody ends a term early but its holder: before the deadline its capability is never refused."""
    for refused in (op for op in record.operations if op.verb in {"renew", "resign"} and op.outcome == "refused"):
        for held in (op for op in record.uses(refused) if op.outcome == "ok" and op.safe_for):
            if held.returned < refused.called and refused.returned < (until := record.believed_until(held)):
                yield f"{refused} although {held} lasts until {until:.4f}"


def i4_what_ended_stays_ended(record: Record) -> Iterator[str]:
    """After an ok release, or after the deadline, nothing with that capability succeeds."""
    for used in (op for op in record.operations if op.verb in {"renew", "resign"} and op.outcome == "ok"):
        for end in (op for op in record.uses(used) if op.verb == "resign" and op.outcome == "ok"):
            if end.returned < used.called or (used.verb == "resign" and end.called < used.called):
                yield f"{used} after {end}"
        if record.earliest(used) > (deadline := record.latest_deadline(used)):
            yield f"{used} after its deadline, {deadline:.4f} at the latest"


def i5_grants_are_visible_until_they_end(record: Record) -> Iterator[str]:
    for read in record.reads:
        for held in record.granted:
            believed_until = record.believed_until(held)
            if held.returned < read.called and read.returned < believed_until and read.term != held.term:
                yield f"{read} while {held} lasts until {believed_until:.4f}"


def i6_a_fenced_resource_takes_no_write_below_its_highest_term(record: Record) -> Iterator[str]:
    for later in record.writes:
        for earlier in record.writes:
            if earlier.returned < later.called and (earlier.term or 0) > (later.term or 0):
                yield f"{later} after {earlier}"


def i7_one_attempt_is_one_grant(record: Record) -> Iterator[str]:
    grants: dict[str, set[tuple[int | None, str | None]]] = defaultdict(set)
    for op in record.granted:
        if op.attempt:
            grants[op.attempt].add((op.term, op.capability))
    yield from (f"attempt {attempt} made {made}" for attempt, made in grants.items() if len(made) > 1)


def i10_an_expired_name_is_free_within_a_second(record: Record) -> Iterator[str]:
    for told in record.operations:
        held = record.first_grants.get(told.term or 0)
        if held and (told.outcome == "lost" or (told.verb == "status" and told.outcome == "ok")):
            deadline = max([record.latest_deadline(held), *map(record.latest_deadline, record.uses(held))])
            if told.called > deadline + 1.0:
                yield f"{told}, which ended at {deadline:.4f} at the latest"


RULES: list[Callable[[Record], Iterator[str]]] = [
    i1_no_two_holders_believe_at_once,
    i1_committed_terms_do_not_overlap,
    i1_nothing_is_dated_while_the_row_was_held,
    i2_a_term_has_one_capability,
    i2_terms_rise_in_time,
    i3_a_capability_keeps_its_term,
    i3_a_term_lasts_until_its_deadline,
    i4_what_ended_stays_ended,
    i5_grants_are_visible_until_they_end,
    i6_a_fenced_resource_takes_no_write_below_its_highest_term,
    i7_one_attempt_is_one_grant,
    i10_an_expired_name_is_free_within_a_second,
]


def _by_name(items: Iterable[Named]) -> dict[str, list[Named]]:
    names: dict[str, list[Named]] = defaultdict(list)
    for item in items:
        names[item.name].append(item)
    return names
