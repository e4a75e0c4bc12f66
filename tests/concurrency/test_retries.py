"""Replies lost on the way, and the retries that follow in parallel, over two processes (G5, I7)."""

from __future__ import annotations

import http.client
import json
from functools import partial
from itertools import cycle
from uuid import uuid4

import httpx
import pytest
from django.db.models import F

from octostore.leases.models import Lease, LeaseEvent
from tests.processes import Web
from tests.races import race

pytestmark = pytest.mark.usefixtures("database")

RETRIES = 20
DAY_MS = 24 * 3600 * 1000


@pytest.fixture
def room() -> str:
    return f"room-{uuid4().hex}"


@pytest.fixture
def key() -> str:
    return f"attempt-{uuid4().hex}"


def campaigns(webs: list[Web], room: str, key: str, number: int = RETRIES) -> list[httpx.Response]:
    """The answers to the same campaign sent `number` times at once, by turns to each process."""

    def send(web: Web) -> httpx.Response:
        with web.client() as client:
            return client.campaign(room, "atlas", key=key, metadata="one")

    return race([partial(send, web) for web, _ in zip(cycle(webs), range(number), strict=False)])


def is_replay(answer: httpx.Response) -> bool:
    return bool(answer.headers.get("Idempotent-Replayed") == "true")


class TestSameAttempt:
    def test_retries_in_parallel_make_one_grant(self, two_webs: list[Web], room: str, key: str) -> None:
        answers = campaigns(two_webs, room, key)
        assert {answer.status_code for answer in answers} == {200}
        assert {answer.json()["status"] for answer in answers} == {"leader"}
        assert len({(answer.json()["leader"]["term"], answer.json()["leader_token"]) for answer in answers}) == 1
        assert [is_replay(answer) for answer in answers].count(False) == 1
        assert [event.kind for event in LeaseEvent.objects.all()] == ["acquired"]

    def test_a_retry_after_the_commit_repeats_the_answer_with_fresh_times(
        self, two_webs: list[Web], room: str, key: str
    ) -> None:
        (first,) = campaigns(two_webs, room, key, 1)
        Lease.objects.update(expires_at=F("expires_at") - 7000)
        for again in campaigns(two_webs, room, key):
            assert is_replay(again)
            assert again.json()["leader_token"] == first.json()["leader_token"]
            assert again.json()["leader"]["term"] == first.json()["leader"]["term"]
            assert again.json()["safe_for_ms"] <= first.json()["safe_for_ms"] - 7000

    def test_a_reply_that_nobody_read_is_repeated(self, two_webs: list[Web], room: str, key: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", two_webs[0].port)
        body = json.dumps({"candidate_id": "atlas", "metadata": "one"})
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        connection.request("POST", f"/elections/{room}/campaign", body, headers)
        connection.close()
        answers = campaigns(two_webs, room, key)
        assert len({(answer.json()["leader"]["term"], answer.json()["leader_token"]) for answer in answers}) == 1
        assert [event.kind for event in LeaseEvent.objects.all()] == ["acquired"]

    def test_a_retry_in_another_room_is_independent(self, two_webs: list[Web], room: str, key: str) -> None:
        (first,) = campaigns(two_webs, room, key, 1)
        (other,) = campaigns(two_webs, f"{room}-other", key, 1)
        assert not is_replay(other)
        assert other.json()["leader_token"] != first.json()["leader_token"]

    def test_a_rival_without_the_key_follows(self, two_webs: list[Web], room: str, key: str) -> None:
        campaigns(two_webs, room, key, 1)
        with two_webs[1].client() as rival:
            assert rival.campaign(room, "atlas", metadata="one").json()["status"] == "follower"
            assert rival.campaign(room, "atlas", metadata="one", key=f"{key}x").json()["status"] == "follower"


class TestOtherContent:
    @pytest.mark.parametrize("change", [{"ttl_seconds": 31}, {"metadata": "two"}, {"candidate_id": "borea"}])
    def test_other_content_conflicts(self, two_webs: list[Web], room: str, key: str, change: dict[str, object]) -> None:
        campaigns(two_webs, room, key, 1)
        body = {"candidate_id": "atlas", "metadata": "one"} | change
        with two_webs[1].client() as client:
            answer = client.post(f"/elections/{room}/campaign", json=body, headers={"Idempotency-Key": key})
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


class TestAfterItsTerm:
    def test_late_duplicates_of_a_resigned_term_win_nothing(self, two_webs: list[Web], room: str, key: str) -> None:
        (won,) = campaigns(two_webs, room, key, 1)
        with two_webs[0].client() as client:
            assert client.resign(room, won.json()["leader_token"]).status_code == 200
            answers = campaigns(two_webs, room, key)
            assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(409, "conflict")}
            assert client.room(room).json()["status"] == "vacant"

    def test_late_duplicates_of_an_expired_term_win_nothing(self, two_webs: list[Web], room: str, key: str) -> None:
        campaigns(two_webs, room, key, 1)
        Lease.objects.update(expires_at=F("expires_at") - 31_000)
        answers = campaigns(two_webs, room, key)
        assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(409, "conflict")}

    def test_a_day_later_the_key_is_an_ordinary_one(self, two_webs: list[Web], room: str, key: str) -> None:
        (won,) = campaigns(two_webs, room, key, 1)
        with two_webs[0].client() as client:
            client.resign(room, won.json()["leader_token"])
        Lease.objects.update(ended_at=F("ended_at") - DAY_MS - 3_600_000)
        answers = campaigns(two_webs, room, key)
        assert {answer.status_code for answer in answers} == {200}
        assert [is_replay(answer) for answer in answers].count(False) == 1
        assert answers[0].json()["leader"]["term"] > won.json()["leader"]["term"]
        assert answers[0].json()["leader_token"] != won.json()["leader_token"]

    def test_once_another_has_led_the_key_is_an_ordinary_one(self, two_webs: list[Web], room: str, key: str) -> None:
        (won,) = campaigns(two_webs, room, key, 1)
        with two_webs[0].client() as client:
            client.resign(room, won.json()["leader_token"])
            rival = client.campaign(room, "borea").json()
            answers = campaigns(two_webs, room, key)
            assert {answer.json()["leader"]["term"] for answer in answers} == {rival["leader"]["term"]}
            assert {answer.json()["status"] for answer in answers} == {"follower"}


