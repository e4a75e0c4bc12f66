"""No lease, session, key, attempt or metadata in a log, an error, a metric or an answer to anybody else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from octostore.leases.models import LeaseEvent
from octostore.teams.models import ApiKey, AuditEntry
from tests.locks.canaries import ATTEMPT, LOCK, METADATA, WRONG_KEY, WRONG_LEASE
from tests.locks.cast import stored


@pytest.fixture
def run(database: str, database_url: str) -> tuple[dict[str, Any], str]:
    """What a process told of its secrets, and its log at DEBUG."""
    environ = os.environ | {"DATABASE_URL": database_url, "OCTOSTORE_LOG_LEVEL": "DEBUG"}
    run = subprocess.run([sys.executable, "-m", "tests.locks.canaries"], env=environ, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout), run.stderr


def test_canaries_are_found_nowhere_but_in_their_answers(run: tuple[dict[str, Any], str]) -> None:
    told, log = run
    secret = [*told["leases"], told["key"], told["key"].split("_", 2)[2], ATTEMPT, WRONG_KEY, WRONG_LEASE]
    assert len(secret) == 10
    assert '"route":"/locks/<any:name>/acquire"' in log.replace(": ", ":")
    hidden_from_the_log = [*secret, *told["sessions"], METADATA, LOCK, LOCK.rpartition("/")[2]]
    assert [one for one in hidden_from_the_log if one in log] == []
    # Metadata is for the team to see while the lock is held, which one of these answers tells.
    assert [one for one in [*secret, *told["sessions"]] if one in told["answers"]] == []
    rows = repr(stored()) + repr([dict(one) for model in (ApiKey, AuditEntry) for one in model.objects.values()])
    assert [one for one in secret if one in rows] == []
    events = repr(list(LeaseEvent.objects.values("reason", "actor", "holder", "charged_to")))
    assert [one for one in hidden_from_the_log if one in events] == []
