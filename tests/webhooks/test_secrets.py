"""No signing secret, query string or metadata in a log, a message, the audit, a list, a metric or an error (G10)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from octostore.teams.models import AuditEntry
from tests.webhooks.canaries import ANSWER, LOCK, METADATA, QUERY
from tests.webhooks.cast import stored
from webhooks.models import Attempt, Delivery

# What reads as a secret, whichever it is.
_SECRET = re.compile(r"whsec_[A-Za-z0-9+/]+")


@pytest.fixture
def run(database: str, database_url: str) -> tuple[dict[str, Any], str]:
    """What a process told of its secrets, and its log at DEBUG."""
    environ = os.environ | {
        "DATABASE_URL": database_url,
        "OCTOSTORE_LOG_LEVEL": "DEBUG",
        "OCTOSTORE_WEBHOOK_ALLOW_PRIVATE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.webhooks.canaries"], env=environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_canaries_are_found_nowhere_but_where_they_belong(run: tuple[dict[str, Any], str]) -> None:
    told, log = run
    raw = [secret.removeprefix("whsec_") for secret in told["secrets"]]
    assert len(raw) == 10

    def hidden(text: str, *more: str) -> list[str]:
        return [one for one in [*raw, QUERY, METADATA, *more] if one in text] + _SECRET.findall(text)

    # It saw every kind of end, and a bug with its traceback.
    ends = set(Attempt.objects.values_list("failure", flat=True))
    assert ends >= {"", "status", "redirect", "reset", "refused", "no_address"}
    assert "the sealed text was changed" in log
    assert '"route":"/webhooks/<str:webhook_id>"' in log.replace(": ", ":")
    assert hidden(log, LOCK, ANSWER, "v1,") == []

    assert told["messages"]
    assert hidden("".join(told["messages"]), LOCK, ANSWER, "msg_") == []
    assert hidden(told["told"]) == []
    assert hidden(told["repr"], LOCK, ANSWER) == []
    # A webhook's own URL is shown to its team; its secrets are not.
    assert hidden(told["listed"].replace(QUERY, "")) == []
    assert QUERY in told["listed"]

    assert AuditEntry.objects.filter(action="webhook_switched_off").exists()
    assert hidden(repr(list(AuditEntry.objects.values())), ANSWER) == []
    assert hidden(repr(list(Delivery.objects.values())) + repr(list(Attempt.objects.values()))) == []
    assert hidden(repr(stored()).replace(QUERY, "")) == []
