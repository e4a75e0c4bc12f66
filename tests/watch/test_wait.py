"""A campaign that waits is answered the moment it wins, or when its wait is over."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest

from tests.elections.rooms import instant, kinds, told, win
from tests.http import Client
from tests.processes import Web
from tests.watch.conftest import Wait
from tests.watch.waiter import Waiter


class TestWin:
    def test_comes_the_moment_the_leader_resigns(self, wait: Wait, client: Client, room: str) -> None:
        leader_token = win(client, room)["leader_token"]
        waiter = wait()
        resigned_at = time.monotonic()
        client.resign(room, leader_token)
        answer = waiter.answer()
        assert answer.told == (200, "leader")
        assert answer.body["leader"]["candidate_id"] == "borea"
        assert answer.at - resigned_at < 1
        assert client.renew(room, answer.body["leader_token"]).status_code == 200

    def test_comes_when_the_lease_expires_without_a_sweeper(self, wait: Wait, client: Client, room: str) -> None:
        deadline = instant(win(client, room, ttl_seconds=1)["leader"]["expires_at"])
        answer = wait().answer()
        late = time.time() * 1000 - deadline
        assert answer.told == (200, "leader")
        assert 0 <= late < 1000
        assert kinds(room) == ["acquired", "expired", "acquired"]

    def test_comes_when_another_process_frees_the_room(
        self, wait: Wait, webs: list[Web], client: Client, room: str
    ) -> None:
        late = []
        for _ in range(5):
            leader_token = win(client, room)["leader_token"]
            waiter = wait(at=webs[1])
            resigned_at = time.monotonic()
            client.resign(room, leader_token)
            answer = waiter.answer()
            late.append(answer.at - resigned_at)
            client.resign(room, answer.body["leader_token"])
        # The comparison once a second would take half a second on average.
        assert sorted(late)[2] < 0.25, late

    def test_lasts_a_short_term_until_it_is_renewed(self, wait: Wait, client: Client, room: str) -> None:
        leader_token = win(client, room)["leader_token"]
        waiter = wait(ttl_seconds=60)
        resigned_at = time.time() * 1000
        client.resign(room, leader_token)
        won = waiter.answer().body
        assert 14_000 < instant(won["leader"]["expires_at"]) - resigned_at < 16_500
        assert 7_000 < won["renew_after_ms"] <= 7_500
        renewed = client.renew(room, won["leader_token"]).json()
        assert 59_000 < renewed["safe_for_ms"] <= 60_000

    def test_never_lasts_longer_than_was_asked_for(self, wait: Wait, client: Client, room: str) -> None:
        leader_token = win(client, room)["leader_token"]
        waiter = wait(ttl_seconds=2)
        client.resign(room, leader_token)
        won = waiter.answer().body
        assert won["renew_after_ms"] <= 1000

    def test_may_be_believed_from_the_sending_on_and_not_beyond_its_deadline(
        self, wait: Wait, client: Client, room: str
    ) -> None:
        leader_token = win(client, room)["leader_token"]
        sent_at = time.time() * 1000
        waiter = wait(ttl_seconds=10)
        time.sleep(1)
        client.resign(room, leader_token)
        won = waiter.answer().body
        assert won["safe_for_ms"] > 10_500
        assert sent_at + won["safe_for_ms"] <= instant(won["leader"]["expires_at"])

    def test_of_a_free_room_is_no_waited_one(self, web: Web, room: str) -> None:
        with Waiter(web.port, room, ttl_seconds=60) as waiter:
            answer = waiter.answer()
        assert answer.told == (200, "leader")
        assert answer.body["renew_after_ms"] > 29_000


class TestLoss:
    def test_is_told_when_the_wait_is_over(self, wait: Wait, client: Client, room: str) -> None:
        won = win(client, room)
        waiter = wait(wait_seconds=1)
        answer = waiter.answer()
        assert answer.told == (200, "follower")
        assert answer.body["leader"] == won["leader"]
        assert 1 <= answer.at - waiter.began < 2

    @pytest.mark.parametrize("at_once", [0, None])
    def test_is_told_at_once_where_no_wait_is_asked_for(
        self, web: Web, client: Client, room: str, at_once: int | None
    ) -> None:
        win(client, room)
        with Waiter(web.port, room, wait_seconds=at_once) as waiter:
            assert waiter.answer().at - waiter.began < 1

    @pytest.mark.parametrize("bad", [-1, 61, 2**63 - 1])
    def test_wait_out_of_range(self, client: Client, room: str, bad: int) -> None:
        answer = client.campaign(room, "atlas", wait_seconds=bad)
        assert told(answer) == (400, "invalid_input")
        assert answer.json()["details"] == "wait_seconds must be from 0 to 60"

    @pytest.mark.parametrize("bad", ["5", 1.5, True, [], 2**64])
    def test_wait_of_a_wrong_type(self, client: Client, room: str, bad: object) -> None:
        answer = client.campaign(room, "atlas", wait_seconds=bad)
        assert told(answer) == (422, "invalid_input")
        assert "wait_seconds" in answer.json()["details"]

    def test_renewals_do_not_end_a_wait(self, wait: Wait, client: Client, room: str) -> None:
        leader_token = win(client, room, ttl_seconds=1)["leader_token"]
        waiter = wait(wait_seconds=2)
        while waiter.is_waiting(0.1):
            client.renew(room, leader_token)
        assert waiter.answer().told == (200, "follower")


class TestOrder:
    def test_first_come_is_first_served(self, wait: Wait, client: Client, room: str) -> None:
        leader_token = win(client, room)["leader_token"]
        waiters = [wait(f"waiter-{number}") for number in range(5)]
        for waiter in waiters:
            client.resign(room, leader_token)
            answer = waiter.answer()
            assert answer.body["leader"]["candidate_id"] == waiter.candidate_id
            leader_token = answer.body["leader_token"]

    def test_end_of_a_wait_in_the_middle_moves_nobody(self, wait: Wait, client: Client, room: str) -> None:
        leader_token = win(client, room)["leader_token"]
        first, second, third = wait("first"), wait("second", wait_seconds=1), wait("third")
        assert second.answer().told == (200, "follower")
        client.resign(room, leader_token)
        leader_token = first.answer().body["leader_token"]
        assert third.is_waiting(0.3)
        client.resign(room, leader_token)
        assert third.answer().told == (200, "leader")

    def test_who_has_won_already_is_told_so_however_many_wait(self, wait: Wait, client: Client, room: str) -> None:
        key = uuid4().hex
        won = win(client, room, key=key)
        wait("first")
        with Waiter(client.base_url.port or 0, room, "atlas", key=key) as again:
            answer = again.answer()
        assert answer.headers["idempotent-replayed"] == "true"
        assert answer.body["leader_token"] == won["leader_token"]


class TestAttempts:
    def test_waited_win_is_replayed(self, wait: Wait, client: Client, room: str) -> None:
        leader_token = win(client, room)["leader_token"]
        key = uuid4().hex
        waiter = wait(key=key, ttl_seconds=20)
        client.resign(room, leader_token)
        won = waiter.answer()
        assert "idempotent-replayed" not in won.headers
        again = client.campaign(room, "borea", key=key, ttl_seconds=20)
        assert again.headers["Idempotent-Replayed"] == "true"
        assert again.json()["leader_token"] == won.body["leader_token"]

    def test_two_waits_of_one_attempt_are_one_win(self, wait: Wait, client: Client, room: str) -> None:
        leader_token = win(client, room)["leader_token"]
        key = uuid4().hex
        waiters = [wait(key=key) for _ in range(2)]
        client.resign(room, leader_token)
        tokens = {waiter.answer().body["leader_token"] for waiter in waiters}
        assert len(tokens) == 1
        assert kinds(room) == ["acquired", "released", "acquired"]

    def test_attempt_that_is_over_does_not_wait(self, web: Web, client: Client, room: str) -> None:
        key = uuid4().hex
        client.resign(room, win(client, room, key=key)["leader_token"])
        with Waiter(web.port, room, "atlas", key=key) as waiter:
            assert waiter.answer().told == (409, "conflict")
