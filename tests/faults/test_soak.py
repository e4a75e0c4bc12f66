"""The hard moments again and again, for minutes on end (`make soak`)."""

from __future__ import annotations

import time

import pytest

from tests.faults import scenarios
from tests.faults.blockers import KINDS
from tests.faults.scenarios import played
from tests.invariants import violations

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("database")]

MINUTES = 5


@pytest.mark.parametrize(
    "scenario",
    [scenarios.mixed_fortunes, scenarios.swept_while_taken, *map(scenarios.held_past_its_deadline, KINDS)],
    ids=["mixed fortunes", "swept while taken", *(f"held, {kind}" for kind in KINDS)],
)
def test_a_hard_moment_again_and_again(scenario: scenarios.Scenario) -> None:
    until = time.monotonic() + MINUTES * 60
    while time.monotonic() < until:
        assert violations(played(scenario)) == []
