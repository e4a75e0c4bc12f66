"""POST /elections/{id}/campaign: won, lost, or refused before anything happened."""

from __future__ import annotations

import time
from typing import Any

import pytest

from octostore.leases.models import Lease, LeaseEvent
from tests.elections.bad_input import NO_ROOMS, NO_STRINGS, NO_TTLS, Fault, bodies, fields, refused, refuses, without
from tests.elections.rooms import age, caller, caller_at, expire, instant, kinds, row, stored, told, win
from tests.http import Client
from tests.players import now_ms

VALID = {"candidate_id": "atlas"}

NO_CANDIDATES = {
    "empty": ('""', 400, "invalid_input"),
    "65 characters": ('"' + "a" * 65 + '"', 400, "invalid_input"),
    "60,000 characters": ('"' + "a" * 60_000 + '"', 400, "invalid_input"),
    "space": ('"at las"', 400, "invalid_input"),
    "line end": ('"atlas\\n"', 400, "invalid_input"),
    "CR LF": ('"atlas\\r\\nX-Evil: 1"', 400, "invalid_input"),
    "slash": ('"at/las"', 400, "invalid_input"),
    "percent": ('"at%las"', 400, "invalid_input"),
    "accent": ('"\u00e9"', 400, "invalid_input"),
    "combining accent": ('"e\u0301"', 400, "invalid_input"),
    "Cyrillic": ('"\u0430tlas"', 400, "invalid_input"),
    "right to left": ('"\u202eatlas"', 400, "invalid_input"),
    "zero-width joiner": ('"at\u200dlas"', 400, "invalid_input"),
    "digits of Unicode": ('"\u0661"', 400, "invalid_input"),
    "NUL": ('"at\\u0000las"', 400, "invalid_input"),
    "lone surrogate": ('"\\ud800"', 400, "invalid_input"),
}
NO_METADATA = {label: value for label, value in NO_STRINGS.items() if label != "null"} | {
    "1025 characters": ('"' + "a" * 1025 + '"', 400, "invalid_input"),
    "1025 characters of four bytes": ('"' + "\U0001f600" * 1025 + '"', 400, "invalid_input"),
    "1025 escaped characters": ('"' + "\\ud83d\\ude00" * 1025 + '"', 400, "invalid_input"),
    "NUL": ('"\\u0000"', 400, "invalid_input"),
    "lone surrogate": ('"\\ud800"', 400, "invalid_input"),
    "two halves the wrong way round": ('"\\ude00\\ud83d"', 400, "invalid_input"),
    "Infinity": ("Infinity", 400, "invalid_input"),
}


NO_WAITS = {
    "-1": ("-1", 400, "invalid_input"),
    "61": ("61", 400, "invalid_input"),
    "2^63": (str(2**63), 400, "invalid_input"),
    "2^64": (str(2**64), 422, "invalid_input"),
    "1.0": ("1.0", 422, "invalid_input"),
    "true": ("true", 422, "invalid_input"),
    "text": ('"5"', 422, "invalid_input"),
    "NaN": ("NaN", 400, "invalid_input"),
}


