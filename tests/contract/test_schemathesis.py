"""Schemathesis over the whole API of a live process: what it makes up from the document is answered as told there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import Web

# The contract refuses what a schema cannot: 7.0 as an integer, NUL in a field that nobody reads. And
# a room is there without being created, while a term that ended is gone.
NOT_PROMISED = "positive_data_acceptance,ensure_resource_availability,use_after_free"
# A stream's frames are not JSON, and have tests of their own.
STREAMS = "/watch$"


def run(web: Web, directory: Path, *, seconds: int, examples: int) -> None:
    directory.mkdir()
    done = subprocess.run(
        [
            # One worker: ast.parse, which Hypothesis calls, is not safe on threads before Python 3.11.8.
            *(Path(sys.executable).parent / "st", "run", f"{web.url}/openapi.json", "--no-color", "--workers", "1"),
            *("--phases", "examples,coverage,fuzzing,stateful", "--max-time", str(seconds)),
            *("--max-examples", str(examples), "--exclude-checks", NOT_PROMISED, "--warnings", "off"),
            *("--exclude-path-regex", STREAMS),
        ],
        cwd=directory,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.fixture
def web(start_web: Callable[..., Web]) -> Web:
    """Waits and streams end within a second, so that the time goes into requests."""
    return start_web(OCTOSTORE_WAIT_MAX_SECONDS="1", OCTOSTORE_STREAM_SECONDS="1")


def test_made_up_requests_are_answered_as_the_document_says(web: Web, tmp_path: Path) -> None:
    run(web, tmp_path / "st", seconds=25, examples=15)


@pytest.mark.soak
def test_made_up_requests_for_ten_minutes(web: Web, tmp_path: Path) -> None:
    run(web, tmp_path / "st", seconds=600, examples=1000)
