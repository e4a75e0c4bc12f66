"""The article's two calls, as printed, with only the host changed: curl and jq, no account, no key."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.history import History
from tests.http import Client
from tests.players import overrun
from tests.processes import Web

pytestmark = pytest.mark.usefixtures("database")

TWO_CALLS = """
ROOM=$(curl -s -X POST http://127.0.0.1:8000/elections | jq -r .election_id)
curl -s -X POST "http://127.0.0.1:8000/elections/$ROOM/campaign" -H "Content-Type: application/json" \
-d '{"candidate_id":"agent-atlas","ttl_seconds":30}'
"""


def shell(commands: str, web: Web) -> Any:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands.replace("127.0.0.1:8000", f"127.0.0.1:{web.port}")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"curl and jq are needed here: {done.stderr}"
    return json.loads(done.stdout)


def test_the_two_calls_make_a_leader(two_webs: list[Web]) -> None:
    won = shell(TWO_CALLS, two_webs[0])
    assert won["status"] == "leader"
    assert won["leader"]["candidate_id"] == "agent-atlas"
    assert 0 < won["leader"]["term"] < 2**53
    assert len(won["leader_token"]) == 43
    assert 29_000 < won["safe_for_ms"] <= 30_000
    assert 14_000 < won["renew_after_ms"] <= 15_000


def test_a_second_candidate_hears_who_leads_and_when_to_come_back(two_webs: list[Web]) -> None:
    second = (
        TWO_CALLS
        + """curl -s -X POST "http://127.0.0.1:8000/elections/$ROOM/campaign" \
-H "Content-Type: application/json" -d '{"candidate_id":"agent-borea"}' >/dev/stdout"""
    )
    lost = shell(second.replace("ttl_seconds\":30}'\n", "ttl_seconds\":30}' >/dev/null\n"), two_webs[0])
    assert lost["status"] == "follower"
    assert lost["leader"]["candidate_id"] == "agent-atlas"
    assert 29_000 < lost["retry_after_ms"] <= 35_000
    assert "leader_token" not in lost


def test_the_whole_story_of_two_candidates(two_webs: list[Web]) -> None:
    """Won, renewed, stalled, expired, taken over: the old leader's renewal is refused."""

    with two_webs[0].client() as atlas, two_webs[1].client() as borea:
        room = atlas.create()
        won = atlas.campaign(room, "agent-atlas", ttl_seconds=30).json()
        assert borea.campaign(room, "agent-borea").json()["status"] == "follower"
        renewed = atlas.renew(room, won["leader_token"]).json()
        assert renewed["leader"]["term"] == won["leader"]["term"]
        overrun(History(), room)
        taken = borea.campaign(room, "agent-borea").json()
        assert taken["status"] == "leader"
        assert taken["leader"]["term"] > won["leader"]["term"]
        refused = atlas.renew(room, won["leader_token"])
        assert (refused.status_code, refused.json()["code"]) == (404, "lease_not_current")
        assert terms(atlas, room) == [("agent-borea", None), ("agent-atlas", "expired")]


def terms(client: Client, room: str) -> list[tuple[str, str | None]]:
    return [(term["candidate_id"], term["end"]) for term in client.get(f"/elections/{room}/terms").json()["terms"]]
