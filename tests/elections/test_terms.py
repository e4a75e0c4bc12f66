"""GET /elections/{id}/terms: who led, newest first."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from octostore.leases import engine, reaper
from tests.elections.bad_input import NO_ROOMS, refused
from tests.elections.rooms import caller, caller_at, expire, instant, row, win
from tests.http import Client
from tests.players import SPACE, now_ms

NO_LIMITS = ["0", "-1", "201", "1.5", "1e2", "0x1E", "abc", "", "%20", "+5", "10^30", "9" * 31, "%D9%A1", "%00", "1_0"]


def lead_and_resign(client: Client, room: str, candidate_id: str = "atlas") -> int:
    won = win(client, room, candidate_id)
    client.resign(room, won["leader_token"])
    term: int = won["leader"]["term"]
    return term


@pytest.mark.usefixtures("database")
class TestTheList:
    def test_is_empty_where_nobody_has_led(self, client: Client, room: str) -> None:
        answer = client.get(f"/elections/{room}/terms")
        assert (answer.status_code, answer.json()) == (200, {"election_id": room, "terms": []})

    def test_tells_of_the_current_term(self, client: Client, room: str) -> None:
        before = now_ms()
        won = win(client, room, metadata="eu-west")
        [term] = client.get(f"/elections/{room}/terms").json()["terms"]
        assert term.keys() == {"term", "candidate_id", "metadata", "began_at", "end", "renewals"}
        assert before <= instant(term["began_at"]) <= now_ms()
        assert (term["term"], term["candidate_id"]) == (won["leader"]["term"], "atlas")
        assert (term["metadata"], term["end"], term["renewals"]) == ("eu-west", None, 0)

    def test_tells_how_each_term_ended_newest_first(self, client: Client, room: str) -> None:
        resigned = lead_and_resign(client, room, "atlas")
        removed = win(client, room, "borea")["leader"]["term"]
        engine.revoke(SPACE, room, term=removed, reason="test", actor="operator")
        expired = win(client, room, "cirrus")["leader"]["term"]
        expire(room)
        current = win(client, room, "delta")["leader"]["term"]
        terms = client.get(f"/elections/{room}/terms").json()["terms"]
        assert [(one["term"], one["candidate_id"], one["end"]) for one in terms] == [
            (current, "delta", None),
            (expired, "cirrus", "expired"),
            (removed, "borea", "removed"),
            (resigned, "atlas", "resigned"),
        ]
        for one in terms[1:]:
            assert "metadata" not in one
            assert instant(one["began_at"]) <= instant(one["ended_at"]) <= now_ms() or one["end"] == "expired"

    def test_tells_the_end_of_a_term_nobody_has_marked(self, client: Client, room: str) -> None:
        win(client, room)
        expire(room)
        [term] = client.get(f"/elections/{room}/terms").json()["terms"]
        assert (term["end"], instant(term["ended_at"])) == ("expired", row(room).expires_at)
        assert row(room).ended_at is None

    def test_counts_renewals(self, client: Client, room: str) -> None:
        won = win(client, room)
        for _ in range(3):
            client.renew(room, won["leader_token"])
        assert client.get(f"/elections/{room}/terms").json()["terms"][0]["renewals"] == 3
        client.resign(room, won["leader_token"])
        lead_and_resign(client, room)
        assert [one["renewals"] for one in client.get(f"/elections/{room}/terms").json()["terms"]] == [0, 3]

    def test_never_tells_a_token(self, client: Client, room: str) -> None:
        won = win(client, room)
        assert won["leader_token"] not in client.get(f"/elections/{room}/terms").text

    def test_is_of_its_room_alone(self, client: Client, room: str) -> None:
        lead_and_resign(client, room + "-2")
        assert client.get(f"/elections/{room}/terms").json()["terms"] == []

    def test_answers_head_as_get(self, client: Client, room: str) -> None:
        assert client.head(f"/elections/{room}/terms").status_code == 200


@pytest.mark.usefixtures("database")
class TestLimits:
    def test_the_newest_are_told(self, client: Client, room: str) -> None:
        terms = [lead_and_resign(client, room) for _ in range(5)]
        told = client.get(f"/elections/{room}/terms?limit=3").json()["terms"]
        assert [one["term"] for one in told] == terms[:-4:-1]
        assert {one["end"] for one in told} == {"resigned"}

    def test_fifty_are_told_when_nothing_is_said(self, client: Client, room: str) -> None:
        terms = [lead_and_resign(client, room) for _ in range(52)]
        told = client.get(f"/elections/{room}/terms").json()["terms"]
        assert [one["term"] for one in told] == terms[:-51:-1]
        assert len(client.get(f"/elections/{room}/terms?limit=200").json()["terms"]) == 52

    def test_no_more_are_told_than_are_kept(self, client: Client, room: str, settings: Settings) -> None:
        terms = [lead_and_resign(client, room) for _ in range(4)]
        settings.TERMS_KEPT = 2
        path = f"/elections/{room}/terms?limit=200"
        assert [one["term"] for one in client.get(path).json()["terms"]] == terms[:-3:-1]
        reaper.trim(terms_kept=2)
        settings.TERMS_KEPT = 200
        assert [one["term"] for one in client.get(path).json()["terms"]] == terms[:-3:-1]


class TestBadInput:
    @pytest.mark.parametrize("limit", NO_LIMITS)
    def test_no_limit_is_named(self, room: str, limit: str) -> None:
        with caller(QUERY_STRING=f"limit={limit}") as client:
            refused(lambda: client.get(f"/elections/{room}/terms"), 400, "limit must be a whole number from 1 to 200")

    @pytest.mark.parametrize("part", NO_ROOMS.values(), ids=NO_ROOMS)
    def test_no_room_is_named(self, part: str) -> None:
        with caller_at(f"/elections/{part}/terms") as client:
            refused(lambda: client.get("/"), 400, "election_id")

    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
    def test_other_methods_are_refused(self, client: Client, room: str, method: str) -> None:
        answer = client.request(method, f"/elections/{room}/terms")
        assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