@pytest.mark.usefixtures("database")
class TestWinning:
    def test_is_answered_with_term_token_and_times(self, client: Client, room: str) -> None:
        before = now_ms()
        answer = client.campaign(room, "atlas", ttl_seconds=20, metadata="eu-west")
        assert answer.status_code == 200
        won = answer.json()
        assert won.keys() == {"status", "election_id", "leader", "leader_token", "renew_after_ms", "safe_for_ms"}
        assert (won["status"], won["election_id"]) == ("leader", room)
        assert won["leader"].keys() == {"candidate_id", "metadata", "term", "expires_at"}
        assert (won["leader"]["candidate_id"], won["leader"]["metadata"]) == ("atlas", "eu-west")
        assert 0 < won["leader"]["term"] < 2**53
        assert before + 20_000 <= instant(won["leader"]["expires_at"]) <= now_ms() + 20_000
        assert len(won["leader_token"]) == 43
        assert won["renew_after_ms"] == 10_000
        assert 19_900 <= won["safe_for_ms"] < 20_000
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Idempotent-Replayed" not in answer.headers

    def test_safe_for_ends_before_anybody_else_can_lead(self, client: Client, room: str) -> None:
        """Even when all of it happened within one millisecond of both clocks."""
        for _ in range(20):
            sent = time.time_ns()
            won = win(client, room)
            deadline = instant(won["leader"]["expires_at"]) * 10**6
            assert sent + won["safe_for_ms"] * 10**6 < deadline
            client.resign(room, won["leader_token"])

    def test_lasts_30_seconds_when_nothing_is_said(self, client: Client, room: str) -> None:
        assert win(client, room)["renew_after_ms"] == 15_000

    @pytest.mark.parametrize("seconds", [5, 300])
    def test_lasts_as_long_as_asked(self, client: Client, room: str, seconds: int) -> None:
        assert win(client, room, ttl_seconds=seconds)["renew_after_ms"] == seconds * 500

    @pytest.mark.parametrize("candidate_id", ["a", "0", "A.z_0:9@-", ".", "-", "a" * 64])
    def test_takes_any_candidate_of_its_characters(self, client: Client, room: str, candidate_id: str) -> None:
        assert win(client, room, candidate_id)["leader"]["candidate_id"] == candidate_id

    @pytest.mark.parametrize(
        "metadata",
        [
            "",
            " ",
            "a" * 1024,
            "\U0001f600" * 1024,
            "e\u0301\u00e9",
            "\u202e\u200d",
            "\r\n\x01\x7f",
            '{"a": 1}',
            "\uffff",
        ],
    )
    def test_keeps_metadata_as_it_is(self, client: Client, room: str, metadata: str) -> None:
        assert win(client, room, metadata=metadata)["leader"]["metadata"] == metadata
        assert client.room(room).json()["leader"]["metadata"] == metadata

    def test_has_no_metadata_where_none_was_given(self, client: Client, room: str) -> None:
        assert "metadata" not in win(client, room)["leader"]

    def test_takes_null_as_omitted(self, client: Client, room: str) -> None:
        won = win(client, room, ttl_seconds=None, metadata=None)
        assert won["renew_after_ms"] == 15_000
        assert "metadata" not in won["leader"]

    def test_ignores_unknown_fields(self, client: Client, room: str) -> None:
        win(client, room, leader_token="x", term=1, status="follower", nested={"a": [1, 2.5, None]})

    @pytest.mark.parametrize("content_type", ["application/json; charset=UTF-8", "application/vnd.octostore+json"])
    def test_takes_json_by_its_other_names(self, client: Client, room: str, content_type: str) -> None:
        headers = {"Content-Type": content_type}
        answer = client.post(f"/elections/{room}/campaign", content=b'{"candidate_id":"atlas"}', headers=headers)
        assert answer.json()["status"] == "leader"

    @pytest.mark.parametrize("room", ["a" * 8, "a" * 64, "--------", "________", "00000000", "AzAzAzAz"])
    def test_takes_any_room(self, client: Client, room: str) -> None:
        assert win(client, room)["election_id"] == room

    def test_rooms_are_told_apart_by_case(self, client: Client) -> None:
        win(client, "room-of-ada")
        win(client, "ROOM-of-ada")

    def test_is_recorded(self, client: Client, room: str) -> None:
        won = win(client, room, metadata="m")
        [event] = LeaseEvent.objects.all()
        assert (event.kind, event.n, event.term) == ("acquired", 1, won["leader"]["term"])
        assert (event.incarnation, event.metadata) == (won["leader"]["term"], "m")

    def test_keeps_no_token(self, client: Client, room: str) -> None:
        won = win(client, room)
        assert won["leader_token"] not in repr(stored())


@pytest.mark.usefixtures("database")
class TestAfterATerm:
    def test_an_expired_room_is_won_at_once_whatever_the_sweeper_does(self, client: Client, room: str) -> None:
        first = win(client, room, "atlas")
        expire(room)
        second = win(client, room, "borea")
        assert second["leader"]["term"] > first["leader"]["term"]
        assert second["leader_token"] != first["leader_token"]
        assert kinds(room) == ["acquired", "expired", "acquired"]

    def test_a_resigned_room_is_won_at_once(self, client: Client, room: str) -> None:
        terms = []
        for _ in range(5):
            won = win(client, room)
            terms.append(won["leader"]["term"])
            client.resign(room, won["leader_token"])
        assert terms == sorted(set(terms))

    def test_metadata_of_the_last_term_is_gone(self, client: Client, room: str) -> None:
        win(client, room, metadata="old")
        expire(room)
        assert "metadata" not in win(client, room)["leader"]


@pytest.mark.usefixtures("database")
class TestLosing:
    def test_is_answered_with_who_leads_and_when_to_come_back(self, client: Client, room: str) -> None:
        won = win(client, room, "atlas", ttl_seconds=20, metadata="eu-west")
        answer = client.campaign(room, "borea")
        assert answer.status_code == 200
        lost = answer.json()
        assert lost.keys() == {"status", "election_id", "leader", "retry_after_ms"}
        assert (lost["status"], lost["election_id"], lost["leader"]) == ("follower", room, won["leader"])
        assert won["leader_token"] not in answer.text

    def test_writes_nothing(self, client: Client, room: str) -> None:
        win(client, room)
        before = stored()
        client.campaign(room, "borea", ttl_seconds=300, metadata="m")
        assert stored() == before

    def test_the_same_candidate_is_a_follower_like_any_other(self, client: Client, room: str) -> None:
        won = win(client, room, "worker")
        lost = client.campaign(room, "worker").json()
        assert (lost["status"], lost["leader"]) == ("follower", won["leader"])

    def test_followers_come_back_spread_behind_the_deadline(self, client: Client, room: str) -> None:
        win(client, room, ttl_seconds=20)
        waits = set()
        for _ in range(5):
            asked = now_ms()
            wait = client.campaign(room, "borea").json()["retry_after_ms"]
            left = row(room).expires_at
            assert left - now_ms() <= wait < left - asked + 4_000
            waits.add(wait)
        assert len(waits) > 1

    def test_nobody_is_sent_away_for_over_a_minute_and_all_come_back_spread(self, client: Client, room: str) -> None:
        win(client, room, ttl_seconds=300)
        waits = {client.campaign(room, "borea").json()["retry_after_ms"] for _ in range(5)}
        assert len(waits) > 1
        assert all(55_000 <= wait <= 60_000 for wait in waits)


