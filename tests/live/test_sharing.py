"""Budgets of several processes, kept in step through a real Valkey.

A budget of 6 a minute is refilled once in ten seconds, so that counts are exact while a test runs.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, MutableMapping
from statistics import quantiles
from typing import Any

import pytest
import structlog
from django.core.exceptions import ImproperlyConfigured
from structlog.testing import LogCapture

from octostore.lib.errors import RateLimited
from octostore.lib.secrets import ServerKey
from octostore.live import sharing as sharing_module
from octostore.live.budgets import Budget, Spending
from octostore.live.sharing import CLIENTS_A_CALL, INTERVAL_SECONDS, Sharing
from tests.live.test_budgets import granted
from tests.valkey import Valkey

KEY = ServerKey(id="test", secret=b"k" * 32)
CLIENT = "198.51.100.7"


class Process:
    """What admission is in one web process. Unless `by_itself`, it exchanges when the test says so."""

    def __init__(self, url: str, limit: int, by_itself: bool) -> None:
        self.sharing = Sharing(url, KEY, interval_seconds=INTERVAL_SECONDS if by_itself else 3600)
        self.budget = self.sharing.budget("campaigns", lambda: limit)

    def granted(self, attempts: int, client: str = CLIENT) -> int:
        return granted(self.budget, attempts, client)

    def exchange(self) -> bool:
        return self.sharing.exchange()


Make = Callable[..., Process]
Logs = list[MutableMapping[str, Any]]


@pytest.fixture
def process(valkey: Valkey) -> Iterator[Make]:
    made: list[Process] = []

    def make(limit: int = 6, *, by_itself: bool = False) -> Process:
        made.append(Process(valkey.url, limit, by_itself))
        return made[-1]

    yield make
    for one in made:
        one.sharing.stop()


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Logs:
    """What sharing logs, whatever the level of this run."""
    capture = LogCapture()
    monkeypatch.setattr(
        sharing_module,
        "log",
        structlog.wrap_logger(None, processors=[capture], wrapper_class=structlog.BoundLogger),
    )
    return capture.entries


def refusal(process: Process) -> int:
    """The milliseconds after which the refused client may come back."""
    with pytest.raises(RateLimited) as caught:
        process.budget.spend(CLIENT)
    assert caught.value.retry_after_ms
    return caught.value.retry_after_ms


def refused_within(seconds: float, process: Process, pause: float) -> bool:
    """Whether a client that asks at a pace its bucket here would bear is refused before long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not process.granted(1):
            return True
        time.sleep(pause)
    return False


