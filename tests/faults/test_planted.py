"""With a fault planted in the engine, a scenario must end in a history that breaks an invariant."""

from __future__ import annotations

import pytest

from tests.faults import scenarios
from tests.faults.blockers import KINDS
from tests.faults.planted import FAULTS
from tests.faults.scenarios import Scenario, played
from tests.invariants import violations

# What shows a fault is a matter of instants.
pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("database")]

# Quick ones first: the first that shows the fault is enough. Those that need luck come again.
SCENARIOS: list[Scenario] = [
    scenarios.late_renewal,
    scenarios.late_release,
    *(scenarios.held_past_its_deadline(kind) for kind in KINDS),
    *([scenarios.swept_while_taken, scenarios.mixed_fortunes] * 5),
]


def _broken() -> set[str]:
    for scenario in SCENARIOS:
        if breaches := violations(played(scenario)):
            return {breach.partition(":")[0] for breach in breaches}
    return set()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.only(fault.vendor)) for name, fault in FAULTS.items()]
)
def test_a_planted_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    fault.plant(monkeypatch)
    assert _broken() & fault.breaks
