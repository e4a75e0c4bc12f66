"""Idempotency-Key: one attempt is one term, however often its answer is lost."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from elections import services
from elections.capacity import Capacity
from octostore.live import admission
from tests.elections.bad_input import refused
from tests.elections.rooms import age, caller, expire, kinds, stored, told, win
from tests.http import Client

pytestmark = pytest.mark.usefixtures("database")

CONTENT: dict[str, Any] = {"ttl_seconds": 30, "metadata": "m"}
DAY = 24 * 3600


class TestWhileTheTermLives:
    def test_a_retry_gets_the_same_answer_marked_as_replayed(self, client: Client, room: str, key: str) -> None:
        first = client.campaign(room, "atlas", key=key, **CONTENT)
        again = client.campaign(room, "atlas", key=key, **CONTENT)
        assert "Idempotent-Replayed" not in first.headers
        assert again.headers["Idempotent-Replayed"] == "true"
        times = {"renew_after_ms", "safe_for_ms"}
        assert {name: value for name, value in again.json().items() if name not in times} == {
            name: value for name, value in first.json().items() if name not in times
        }
        assert kinds(room) == ["acquired"]

    def test_a_retry_writes_nothing(self, client: Client, room: str, key: str) -> None:
        win(client, room, key=key)
        before = stored()
        win(client, room, key=key)
        assert stored() == before

    def test_a_retry_gets_fresh_times(self, client: Client, room: str, key: str) -> None:
        win(client, room, key=key, ttl_seconds=30)
        age(room, 10)
        again = win(client, room, key=key, ttl_seconds=30)
        assert 9_000 < again["renew_after_ms"] <= 10_000
        assert 18_000 < again["safe_for_ms"] < 20_000

    def test_a_retry_gets_the_times_of_the_last_renewal(self, client: Client, room: str, key: str) -> None:
        won = win(client, room, key=key, ttl_seconds=30)
        client.renew(room, won["leader_token"], ttl_seconds=200)
        again = win(client, room, key=key, ttl_seconds=30)
        assert again["leader_token"] == won["leader_token"]
        assert again["safe_for_ms"] > 190_000

    def test_what_a_retry_gets_is_good_for_leading(self, client: Client, room: str, key: str) -> None:
        win(client, room, key=key)
        again = win(client, room, key=key)
        assert client.renew(room, again["leader_token"]).status_code == 200
        assert client.resign(room, again["leader_token"]).status_code == 200

    def test_a_ttl_that_is_omitted_is_the_default_one(self, client: Client, room: str, key: str) -> None:
        won = win(client, room, key=key)
        assert win(client, room, key=key, ttl_seconds=30, metadata=None)["leader_token"] == won["leader_token"]

    @pytest.mark.parametrize(
        "change", [{"candidate_id": "borea"}, {"ttl_seconds": 31}, {"metadata": "n"}, {"metadata": None}], ids=str
    )
    def test_other_content_conflicts(self, client: Client, room: str, key: str, change: dict[str, Any]) -> None:
        win(client, room, "atlas", key=key, **CONTENT)
        before = stored()
        answer = client.campaign(room, **{"candidate_id": "atlas", "key": key} | CONTENT | change)
        assert told(answer) == (409, "conflict")
        assert "leader_token" not in answer.text
        assert stored() == before

    def test_rivals_follow_whatever_their_key(self, client: Client, room: str, key: str) -> None:
        win(client, room, "atlas", key=key)
        for other in (None, key + "x", key[:-1], key.upper(), key.swapcase()):
            assert client.campaign(room, "atlas", key=other).json()["status"] == "follower"

    def test_one_who_lost_may_win_later_with_the_same_key(self, client: Client, room: str, key: str) -> None:
        won = win(client, room, "atlas")
        assert client.campaign(room, "borea", key=key).json()["status"] == "follower"
        client.resign(room, won["leader_token"])
        assert win(client, room, "borea", key=key)["leader"]["candidate_id"] == "borea"


class TestBeforeBudgetAndCapacity:
    def test_a_retry_asks_for_neither(
        self, client: Client, room: str, key: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        won = win(client, room, key=key)
        admission.campaigns.forget_all()
        monkeypatch.setattr(services, "capacity", Capacity("elections"))
        settings.LED_ROOMS_MAX = settings.LED_ROOMS_MAX_PER_CLIENT = 0
        settings.ELECTION_REQUESTS_PER_MINUTE = 1
        client.post("/elections")
        assert told(client.campaign(room, "borea")) == (429, "rate_limited")
        for _ in range(3):
            assert win(client, room, key=key)["leader_token"] == won["leader_token"]
        assert told(client.campaign(room, "borea", key=key)) == (409, "conflict")


class TestAfterTheTerm:
    def test_a_late_duplicate_of_a_resigned_term_wins_nothing(self, client: Client, room: str, key: str) -> None:
        client.resign(room, win(client, room, key=key)["leader_token"])
        answer = client.campaign(room, "atlas", key=key)
        assert told(answer) == (409, "conflict")
        assert "use a new Idempotency-Key" in answer.json()["details"]
        assert client.room(room).json()["status"] == "vacant"
        assert kinds(room) == ["acquired", "released"]

    def test_a_late_duplicate_of_an_expired_term_wins_nothing(self, client: Client, room: str, key: str) -> None:
        win(client, room, key=key)
        expire(room)
        assert told(client.campaign(room, "atlas", key=key)) == (409, "conflict")
        assert client.room(room).json()["status"] == "vacant"

    def test_a_new_key_wins(self, client: Client, room: str, key: str) -> None:
        client.resign(room, win(client, room, key=key)["leader_token"])
        win(client, room, key=key + "-2")

    def test_it_is_remembered_for_a_day_after_the_end(self, client: Client, room: str, key: str) -> None:
        first = win(client, room, key=key)
        client.resign(room, first["leader_token"])
        age(room, DAY - 60)
        assert told(client.campaign(room, "atlas", key=key)) == (409, "conflict")
        age(room, 120)
        second = win(client, room, key=key)
        assert second["leader"]["term"] > first["leader"]["term"]
        assert second["leader_token"] != first["leader_token"]

    def test_once_another_has_led_it_is_a_key_like_any_other(self, client: Client, room: str, key: str) -> None:
        client.resign(room, win(client, room, key=key)["leader_token"])
        rival = win(client, room, "borea")
        assert client.campaign(room, "atlas", key=key).json()["leader"] == rival["leader"]


class TestScope:
    def test_a_key_belongs_to_its_room(self, client: Client, room: str, key: str) -> None:
        here, there = win(client, room, key=key), win(client, room + "-2", key=key)
        assert here["leader_token"] != there["leader_token"]

    def test_a_key_is_good_from_anywhere(self, client: Client, room: str, key: str) -> None:
        won = win(client, room, key=key)
        with caller(REMOTE_ADDR="203.0.113.9") as elsewhere:
            assert win(elsewhere, room, key=key)["leader_token"] == won["leader_token"]

    def test_a_key_is_not_stored(self, client: Client, room: str, key: str) -> None:
        win(client, room, key=key)
        assert key not in repr(stored())


class TestKeys:
    @pytest.mark.parametrize("key", ["k" * 16, "k" * 255, "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~"])
    def test_any_of_visible_ascii_will_do(self, client: Client, room: str, key: str) -> None:
        assert win(client, room, key=key)["leader_token"] == win(client, room, key=key)["leader_token"]

    @pytest.mark.parametrize(
        "key",
        [
            pytest.param("", id="empty"),
            pytest.param("k" * 15, id="15 characters"),
            pytest.param("k" * 256, id="256 characters"),
            pytest.param("k" * 20_000, id="20,000 characters"),
            pytest.param("attempt 0123456789", id="space"),
            pytest.param("attempt-0123456789, attempt-0123456789", id="two headers"),
            pytest.param("attempt-0123456789\t", id="tab"),
            pytest.param("attempt-0123456789\x7f", id="control character"),
            pytest.param("attempt-0123456789\xe9", id="not ASCII"),
            pytest.param("\xd9\xa1" * 16, id="digits of Unicode"),
        ],
    )
    def test_others_are_refused(self, room: str, key: str) -> None:
        with caller(HTTP_IDEMPOTENCY_KEY=key) as client:
            refused(lambda: client.campaign(room, "atlas"), 400, "Idempotency-Key")
        assert stored() == []

    def test_a_refused_key_is_not_echoed(self, room: str) -> None:
        with caller(HTTP_IDEMPOTENCY_KEY="canary key 7f3a 0123456789") as client:
            assert "canary" not in client.campaign(room, "atlas").text