class TestProcessesThatShare:
    def test_have_one_budget_together(self, process: Make) -> None:
        here, there = process(), process()
        assert here.granted(2) + there.granted(2) == 4
        assert here.exchange()
        assert there.exchange()
        assert here.exchange()
        assert here.granted(1) + there.granted(1) == 2
        for one in (here, there, here):
            one.exchange()
        assert here.granted(5) + there.granted(5) == 0

    def test_know_a_client_from_elsewhere_after_its_first_request(self, process: Make) -> None:
        here, there = process(), process()
        assert here.granted(9) == 6
        here.exchange()
        assert there.granted(1) == 1
        there.exchange()
        assert there.granted(9) == 0

    def test_make_a_client_that_spent_in_both_at_once_wait_for_both(self, process: Make) -> None:
        here, there = process(), process()
        assert here.granted(9) + there.granted(9) == 12
        for one in (here, there, here):
            one.exchange()
        for one in (here, there):
            assert 60_000 < refusal(one) <= 70_000

    def test_never_shut_a_client_out_for_much_over_a_minute(self, process: Make) -> None:
        processes = [process() for _ in range(5)]
        assert sum(one.granted(9) for one in processes) == 30
        for one in processes * 2:
            one.exchange()
        assert refusal(processes[0]) <= 70_000

    def test_keep_clients_and_budgets_apart(self, process: Make) -> None:
        here, there = process(), process()
        wrong_here = here.sharing.budget("wrong_capabilities", lambda: 6)
        wrong_there = there.sharing.budget("wrong_capabilities", lambda: 6)
        assert here.granted(9) == 6
        assert granted(wrong_here, 2, CLIENT) == 2
        here.exchange()
        assert there.granted(1, "203.0.113.9") + granted(wrong_there, 1, CLIENT) == 2
        there.exchange()
        assert there.granted(9, "203.0.113.9") == 5
        assert granted(wrong_there, 9, CLIENT) == 3

    def test_share_more_clients_than_go_into_one_call(self, process: Make) -> None:
        here, there = process(), process()
        clients = [str(number) for number in range(2 * CLIENTS_A_CALL + 1)]
        for client in clients:
            assert here.granted(6, client) == 6
        here.exchange()
        assert sum(there.granted(1, client) for client in clients) == len(clients)
        there.exchange()
        assert sum(there.granted(1, client) for client in clients) == 0

    def test_agree_within_a_second_by_themselves(self, process: Make) -> None:
        here, there = process(600, by_itself=True), process(600, by_itself=True)
        assert here.granted(600) == 600
        assert refused_within(1, there, pause=0.005)

    def test_grant_a_client_of_two_real_ones_little_over_its_budget(self, valkey: Valkey) -> None:
        limit, seconds, pause = 1_000, 4, 0.004
        script = f"""if True:
            import time
            from tests.live.test_sharing import Process
            process, count, until = Process({valkey.url!r}, {limit}, True), 0, time.monotonic() + {seconds}
            while time.monotonic() < until:
                count += process.granted(1)
                time.sleep({pause})
            print(count)
        """
        command = [sys.executable, "-c", script]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        total = sum(int(one.communicate(timeout=60)[0]) for one in running)
        refilled, within_the_lag = limit * (seconds + 2) / 60, 1 / pause * 2
        assert limit <= total <= limit + refilled + within_the_lag


class TestOneProcess:
    def test_is_granted_with_redis_what_it_is_granted_without(self, process: Make) -> None:
        here, alone = process(600), Budget("alone", lambda: 600)
        assert here.granted(600) == granted(alone, 600) == 600
        time.sleep(0.4)  # Redis has its own clock
        here.exchange()
        refilled = granted(alone, 600)
        assert refilled >= 4
        assert abs(here.granted(600) - refilled) <= 1

    def test_keeps_no_address_in_redis_and_no_key_for_ever(self, process: Make, valkey: Valkey) -> None:
        here = process()
        here.granted(3)
        here.exchange()
        with valkey.client() as client:
            (key,) = client.keys("*")
            assert CLIENT not in key
            assert 28_000 <= client.pttl(key) <= 30_000

    def test_asks_nothing_on_the_way_of_a_request(self, process: Make, valkey: Valkey) -> None:
        here = process()
        with valkey.client() as client:
            before = client.info("stats")["total_connections_received"]
            here.granted(9)
            assert client.info("stats")["total_connections_received"] == before


