"""POST /elections/{id}/resign: the term ends once, and nobody else's does."""

from __future__ import annotations

import pytest

from octostore.leases import engine
from tests.elections.bad_input import NO_ROOMS, NO_STRINGS, NO_TOKENS, Fault, bodies, fields, refused, refuses, without
from tests.elections.rooms import UNKNOWN_TOKEN, caller_at, expire, kinds, stored, told, win
from tests.http import Client
from tests.players import SPACE

VALID = {"leader_token": UNKNOWN_TOKEN}


@pytest.mark.usefixtures("database")
class TestALeader:
    def test_leaves_the_room_vacant(self, client: Client, room: str) -> None:
        won = win(client, room)
        answer = client.resign(room, won["leader_token"])
        assert answer.status_code == 200
        assert answer.json() == {"election_id": room, "status": "vacant", "previous_term": won["leader"]["term"]}
        assert client.room(room).json()["status"] == "vacant"
        assert kinds(room) == ["acquired", "released"]

    def test_may_resign_after_renewing(self, client: Client, room: str) -> None:
        won = win(client, room)
        client.renew(room, won["leader_token"], ttl_seconds=300)
        assert client.resign(room, won["leader_token"]).status_code == 200

    def test_may_campaign_again_at_once(self, client: Client, room: str) -> None:
        first = win(client, room)
        client.resign(room, first["leader_token"])
        assert win(client, room)["leader"]["term"] > first["leader"]["term"]


@pytest.mark.usefixtures("database")
class TestARepeat:
    def test_learns_that_it_worked(self, client: Client, room: str) -> None:
        won = win(client, room)
        client.resign(room, won["leader_token"])
        before = stored()
        for _ in range(2):
            answer = client.resign(room, won["leader_token"])
            assert (told(answer), answer.json()["ended"]) == ((404, "lease_not_current"), "released")
        assert stored() == before

    def test_leaves_the_next_leader_alone(self, client: Client, room: str) -> None:
        old = win(client, room, "atlas")
        client.resign(room, old["leader_token"])
        new = win(client, room, "borea")
        before = stored()
        answer = client.resign(room, old["leader_token"])
        assert told(answer) == (404, "lease_not_current")
        assert "ended" not in answer.json()
        assert stored() == before
        assert client.resign(room, new["leader_token"]).status_code == 200


@pytest.mark.usefixtures("database")
class TestNotCurrent:
    def test_an_expired_term_cannot_be_resigned(self, client: Client, room: str) -> None:
        won = win(client, room)
        expire(room)
        answer = client.resign(room, won["leader_token"])
        assert (told(answer), answer.json()["ended"]) == ((404, "lease_not_current"), "expired")
        assert kinds(room) == ["acquired", "expired"]

    def test_a_removed_term_cannot_be_resigned(self, client: Client, room: str) -> None:
        won = win(client, room)
        engine.revoke(SPACE, room, term=won["leader"]["term"], reason="test", actor="operator")
        answer = client.resign(room, won["leader_token"])
        assert (told(answer), answer.json()["ended"]) == ((404, "lease_not_current"), "removed")

    def test_wrong_tokens_change_nothing(self, client: Client, room: str) -> None:
        right = win(client, room)["leader_token"]
        other = win(client, room + "-2")["leader_token"]
        before = stored()
        for wrong in (UNKNOWN_TOKEN, right.swapcase(), right[1:] + right[0], other):
            answer = client.resign(room, wrong)
            assert told(answer) == (404, "lease_not_current")
            assert "ended" not in answer.json()
        assert stored() == before

    def test_in_a_room_nobody_has_led_every_token_is_wrong(self, client: Client, room: str) -> None:
        assert told(client.resign(room, UNKNOWN_TOKEN)) == (404, "lease_not_current")
        assert stored() == []


class TestBadInput:
    """No test here has a database: the first statement would fail it."""

    @pytest.mark.parametrize("bad", bodies(VALID))
    def test_a_broken_body_is_refused(self, client: Client, room: str, bad: Fault) -> None:
        refuses(client, f"/elections/{room}/resign", bad)

    @pytest.mark.parametrize(
        "bad", [without(VALID, "leader_token"), *fields(VALID, "leader_token", NO_STRINGS | NO_TOKENS)]
    )
    def test_a_bad_token_is_named(self, client: Client, room: str, bad: Fault) -> None:
        refuses(client, f"/elections/{room}/resign", bad)

    @pytest.mark.parametrize("part", NO_ROOMS.values(), ids=NO_ROOMS)
    def test_no_room_is_named(self, part: str) -> None:
        with caller_at(f"/elections/{part}/resign") as client:
            refused(lambda: client.post("/", json=VALID), 400, "election_id")

    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
    def test_other_methods_are_refused(self, client: Client, room: str, method: str) -> None:
        answer = client.request(method, f"/elections/{room}/resign")
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST, OPTIONS")
