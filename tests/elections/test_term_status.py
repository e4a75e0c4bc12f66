"""GET /elections/{id}/terms/{term}: may a writer with this term still write?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.elections.bad_input import NO_ROOMS, refused
from tests.elections.rooms import caller_at, expire, row, told, win
from tests.http import Client

MAX = 2**53 - 1

NO_TERMS = ["0", "00", "-1", "-0", "+1", "1.0", "1e3", "0x1E", "1_0", "abc", "NaN", str(2**53), str(2**63), str(10**30)]
ODD_TERMS = ["%20", "1%20", "%0A1", "%00", "%D9%A1", "%EF%BC%91", "%C2%B2", "%FF", "9" * 20_000]


def ask(client: Client, room: str, term: int) -> dict[str, Any]:
    answer = client.get(f"/elections/{room}/terms/{term}")
    assert answer.status_code == 200
    body: dict[str, Any] = answer.json()
    assert (body.pop("election_id"), body.pop("term")) == (room, term)
    return body


@pytest.mark.usefixtures("database")
class TestWhileSomebodyLeads:
    def test_its_term_is_current(self, client: Client, room: str) -> None:
        term = win(client, room)["leader"]["term"]
        assert ask(client, room, term) == {"status": "current", "current_term": term}

    def test_lower_terms_are_superseded_whether_granted_or_not(self, client: Client, room: str) -> None:
        first = win(client, room, "atlas")["leader"]["term"]
        expire(room)
        second = win(client, room, "borea")["leader"]["term"]
        for term in (1, first - 1, first, second - 1):
            assert ask(client, room, term) == {"status": "superseded", "current_term": second}

    def test_higher_terms_are_unknown(self, client: Client, room: str) -> None:
        current = win(client, room)["leader"]["term"]
        for term in (current + 1, MAX):
            assert ask(client, room, term) == {"status": "unknown", "current_term": current}

    def test_a_renewed_term_is_current(self, client: Client, room: str) -> None:
        won = win(client, room)
        client.renew(room, won["leader_token"])
        assert ask(client, room, won["leader"]["term"])["status"] == "current"


@pytest.mark.usefixtures("database")
class TestWhileNobodyLeads:
    def test_the_last_term_is_ended(self, client: Client, room: str) -> None:
        won = win(client, room)
        client.resign(room, won["leader_token"])
        term = won["leader"]["term"]
        assert ask(client, room, term) == {"status": "ended"}
        assert ask(client, room, term - 1) == {"status": "superseded"}
        assert ask(client, room, term + 1) == {"status": "unknown"}

    def test_an_expired_term_is_ended_though_nobody_has_marked_it(self, client: Client, room: str) -> None:
        term = win(client, room)["leader"]["term"]
        expire(room)
        assert ask(client, room, term) == {"status": "ended"}
        assert row(room).ended_at is None

    def test_where_nobody_has_led_every_term_is_unknown(self, client: Client, room: str) -> None:
        for term in (1, MAX):
            assert ask(client, room, term) == {"status": "unknown"}

    def test_answers_head_as_get(self, client: Client, room: str) -> None:
        assert client.head(f"/elections/{room}/terms/1").status_code == 200


class TestBadInput:
    @pytest.mark.parametrize("term", NO_TERMS + ODD_TERMS)
    def test_no_term_is_named(self, room: str, term: str) -> None:
        with caller_at(f"/elections/{room}/terms/{term}") as client:
            refused(lambda: client.get("/"), 400, f"term must be a whole number from 1 to {MAX}")

    @pytest.mark.parametrize("part", ["", "1/", "1/2", "1%2F"])
    def test_other_addresses_are_not_found(self, room: str, part: str) -> None:
        with caller_at(f"/elections/{room}/terms/{part}") as client:
            assert told(client.get("/")) == (404, "not_found")

    @pytest.mark.parametrize("part", NO_ROOMS.values(), ids=NO_ROOMS)
    def test_no_room_is_named(self, part: str) -> None:
        with caller_at(f"/elections/{part}/terms/1") as client:
            refused(lambda: client.get("/"), 400, "election_id")

    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
    def test_other_methods_are_refused(self, client: Client, room: str, method: str) -> None:
        answer = client.request(method, f"/elections/{room}/terms/1")
        assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
