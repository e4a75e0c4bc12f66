"""GET /elections/{id}: who leads at this instant."""

from __future__ import annotations

import pytest

from octostore.leases import engine
from tests.elections.bad_input import NO_ROOMS, refused
from tests.elections.rooms import caller_at, expire, row, stored, win
from tests.http import Client
from tests.players import SPACE, now_ms


@pytest.mark.usefixtures("database")
class TestAVacantRoom:
    def vacant(self, room: str) -> dict[str, object]:
        return {"election_id": room, "status": "vacant", "retry_after_ms": 0}

    def test_nobody_has_led(self, client: Client, room: str) -> None:
        assert client.room(room).json() == self.vacant(room)
        assert stored() == []

    def test_was_resigned(self, client: Client, room: str) -> None:
        client.resign(room, win(client, room)["leader_token"])
        assert client.room(room).json() == self.vacant(room)

    def test_expired_without_anybody_having_marked_it(self, client: Client, room: str) -> None:
        win(client, room)
        expire(room)
        assert client.room(room).json() == self.vacant(room)
        assert row(room).ended_at is None

    def test_was_removed(self, client: Client, room: str) -> None:
        term = win(client, room)["leader"]["term"]
        engine.revoke(SPACE, room, term=term, reason="test", actor="operator")
        assert client.room(room).json() == self.vacant(room)


@pytest.mark.usefixtures("database")
class TestALedRoom:
    def test_tells_who_leads_and_when_to_come_back(self, client: Client, room: str) -> None:
        won = win(client, room, metadata="eu-west", ttl_seconds=10)
        answer = client.room(room)
        assert answer.status_code == 200
        led = answer.json()
        assert led.keys() == {"election_id", "status", "leader", "retry_after_ms"}
        assert (led["election_id"], led["status"], led["leader"]) == (room, "leader", won["leader"])
        assert row(room).expires_at - now_ms() <= led["retry_after_ms"] < 12_000
        assert answer.headers["Cache-Control"] == "no-store"

    def test_never_tells_the_token(self, client: Client, room: str) -> None:
        won = win(client, room)
        answer = client.room(room)
        assert "leader_token" not in answer.text
        assert won["leader_token"] not in answer.text

    def test_tells_of_renewals(self, client: Client, room: str) -> None:
        won = win(client, room)
        renewed = client.renew(room, won["leader_token"], ttl_seconds=100).json()
        assert client.room(room).json()["leader"] == renewed["leader"]

    def test_is_only_read(self, client: Client, room: str) -> None:
        win(client, room)
        before = stored()
        client.room(room)
        assert stored() == before

    def test_answers_head_as_get(self, client: Client, room: str) -> None:
        win(client, room)
        got, head = client.room(room), client.head(f"/elections/{room}")
        assert head.status_code == 200
        assert head.headers["Content-Type"] == got.headers["Content-Type"]

    @pytest.mark.parametrize("path", ["/elections/%72oom-0001", "/elections/room%2D0001", "/%65lections/room-0001"])
    def test_is_found_by_its_percent_encoded_address(self, client: Client, path: str) -> None:
        win(client, "room-0001")
        with caller_at(path) as other:
            assert other.get("/").json()["leader"]["candidate_id"] == "atlas"


class TestBadInput:
    @pytest.mark.parametrize("part", NO_ROOMS.values(), ids=NO_ROOMS)
    def test_no_room_is_named(self, part: str) -> None:
        with caller_at(f"/elections/{part}") as client:
            refused(lambda: client.get("/"), 400, "election_id")

    def test_never_echoes_what_was_sent(self) -> None:
        with caller_at("/elections/canary!") as client:
            assert "canary" not in client.get("/").text

    @pytest.mark.parametrize("path", ["/elections/room-0001/", "/elections/a%2Fb/c", "/elections/room-0001/nothing"])
    def test_other_addresses_are_not_found(self, path: str) -> None:
        with caller_at(path) as client:
            answer = client.get("/")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")

    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
    def test_other_methods_are_refused(self, client: Client, room: str, method: str) -> None:
        answer = client.request(method, f"/elections/{room}")
        assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