@pytest.mark.usefixtures("database")
class TestTooLate:
    """A win whose answer would come with less than half of the TTL left."""

    def test_is_given_back(self, client: Client, room: str) -> None:
        with caller(**{"octostore.received_at": time.monotonic() - 15.1}) as late:
            answer = late.campaign(room, "atlas", ttl_seconds=30)
        assert told(answer) == (503, "unavailable")
        assert "leader_token" not in answer.text
        assert client.room(room).json()["status"] == "vacant"
        assert kinds(room) == ["acquired", "released"]

    def test_is_not_retried_into_a_ghost_term(self, client: Client, room: str, key: str) -> None:
        with caller(**{"octostore.received_at": time.monotonic() - 16}) as late:
            late.campaign(room, "atlas", key=key)
        assert told(client.campaign(room, "atlas", key=key)) == (409, "conflict")
        win(client, room, key=key + "-2")

    def test_half_of_the_ttl_is_enough(self, room: str) -> None:
        with caller(**{"octostore.received_at": time.monotonic() - 14}) as slow:
            assert win(slow, room, ttl_seconds=30)["renew_after_ms"] == 15_000

    def test_a_replay_takes_nothing_back(self, client: Client, room: str, key: str) -> None:
        won = win(client, room, key=key)
        age(room, 20)
        again = win(client, room, key=key)
        assert again["leader_token"] == won["leader_token"]
        with caller(**{"octostore.received_at": time.monotonic() - 20}) as late:
            assert win(late, room, key=key)["leader"]["term"] == won["leader"]["term"]

    def test_a_loser_loses_as_ever(self, client: Client, room: str) -> None:
        win(client, room)
        with caller(**{"octostore.received_at": time.monotonic() - 100}) as late:
            assert late.campaign(room, "borea").json()["status"] == "follower"


class TestBadInput:
    """No test here has a database: the first statement would fail it."""

    @pytest.mark.parametrize("bad", bodies(VALID))
    def test_a_broken_body_is_refused(self, client: Client, room: str, bad: Fault) -> None:
        refuses(client, f"/elections/{room}/campaign", bad)

    @pytest.mark.parametrize(
        "bad",
        [
            without(VALID, "candidate_id"),
            *fields(VALID, "candidate_id", NO_STRINGS | NO_CANDIDATES),
            *fields(VALID, "ttl_seconds", NO_TTLS),
            *fields(VALID, "metadata", NO_METADATA),
            *fields(VALID, "wait_seconds", NO_WAITS),
        ],
    )
    def test_a_bad_field_is_named(self, client: Client, room: str, bad: Fault) -> None:
        refuses(client, f"/elections/{room}/campaign", bad)

    def test_an_absent_body_lacks_its_candidate(self, client: Client, room: str) -> None:
        refused(lambda: client.post(f"/elections/{room}/campaign"), 422, "candidate_id is required")

    @pytest.mark.parametrize("part", NO_ROOMS.values(), ids=NO_ROOMS)
    def test_no_room_is_named(self, part: str) -> None:
        with caller_at(f"/elections/{part}/campaign") as client:
            refused(lambda: client.post("/", json=VALID), 400, "election_id")

    def test_names_the_range(self, client: Client, room: str) -> None:
        answer = client.campaign(room, "atlas", ttl_seconds=4)
        assert answer.json()["details"] == "ttl_seconds must be from 5 to 300"

    @pytest.mark.parametrize("body", [VALID | {"ttl_seconds": 4}, VALID | {"metadata": "secret" * 1000}])
    def test_never_echoes_what_was_sent(self, client: Client, body: dict[str, Any]) -> None:
        answer = client.post("/elections/canary-room/campaign", json=body)
        assert "canary" not in answer.text
        assert "secret" not in answer.text

    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
    def test_other_methods_are_refused(self, client: Client, room: str, method: str) -> None:
        answer = client.request(method, f"/elections/{room}/campaign")
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST, OPTIONS")


@pytest.mark.usefixtures("database")
def test_bad_input_leaves_no_row(client: Client, room: str) -> None:
    client.campaign(room, "")
    client.campaign(room, "atlas", ttl_seconds=4)
    assert not Lease.objects.exists()
