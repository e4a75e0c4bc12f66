"""The invariants every history is checked against; numbers are those of `docs/guarantees.md`.

An operation took effect at some instant between `called` and `returned`; one whose outcome is
unknown may have taken effect or not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

from tests.history import Blockade, Event, History, Operation

# How long a lost statement of an unknown operation may still take effect after its caller gave up.
LATE_SECONDS = 10.0

Named = TypeVar("Named", Operation, Event, Blockade)


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
        self._last_deadlines: dict[int, float] = {}
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

    @cached_property
    def beliefs(self) -> list[tuple[float, float, Operation]]:
        """From when until when each grant or renewal lets its holder believe, in order of the beginnings.

        That is by the holder's own reckoning, and until it gave up or the test moved its deadline.
        """
        given_up: dict[str | None, float] = defaultdict(lambda: float("inf"))
        longest: dict[str | None, float] = defaultdict(float)
        for op in self.operations:
            if op.verb == "resign" and op.outcome != "refused":
                given_up[op.capability] = min(given_up[op.capability], op.called)
            longest[op.capability] = max(longest[op.capability], op.ttl)
        shorter = [op for op in self.operations if op.verb == "renew" and op.ttl < longest[op.capability]]
        spans = []
        for held in self.granted:
            ends = [held.called + held.safe_for, given_up[held.capability]]
            if held.term in self.overruns:
                ends.append(self.overruns[held.term].called)
            for op in shorter:
                if op.capability == held.capability and op.called > held.called and op.ttl < held.ttl:
                    ends.append(op.called)
            spans.append((held.returned, min(ends), held))
        return sorted(spans, key=lambda span: span[0])

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

    def last_deadline(self, term: int) -> float | None:
        """After this a granted term cannot live, by all that was answered of it; None for one nobody was granted."""
        if term not in self.first_grants:
            return None
        if term not in self._last_deadlines:
            held = self.first_grants[term]
            self._last_deadlines[term] = max([self.latest_deadline(op) for op in (held, *self.uses(held))])
        return self._last_deadlines[term]


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
    for place, (_, until, held) in enumerate(record.beliefs):
        for start, rival_until, rival in record.beliefs[place + 1 :]:
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
        for since, until, held in record.beliefs:
            if held.capability == refused.capability and since < refused.called and refused.returned < until:
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
    beliefs, lasting = iter(record.beliefs), list[tuple[float, float, Operation]]()
    upcoming = next(beliefs, None)
    for read in sorted(record.reads, key=lambda op: op.called):
        while upcoming and upcoming[0] < read.called:
            lasting.append(upcoming)
            upcoming = next(beliefs, None)
        lasting = [belief for belief in lasting if belief[1] > read.called]
        for _, until, held in lasting:
            if read.returned < until and read.term != held.term:
                yield f"{read} while {held} lasts until {until:.4f}"


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
        if told.outcome == "lost" or (told.verb == "status" and told.outcome == "ok"):
            deadline = record.last_deadline(told.term or 0)
            if deadline is not None and told.called > deadline + 1.0:
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