class TestWhenRedisIsAway:
    def test_each_process_goes_on_alone_and_shares_again_afterwards(self, process: Make, valkey: Valkey) -> None:
        here, there = process(), process()
        here.granted(1)
        assert here.exchange()
        valkey.stop()
        assert not here.exchange()
        assert not there.exchange()
        assert here.granted(9) == 5
        assert there.granted(2) == 2
        valkey.start()
        here.exchange()
        for one in (here, there):
            assert one.exchange()
        assert there.granted(9) == 0

    def test_it_is_shared_again_without_anybody_asking(self, process: Make, valkey: Valkey, logs: Logs) -> None:
        here, there = process(600, by_itself=True), process(600, by_itself=True)
        assert here.granted(1) + there.granted(1) == 2
        valkey.stop()
        wait_for(lambda: len(logs) == 2)  # both are alone
        valkey.start()
        wait_for(lambda: len(logs) == 4)
        here.granted(599)
        assert refused_within(1.5, there, pause=0.005)

    @pytest.mark.parametrize("fault", ["stop", "pause"])
    def test_no_request_is_slowed(self, process: Make, valkey: Valkey, fault: str) -> None:
        here = process(1_000_000, by_itself=True)
        here.granted(1)
        getattr(valkey, fault)()
        taken = []
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            began = time.perf_counter()
            here.granted(1)
            taken.append(time.perf_counter() - began)
            time.sleep(0.0005)
        assert quantiles(taken, n=100)[98] < 0.001
        assert max(taken) < 0.1, "shorter than any wait for Redis"

    def test_a_paused_one_that_wakes_was_told_once(self, process: Make, valkey: Valkey) -> None:
        here, there = process(), process()
        here.granted(1)
        assert here.exchange()
        valkey.pause()
        assert here.granted(2) == 2
        for _ in range(3):
            assert not here.exchange()
        valkey.resume()
        wait_for(here.exchange)
        assert there.granted(1) == 1
        there.exchange()
        assert there.granted(9) == 2

    def test_one_that_stops_between_its_sign_of_life_and_the_telling_was_told_once(
        self, process: Make, valkey: Valkey, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, there = process(), process()
        here.granted(1)
        assert here.exchange()
        here.granted(2)
        with monkeypatch.context() as patch:
            take = here.budget.take_unshared

            def stop_then_take() -> list[Spending]:
                valkey.pause()
                return take()

            patch.setattr(here.budget, "take_unshared", stop_then_take)
            assert not here.exchange()
        valkey.resume()
        wait_for(here.exchange)
        assert there.granted(1) == 1
        there.exchange()
        assert there.granted(9) == 2

    def test_a_flushed_one_neither_punishes_twice_nor_refills_here(self, process: Make, valkey: Valkey) -> None:
        here, there = process(), process()
        assert here.granted(4) == 4
        here.exchange()
        with valkey.client() as client:
            client.flushall()
            client.script_flush()
        assert here.exchange()
        assert here.granted(9) == 2
        here.exchange()
        there.granted(1)
        there.exchange()
        assert there.granted(9) == 3

    def test_the_log_says_so_once_and_names_nobody(self, process: Make, valkey: Valkey, logs: Logs) -> None:
        here = process()
        here.granted(1)
        valkey.stop()
        for _ in range(3):
            here.exchange()
        valkey.start()
        for _ in range(3):
            here.exchange()
        assert [entry["event"] for entry in logs] == ["budgets_alone", "budgets_shared_again"]
        assert CLIENT not in str(logs)


class TestTheSetting:
    def test_without_redis_nothing_runs_beside_the_requests(self) -> None:
        sharing = Sharing("", KEY)
        budget = sharing.budget("campaigns", lambda: 6)
        assert granted(budget, 9, CLIENT) == 6
        assert sharing._thread is None
        assert not sharing.exchange()

    def test_an_address_of_something_else_stops_the_start(self) -> None:
        with pytest.raises(ImproperlyConfigured, match="REDIS_URL"):
            Sharing("postgresql://127.0.0.1/db", KEY)


class TestAForkedChild:
    def test_starts_afresh_and_shares_by_itself(self, valkey: Valkey) -> None:
        script = f"""if True:
            import os, sys, time
            os.environ |= {{"REDIS_URL": {valkey.url!r}, "OCTOSTORE_ELECTION_REQUESTS_PER_MINUTE": "600"}}
            import django
            django.setup()
            from octostore.live import admission
            from tests.live.test_budgets import granted
            assert granted(admission.campaigns, 600) == 600
            time.sleep(1)
            if child := os.fork():
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            assert granted(admission.campaigns, 1) == 1, "a bucket of its own"
            until = time.monotonic() + 1
            while time.monotonic() < until:
                if not granted(admission.campaigns, 1):
                    os._exit(0)
                time.sleep(0.005)
            os._exit(3)
        """
        assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0


def wait_for(condition: Callable[[], bool], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
