"""What waits come to when clients vanish, storage hangs, others came first or may not lead."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.db import connection

from elections import waiting
from octostore.leases.models import Lease
from octostore.leases.outcomes import Granted
from octostore.live.tickets import WaitTicket
from tests.elections.rooms import kinds, win
from tests.faults.blockers import standstill
from tests.http import Client
from tests.leases.outside import waiting_backends
from tests.players import now_ms
from tests.processes import Web
from tests.watch.conftest import Wait
from tests.watch.waiter import Waiter


@contextmanager
def free_but_locked(room: str) -> Iterator[None]:
    """The room becomes free within the second, and nobody can write to it until the end."""
    Lease.objects.filter(name=room).update(expires_at=now_ms() + 400)
    with standstill():
        yield


@contextmanager
def try_under_way(room: str) -> Iterator[None]:
    """The room has become free, and the first waiter's try stands in front of it until the end."""
    with free_but_locked(room):
        if connection.vendor == "postgresql":
            waiting_backends()
        else:
            # A try that waits for SQLite's file shows nowhere; the comparison wakes it within a second.
            time.sleep(1.5)
        yield


def until_kinds(room: str, expected: list[str]) -> None:
    deadline = time.monotonic() + 5
    while kinds(room) != expected:
        assert time.monotonic() < deadline, kinds(room)
        time.sleep(0.01)


class TestGone:
    def test_waiter_is_passed_over(self, wait: Wait, client: Client, room: str) -> None:
        leader_token = win(client, room)["leader_token"]
        ghosts = [wait(f"ghost-{number}") for number in range(3)]
        waiter = wait()
        for ghost in ghosts:
            ghost.close()
        resigned_at = time.monotonic()
        client.resign(room, leader_token)
        answer = waiter.answer()
        assert answer.told == (200, "leader")
        assert answer.at - resigned_at < 1

    def test_win_of_a_waiter_that_vanished_meanwhile_is_given_back(self, wait: Wait, client: Client, room: str) -> None:
        win(client, room)
        ghost = wait("ghost")
        with try_under_way(room):
            ghost.close()
            time.sleep(0.1)
        until_kinds(room, ["acquired", "expired", "acquired", "released"])

    def test_win_that_an_attempt_may_have_been_told_of_is_not(self, wait: Wait, client: Client, room: str) -> None:
        """Its second request may be answered before the loss of the first is noticed."""
        win(client, room)
        key = uuid4().hex
        ghost = wait("ghost", key=key)
        with try_under_way(room):
            ghost.close()
            time.sleep(0.1)
        until_kinds(room, ["acquired", "expired", "acquired"])
        again = client.campaign(room, "ghost", key=key)
        assert again.headers["Idempotent-Replayed"] == "true"
        assert client.renew(room, again.json()["leader_token"]).status_code == 200


@pytest.fixture(scope="module")
def impatient(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A process that waits for storage no longer than a second."""
    environment = {"DATABASE_URL": database_url, "OCTOSTORE_STORAGE_WAIT_SECONDS": "1"}
    with Web(tmp_path_factory.mktemp("impatient"), environment) as web:
        yield web


class TestStorage:
    @pytest.fixture
    def web(self, database: str, impatient: Web) -> Web:
        return impatient

    def test_that_hangs_for_a_while_ends_no_wait(self, wait: Wait, client: Client, room: str) -> None:
        win(client, room)
        waiter = wait()
        with free_but_locked(room):
            assert waiter.is_waiting(3)
        assert waiter.answer().told == (200, "leader")

    def test_that_hangs_at_the_end_leaves_the_outcome_unknown(self, wait: Wait, client: Client, room: str) -> None:
        win(client, room)
        waiter = wait(wait_seconds=2)
        with free_but_locked(room):
            answer = waiter.answer()
        assert answer.told == (503, "unavailable")
        assert "retry-after" in answer.headers


class TestCapacity:
    def test_who_may_lead_no_more_is_told_and_the_next_one_wins(self, start_web: Callable[..., Web], room: str) -> None:
        web = start_web(OCTOSTORE_LED_ROOMS_MAX_PER_CLIENT="1", OCTOSTORE_TRUSTED_PROXY_HOPS="1")
        full, other = "X-Forwarded-For: 192.0.2.1\r\n", "X-Forwarded-For: 192.0.2.2\r\n"
        with web.client() as client:
            leader_token = win(client, room)["leader_token"]
            with Waiter(web.port, room + "-full", wait_seconds=0, headers=full) as leads_one:
                assert leads_one.answer().told == (200, "leader")
            with Waiter(web.port, room, headers=full) as first, Waiter(web.port, room, headers=other) as second:
                assert first.is_waiting(0.2)
                assert second.is_waiting(0.2)
                client.resign(room, leader_token)
                assert first.answer().told == (409, "capacity_exceeded")
                assert second.answer().told == (200, "leader")


class TestNewcomers:
    """Whether one gives way is decided in the instant in which a room is free; here it lasts."""

    @pytest.fixture(autouse=True)
    def awaited(self, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
        hub = SimpleNamespace(is_running=True, is_awaited=lambda name: True)
        monkeypatch.setattr("octostore.live.waiting.hub", hub)

    def campaign(self, room: str, *, attempt: str | None = None, wait: int = 30) -> object:
        return waiting.campaign(
            election_id=room,
            candidate_id="newcomer",
            ttl=timedelta(seconds=30),
            metadata=None,
            attempt=attempt,
            client="192.0.2.1",
            charged_to="x",
            received_at=time.monotonic(),
            wait=timedelta(seconds=wait),
            turn=None,
        )

    @pytest.mark.parametrize("attempt", [None, "attempt-0123456789"])
    def test_that_wait_go_to_the_end_of_the_queue(self, room: str, attempt: str | None) -> None:
        ticket = self.campaign(room, attempt=attempt)
        assert isinstance(ticket, WaitTicket)
        ticket.give_back()
        assert not Lease.objects.filter(term__gt=0).exists()

    def test_that_do_not_wait_may_win(self, room: str) -> None:
        assert isinstance(self.campaign(room, wait=0), Granted)


class TestOneRequest:
    def test_leaves_one_line_and_counts_once_however_often_it_tries(
        self, start_web: Callable[..., Web], room: str
    ) -> None:
        web = start_web(OCTOSTORE_LOG_LEVEL="INFO")
        with web.client() as client:
            leader_token = win(client, room)["leader_token"]
            with Waiter(web.port, room, wait_seconds=1) as waiter:
                while waiter.is_waiting(0.05):
                    client.renew(room, leader_token)
                answer = waiter.answer()
            counted = client.get("/metrics").text
        lines = [json.loads(line) for line in web.output().splitlines() if '"/elections/<str:election_id>/camp' in line]
        mine = [line for line in lines if line["request_id"] == answer.headers["x-request-id"]]
        assert len(lines) == 2, "one of the winner, one of the waiter"
        assert [line["status"] for line in mine] == [200]
        (requests,) = re.findall(
            r'octostore_http_requests_total\{method="POST",route="[^"]*/campaign",.*\} (.*)', counted
        )
        assert float(requests) == 2
        (slowest,) = re.findall(r'request_duration_seconds_sum\{method="POST",route="[^"]*/campaign"\} (.*)', counted)
        assert float(slowest) < 1