class TestResignationsAndRenewals:
    def test_parallel_resignations_end_the_term_once(self, two_webs: list[Web], room: str, key: str) -> None:
        (won,) = campaigns(two_webs, room, key, 1)

        def resign(web: Web) -> httpx.Response:
            with web.client() as client:
                return client.resign(room, won.json()["leader_token"])

        answers = race([partial(resign, web) for web, _ in zip(cycle(two_webs), range(20), strict=False)])
        assert [answer.status_code for answer in answers].count(200) == 1
        refused = [answer.json() for answer in answers if answer.status_code != 200]
        assert {(body["code"], body["ended"]) for body in refused} == {("lease_not_current", "released")}
        assert [event.kind for event in LeaseEvent.objects.order_by("n")] == ["acquired", "released"]

    def test_late_resignations_leave_the_next_leader_alone(self, two_webs: list[Web], room: str, key: str) -> None:
        (won,) = campaigns(two_webs, room, key, 1)
        with two_webs[0].client() as client:
            client.resign(room, won.json()["leader_token"])
            successor = client.campaign(room, "borea").json()

            def resign(web: Web) -> httpx.Response:
                with web.client() as own:
                    return own.resign(room, won.json()["leader_token"])

            answers = race([partial(resign, web) for web, _ in zip(cycle(two_webs), range(20), strict=False)])
            assert {answer.json()["code"] for answer in answers} == {"lease_not_current"}
            assert client.renew(room, successor["leader_token"]).json()["leader"]["term"] == successor["leader"]["term"]

    def test_parallel_renewals_keep_the_term(self, two_webs: list[Web], room: str, key: str) -> None:
        (won,) = campaigns(two_webs, room, key, 1)

        def renew(web: Web) -> httpx.Response:
            with web.client() as client:
                return client.renew(room, won.json()["leader_token"])

        answers = race([partial(renew, web) for web, _ in zip(cycle(two_webs), range(20), strict=False)])
        assert {answer.status_code for answer in answers} == {200}
        assert {answer.json()["leader"]["term"] for answer in answers} == {won.json()["leader"]["term"]}
        assert {answer.json()["leader_token"] for answer in answers} == {won.json()["leader_token"]}
        assert Lease.objects.get().renewals == 20
