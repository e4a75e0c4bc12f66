"""SQLite's file held, or full, by somebody else: 503 within the bounded wait, and service returns (G9)."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import psutil
import pytest

from tests.faults.blockers import blocked
from tests.faults.load import load, longest, wait_for_renewals
from tests.history import History
from tests.invariants import violations
from tests.processes import Web

pytestmark = pytest.mark.only("sqlite")

WAIT_SECONDS = 1


@pytest.fixture
def web(start_web: Callable[..., Web]) -> Web:
    return start_web(OCTOSTORE_STORAGE_WAIT_SECONDS=str(WAIT_SECONDS))


def test_a_held_file_is_told_as_unavailable(web: Web) -> None:
    with load([web]) as history:
        wait_for_renewals(history, 20, within=10)
        with blocked(History(), "another", "updating"):
            time.sleep(3 * WAIT_SECONDS)
        wait_for_renewals(history, 40, within=10)
    assert violations(history) == []
    assert history.count("renew", "refused") == 0
    assert history.count("renew", "unknown") > 0
    assert longest(history) < WAIT_SECONDS + 1.5


def test_a_file_that_cannot_grow_is_told_as_unavailable(web: Web) -> None:
    process = psutil.Process(web.pid)
    _, hard = process.rlimit(psutil.RLIMIT_FSIZE)
    with load([web]) as history:
        wait_for_renewals(history, 200, within=20)
        # Less than the write-ahead log has grown to: the next append to it fails.
        process.rlimit(psutil.RLIMIT_FSIZE, (65_536, hard))
        time.sleep(0.5)
        process.rlimit(psutil.RLIMIT_FSIZE, (resource.RLIM_INFINITY, hard))
        wait_for_renewals(history, 40, within=10)
    assert violations(history) == []
    assert history.count("renew", "refused") == 0
    assert history.count("renew", "unknown") > 0
