"""The history checker itself: silent on right histories, and it names each invariant that is broken."""

from __future__ import annotations

from typing import Any

import pytest

from tests.history import Blockade, Event, History, Operation
from tests.invariants import violations


def op(verb: Any, called: float, returned: float, *, who: str = "a", outcome: Any = "ok", **more: Any) -> Operation:
    defaults: dict[str, Any] = {"term": 1, "capability": who, "ttl": 10.0}
    if verb in {"campaign", "renew"} and outcome == "ok":
        defaults["safe_for"] = 10.0
    if verb in {"status", "overrun", "write"}:
        defaults["capability"] = None
    return Operation(
        verb=verb, name="room", client=who, called=called, returned=returned, outcome=outcome, **defaults | more
    )


def event(n: int, kind: str, term: int, at: int, expires_at: int = 10) -> Event:
    return Event(name="room", incarnation=1, n=n, kind=kind, term=term, at=at, expires_at=expires_at)


def broken(*operations: Operation, events: tuple[Event, ...] = (), blockades: tuple[Blockade, ...] = ()) -> set[str]:
    history = History(list(operations), list(events), list(blockades))
    return {breach.split(":")[0] for breach in violations(history)}


def test_a_right_history_has_no_violations() -> None:
    assert not broken(
        op("campaign", 0, 1, attempt="k"),
        op("campaign", 0, 2, attempt="k", safe_for=9.0),
        op("campaign", 0.5, 1.5, who="b", outcome="lost", capability=None),
        op("status", 1.5, 1.6),
        op("renew", 2, 3),
        op("write", 3, 3.1),
        op("resign", 4, 5),
        op("resign", 6, 7, outcome="refused"),
        op("renew", 6, 7, outcome="refused"),
        op("status", 6, 6.5, term=2),
        op("campaign", 4.5, 5.5, who="b", term=2),
        op("write", 6, 6.1, who="b", term=2),
        op("overrun", 8, 9, who="test", term=2),
        op("campaign", 9.1, 9.2, who="c", term=3),
        events=(
            event(1, "acquired", 1, 0),
            event(2, "released", 1, 4),
            event(3, "acquired", 2, 5, 8),
            event(4, "expired", 2, 8, 8),
            event(5, "acquired", 3, 9),
        ),
    )


@pytest.mark.parametrize(
    ("invariant", "operations"),
    [
        pytest.param("I1", [op("campaign", 0, 1), op("campaign", 2, 3, who="b", term=2)], id="second holder"),
        pytest.param(
            "I1",
            [op("campaign", 0, 1), op("renew", 8, 9), op("campaign", 12, 13, who="b", term=2)],
            id="second holder before the renewed deadline",
        ),
        pytest.param(
            "I2", [op("campaign", 0, 1), op("resign", 2, 3), op("campaign", 4, 5, who="b")], id="a term given twice"
        ),
        pytest.param(
            "I2",
            [op("campaign", 0, 1, term=5), op("resign", 2, 3, term=5), op("campaign", 4, 5, who="b", term=4)],
            id="a term that falls",
        ),
        pytest.param("I3", [op("campaign", 0, 1), op("renew", 2, 3, term=2)], id="a renewal with another term"),
        pytest.param("I3", [op("campaign", 0, 1), op("renew", 2, 3, outcome="refused")], id="ended too early"),
        pytest.param("I4", [op("campaign", 0, 1), op("resign", 2, 3), op("renew", 4, 5)], id="renewed after release"),
        pytest.param("I4", [op("campaign", 0, 1), op("resign", 2, 3), op("resign", 4, 5)], id="released twice"),
        pytest.param("I4", [op("campaign", 0, 1), op("renew", 12, 13)], id="renewed after its deadline"),
        pytest.param("I4", [op("campaign", 0, 1), op("overrun", 2, 3), op("renew", 4, 5)], id="renewed when overrun"),
        pytest.param("I5", [op("campaign", 0, 1), op("status", 2, 3, term=None)], id="a grant nobody sees"),
        pytest.param("I6", [op("write", 0, 1, term=2), op("write", 2, 3, term=1)], id="a stale write accepted"),
        pytest.param(
            "I7",
            [
                op("campaign", 0, 1, attempt="k"),
                op("resign", 2, 3),
                op("campaign", 4, 5, who="b", term=2, attempt="k"),
            ],
            id="two grants for one attempt",
        ),
        pytest.param(
            "I10",
            [op("campaign", 0, 1), op("campaign", 12.5, 13, who="b", outcome="lost", capability=None)],
            id="an expired name still held",
        ),
        pytest.param("I10", [op("campaign", 0, 1), op("status", 12.5, 13)], id="an expired name still shown"),
    ],
)
def test_each_broken_invariant_is_named(invariant: str, operations: list[Operation]) -> None:
    assert invariant in broken(*operations)


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([event(1, "acquired", 1, 0), event(2, "acquired", 2, 5)], id="overlap"),
        pytest.param([event(1, "acquired", 1, 0), event(3, "released", 1, 5)], id="a count left out"),
        pytest.param([event(1, "acquired", 1, 0), event(2, "released", 2, 5)], id="the end of another term"),
        pytest.param([event(1, "acquired", 1, 0), event(2, "expired", 1, 5, 10)], id="expired before its deadline"),
        pytest.param(
            [event(1, "acquired", 2, 0), event(2, "released", 2, 5), event(3, "acquired", 1, 6)], id="terms that fall"
        ),
        pytest.param(
            [event(1, "acquired", 1, 0), event(2, "expired", 1, 10), event(3, "acquired", 2, 9)], id="begun too early"
        ),
    ],
)
def test_overlapping_committed_terms_are_named(events: list[Event]) -> None:
    assert broken(events=tuple(events)) == {"I1"}


def test_a_renewal_that_was_held_up_past_its_deadline_is_named() -> None:
    held_up = [op("campaign", 0, 1), op("overrun", 3, 3.5), op("renew", 2, 5)]
    assert not broken(*held_up)
    assert broken(*held_up, blockades=(Blockade(name="room", since=1.5, until=4, since_ms=1500, until_ms=4000),)) == {
        "I4"
    }


def test_a_grant_dated_before_the_end_of_its_wait_is_named() -> None:
    blockade = Blockade(name="room", since=1, until=4, since_ms=1000, until_ms=4000)
    assert not broken(events=(event(1, "acquired", 1, 4000),), blockades=(blockade,))
    assert broken(events=(event(1, "acquired", 1, 3999),), blockades=(blockade,)) == {"I1"}


def test_an_unknown_renewal_may_have_moved_the_deadline() -> None:
    unknown = op("renew", 5, 9, outcome="unknown")
    assert not broken(op("campaign", 0, 1), unknown, op("renew", 12, 13))
