"""The engine comes out of every hard moment with a history that breaks no invariant (G1 to G5)."""

from __future__ import annotations

import pytest

from tests.faults import scenarios
from tests.faults.blockers import KINDS
from tests.faults.scenarios import played
from tests.invariants import violations

pytestmark = pytest.mark.usefixtures("database")


def test_a_late_renewal_revives_nothing() -> None:
    history = played(scenarios.late_renewal)
    assert violations(history) == []
    assert history.count("renew", "refused") == 2
    assert history.count("renew", "ok") == 1


def test_a_late_release_frees_nobody_elses_name() -> None:
    history = played(scenarios.late_release)
    assert violations(history) == []
    assert history.count("resign", "refused") == 2


@pytest.mark.parametrize("kind", KINDS)
def test_who_waited_past_the_deadline_is_judged_by_the_clock_after_the_wait(kind: str) -> None:
    history = played(scenarios.held_past_its_deadline(kind))
    assert violations(history) == []
    assert history.count("renew", "refused") == 3
    assert history.count("campaign", "ok") == 2
    assert history.count("campaign", "lost") == 5


def test_sweepers_end_no_lease_before_its_deadline() -> None:
    history = played(scenarios.swept_while_taken)
    assert violations(history) == []
    assert history.count("campaign", "ok") > scenarios.ENOUGH
    assert history.count("renew", "ok") > scenarios.ENOUGH


def test_mixed_fortunes_break_no_invariant() -> None:
    history = played(scenarios.mixed_fortunes)
    assert violations(history) == []
    assert history.count("campaign", "ok") > scenarios.ENOUGH
    assert history.count("campaign", "lost") > scenarios.ENOUGH
