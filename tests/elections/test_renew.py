"""POST /elections/{id}/renew: the term goes on, or what ended stays ended."""

from __future__ import annotations

import pytest

from octostore.leases import engine
from tests.elections.bad_input import (
    NO_ROOMS,
    NO_STRINGS,
    NO_TOKENS,
    NO_TTLS,
    Fault,
    bodies,
    fields,
    refused,
    refuses,
    without,
)
from tests.elections.rooms import UNKNOWN_TOKEN, age, caller_at, expire, instant, kinds, row, stored, told, win
from tests.http import Client
from tests.players import SPACE, now_ms

VALID = {"leader_token": UNKNOWN_TOKEN}


@pytest.mark.usefixtures("database")
class TestALeader:
    def test_is_answered_as_for_a_win(self, client: Client, room: str) -> None:
        won = win(client, room, ttl_seconds=20, metadata="eu-west")
        age(room, 10)
        before = now_ms()
        answer = client.renew(room, won["leader_token"])
        assert answer.status_code == 200
        renewed = answer.json()
        assert renewed.keys() == won.keys()
        assert renewed["leader_token"] == won["leader_token"]
        assert renewed["leader"] == won["leader"] | {"expires_at": renewed["leader"]["expires_at"]}
        assert before + 20_000 <= instant(renewed["leader"]["expires_at"]) <= now_ms() + 20_000
        assert renewed["renew_after_ms"] == 10_000
        assert 19_900 <= renewed["safe_for_ms"] < 20_000
        assert answer.headers["Cache-Control"] == "no-store"

    def test_may_renew_again_and_again(self, client: Client, room: str) -> None:
        won = win(client, room)
        for count in range(1, 4):
            assert client.renew(room, won["leader_token"]).json()["leader"]["term"] == won["leader"]["term"]
            assert row(room).renewals == count
        assert kinds(room) == ["acquired"]

    @pytest.mark.parametrize("seconds", [5, 60, 300])
    def test_may_ask_for_another_ttl(self, client: Client, room: str, seconds: int) -> None:
        won = win(client, room, ttl_seconds=30)
        assert client.renew(room, won["leader_token"], ttl_seconds=seconds).json()["renew_after_ms"] == seconds * 500

    def test_gets_the_terms_own_ttl_when_nothing_is_said(self, client: Client, room: str) -> None:
        won = win(client, room, ttl_seconds=100)
        assert client.renew(room, won["leader_token"], ttl_seconds=None).json()["renew_after_ms"] == 50_000

    def test_may_shorten_its_lease(self, client: Client, room: str) -> None:
        won = win(client, room, ttl_seconds=300)
        renewed = client.renew(room, won["leader_token"], ttl_seconds=5).json()
        assert instant(renewed["leader"]["expires_at"]) < instant(won["leader"]["expires_at"]) - 290_000

    def test_may_renew_at_the_last_moment(self, client: Client, room: str) -> None:
        won = win(client, room, ttl_seconds=30)
        age(room, 29)
        assert client.renew(room, won["leader_token"]).json()["renew_after_ms"] == 15_000


@pytest.mark.usefixtures("database")
class TestExpired:
    def test_is_expired_even_when_nobody_else_came(self, client: Client, room: str) -> None:
        won = win(client, room)
        expire(room)
        for _ in range(2):
            answer = client.renew(room, won["leader_token"])
            assert told(answer) == (404, "lease_not_current")
            assert answer.json()["ended"] == "expired"
        assert kinds(room) == ["acquired", "expired"]
        assert client.room(room).json()["status"] == "vacant"

    def test_stays_expired_when_the_clock_steps_back(self, client: Client, room: str) -> None:
        won = win(client, room)
        expire(room)
        client.renew(room, won["leader_token"])
        age(room, -60)
        assert told(client.renew(room, won["leader_token"])) == (404, "lease_not_current")

    def test_leaves_the_next_leader_alone(self, client: Client, room: str) -> None:
        old = win(client, room, "atlas")
        expire(room)
        new = win(client, room, "borea")
        before = stored()
        answer = client.renew(room, old["leader_token"])
        assert told(answer) == (404, "lease_not_current")
        assert "ended" not in answer.json()
        assert stored() == before
        assert client.room(room).json()["leader"] == new["leader"]

    def test_is_not_revived_after_another_came_and_went(self, client: Client, room: str) -> None:
        old = win(client, room, "atlas")
        expire(room)
        client.resign(room, win(client, room, "borea")["leader_token"])
        assert told(client.renew(room, old["leader_token"])) == (404, "lease_not_current")


@pytest.mark.usefixtures("database")
class TestNotCurrent:
    def test_a_resigned_term_is_over(self, client: Client, room: str) -> None:
        won = win(client, room)
        client.resign(room, won["leader_token"])
        answer = client.renew(room, won["leader_token"])
        assert (told(answer), answer.json()["ended"]) == ((404, "lease_not_current"), "released")

    def test_a_removed_term_is_over(self, client: Client, room: str) -> None:
        won = win(client, room)
        engine.revoke(SPACE, room, term=won["leader"]["term"], reason="test", actor="operator")
        answer = client.renew(room, won["leader_token"])
        assert (told(answer), answer.json()["ended"]) == ((404, "lease_not_current"), "removed")

    def test_every_wrong_token_is_told_the_same(self, client: Client, room: str) -> None:
        won = win(client, room)
        right = won["leader_token"]
        other = win(client, room + "-2")["leader_token"]
        before = stored()
        last = "B" if right[-1] != "B" else "C"
        for wrong in (UNKNOWN_TOKEN, right[:-1] + last, right[:8] + "A" * 35, right.swapcase(), right[::-1], other):
            answer = client.renew(room, wrong)
            told_of = {name: value for name, value in answer.json().items() if name != "request_id"}
            assert (answer.status_code, told_of) == (
                404,
                {"error": "Lease is not current", "code": "lease_not_current"},
            )
        assert stored() == before

    def test_in_a_room_nobody_has_led_every_token_is_wrong(self, client: Client, room: str) -> None:
        assert told(client.renew(room, UNKNOWN_TOKEN)) == (404, "lease_not_current")
        assert stored() == []


class TestBadInput:
    """No test here has a database: the first statement would fail it."""

    @pytest.mark.parametrize("bad", bodies(VALID))
    def test_a_broken_body_is_refused(self, client: Client, room: str, bad: Fault) -> None:
        refuses(client, f"/elections/{room}/renew", bad)

    @pytest.mark.parametrize(
        "bad",
        [
            without(VALID, "leader_token"),
            *fields(VALID, "leader_token", NO_STRINGS | NO_TOKENS),
            *fields(VALID, "ttl_seconds", NO_TTLS),
        ],
    )
    def test_a_bad_field_is_named(self, client: Client, room: str, bad: Fault) -> None:
        refuses(client, f"/elections/{room}/renew", bad)

    def test_a_huge_token_is_refused_unread(self, client: Client, room: str) -> None:
        refused(lambda: client.renew(room, "A" * 2**20), 413, "body")

    @pytest.mark.parametrize("part", NO_ROOMS.values(), ids=NO_ROOMS)
    def test_no_room_is_named(self, part: str) -> None:
        with caller_at(f"/elections/{part}/renew") as client:
            refused(lambda: client.post("/", json=VALID), 400, "election_id")

    def test_never_echoes_the_token(self, client: Client, room: str) -> None:
        assert "canary" not in client.renew(room, "canary").text

    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
    def test_other_methods_are_refused(self, client: Client, room: str, method: str) -> None:
        answer = client.request(method, f"/elections/{room}/renew")
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST, OPTIONS")
