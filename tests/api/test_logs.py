"""Logs: one JSON object a line, one line a request, and no secret in any of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from octostore.lib.redaction import HIDDEN, redact, redact_text

CAPABILITY = "V6YNbJ3SAZV1nHA2hmB-IIFGOc8xArAYd5Ezb0_YfbQ"


@pytest.fixture(scope="module")
def run(database_url: str) -> subprocess.CompletedProcess[str]:
    """A process that does everything with canaries in hand, logging at DEBUG."""
    environ = os.environ | {
        "DATABASE_URL": database_url,
        "OCTOSTORE_LOG_LEVEL": "DEBUG",
        "REDIS_URL": "redis://:canary-broker-5d1@127.0.0.1:1/0",
        "OCTOSTORE_METRICS_BEARER": "canary-bearer-5d1",
    }
    run = subprocess.run([sys.executable, "-m", "tests.api.canaries"], env=environ, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run


@pytest.mark.usefixtures("database")
class TestWholeProcess:
    def test_no_secret_is_found_in_any_line(self, run: subprocess.CompletedProcess[str]) -> None:
        secrets = json.loads(run.stdout)
        assert len(secrets) == 14
        assert [secret for secret in secrets if secret in run.stderr] == []

    def test_every_line_is_json_and_every_request_has_one(self, run: subprocess.CompletedProcess[str]) -> None:
        lines = [json.loads(line) for line in run.stderr.splitlines()]
        assert all(line.keys() >= {"event", "level", "timestamp"} for line in lines)
        requests = [line for line in lines if line["event"] == "request"]
        assert len(requests) == 17
        for line in requests:
            assert line.keys() == {
                "event", "level", "timestamp", "request_id", "method", "route", "status", "milliseconds",
            }  # fmt: skip
            assert re.fullmatch(r"req_[0-9a-f]{32}", line["request_id"])
            assert line["route"] == "unmatched" or line["route"].startswith("/")
        assert len({line["request_id"] for line in requests}) == len(requests)

    def test_a_bug_is_told_with_its_place_and_its_request(self, run: subprocess.CompletedProcess[str]) -> None:
        lines = [json.loads(line) for line in run.stderr.splitlines()]
        (bug,) = [line for line in lines if line["event"] == "internal_error"]
        assert "careless.py" in bug["exception"]
        assert f"RuntimeError: cannot use {HIDDEN}" in bug["exception"]
        assert any(line["event"] == "request" and line["request_id"] == bug["request_id"] for line in lines)


class TestRedaction:
    @pytest.mark.parametrize(
        "text",
        [
            CAPABILITY,
            f"renewing {CAPABILITY} now",
            f"leader_token={CAPABILITY}",
            "leader_token=hush",
            '{"leader_token": "hush", "n": 1}',
            "{'metadata': 'it\\'s hush', 'n': 1}",
            '{"metadata": "un\\"terminated hush',
            "Authorization: Bearer hush",
            "authorization='Basic hush'",
            "bearer hush",
            "Idempotency-Key: hush",
            "HTTP_IDEMPOTENCY_KEY='hush'",
            "password: hush",
            "redis://:hush@127.0.0.1:6379/0",
            "postgres://user:hush@db/octostore",
            "https://hush@host/",
            "osk_abcdefghijkl_hush",
            "whsec_hush+/=",
        ],
    )
    def test_secret_in_a_text_is_hidden(self, text: str) -> None:
        shown = redact_text(text)
        assert HIDDEN in shown
        assert "hush" not in shown
        assert CAPABILITY not in shown

    @pytest.mark.parametrize(
        "text",
        [
            "request",
            "/elections/<str:election_id>/campaign",
            "req_5f0c1f0e8a3b4c6d9e2f7a1b3c5d7e9f",
            "2026-11-30T19:07:16.502054Z",
            "http://127.0.0.1:8000/elections",
            "the bearer of bad news was late"[:10],
            "File octostore/leases/engine.py:42 in acquire",
        ],
    )
    def test_ordinary_text_stays(self, text: str) -> None:
        assert redact_text(text) == text

    @pytest.mark.parametrize(
        "name",
        ["leader_token", "lease_id", "Authorization", "idempotency_key", "Idempotency-Key", "secret", "metadata"],
    )
    def test_value_under_a_telling_name_is_hidden_whatever_it_is(self, name: str) -> None:
        assert redact({"deep": [{name: {"a": "hush"}}]}) == {"deep": [{name: HIDDEN}]}

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (None, None),
            (True, True),
            (1.5, 1.5),
            (2**70, str(2**70)),
            (b"raw", "b'raw'"),
            ({1: (2, "x")}, {"1": [2, "x"]}),
            ("half \ud800", "half \\ud800"),
        ],
    )
    def test_anything_becomes_json(self, value: Any, expected: Any) -> None:
        assert redact(value) == expected

    def test_long_hostile_text_takes_no_time(self) -> None:
        assert redact_text("metadata=" * 20_000 + "'" + "\\'" * 50_000)
