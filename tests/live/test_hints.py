"""Hints cross processes through Redis; without Redis nothing waits, fails or piles up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack

import pytest

from octostore.live.hints import CHANNEL, Hints, Name
from tests.valkey import Valkey

ROOM = ("elections", "room-1")


class Party:
    """One process' hints, and what it heard."""

    def __init__(self, url: str) -> None:
        self.heard: list[Name] = []
        self.hints = Hints(url, self._hear)
        self.hints.start()

    def _hear(self, names: Iterable[Name]) -> None:
        self.heard.extend(names)

    def close(self) -> None:
        self.hints.stop()


Join = Callable[[], Party]


def until(condition: Callable[[], object], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def until_heard(speaker: Party, listener: Party) -> None:
    """Both are connected: what one says the other hears."""
    before = len(listener.heard)

    def is_heard() -> bool:
        speaker.hints.tell(ROOM)
        time.sleep(0.02)
        return len(listener.heard) > before

    until(is_heard)
    time.sleep(0.1)
    listener.heard.clear()


@pytest.fixture
def join(valkey: Valkey) -> Iterator[Join]:
    with ExitStack() as stack:

        def party() -> Party:
            one = Party(valkey.url)
            stack.callback(one.close)
            return one

        yield party


@pytest.fixture
def pair(join: Join) -> tuple[Party, Party]:
    speaker, listener = join(), join()
    until_heard(speaker, listener)
    return speaker, listener


class TestTelling:
    def test_reaches_the_others_within_a_few_hundredths(self, pair: tuple[Party, Party]) -> None:
        speaker, listener = pair
        took = []
        for number in range(10):
            began = time.monotonic()
            speaker.hints.tell(("elections", f"room-{number}"))
            until(lambda: listener.heard)
            took.append(time.monotonic() - began)
            assert listener.heard == [("elections", f"room-{number}")]
            listener.heard.clear()
        assert min(took) < 0.1

    def test_is_not_heard_by_the_teller(self, pair: tuple[Party, Party]) -> None:
        speaker, listener = pair
        speaker.heard.clear()
        speaker.hints.tell(ROOM)
        until(lambda: listener.heard)
        assert speaker.heard == []

    def test_goes_in_batches_that_name_each_name_once(self, pair: tuple[Party, Party], valkey: Valkey) -> None:
        speaker, listener = pair
        with valkey.client() as client:
            published = client.info("commandstats")["cmdstat_publish"]["calls"]
            for _ in range(50):
                for number in range(20):
                    speaker.hints.tell(("elections", f"room-{number}"))
            until(lambda: len(set(listener.heard)) == 20)
            batches = client.info("commandstats")["cmdstat_publish"]["calls"] - published
        assert batches < 20
        assert len(listener.heard) <= 20 * batches

    def test_from_many_threads_loses_nothing(self, pair: tuple[Party, Party]) -> None:
        speaker, listener = pair
        names = [[("elections", f"room-{thread}-{number}") for number in range(500)] for thread in range(8)]

        def tell(some: list[Name]) -> None:
            for name in some:
                speaker.hints.tell(name)

        threads = [threading.Thread(target=tell, args=(some,)) for some in names]
        for thread in threads:
            thread.start()
        until(lambda: len(set(listener.heard)) == 4000)


class TestRedisAway:
    def test_never_keeps_the_teller_waiting(self, pair: tuple[Party, Party], valkey: Valkey) -> None:
        speaker, _ = pair
        valkey.pause()
        began = time.monotonic()
        for _ in range(1000):
            speaker.hints.tell(ROOM)
        assert time.monotonic() - began < 0.5
        valkey.resume()

    def test_back_again_is_used_again(self, pair: tuple[Party, Party], valkey: Valkey) -> None:
        speaker, listener = pair
        valkey.stop()
        time.sleep(0.2)
        valkey.start()
        until_heard(speaker, listener)

    def test_nothing_piles_up_meanwhile(self, pair: tuple[Party, Party], valkey: Valkey) -> None:
        speaker, listener = pair
        valkey.stop()
        speaker.hints.tell(ROOM)
        until(lambda: not speaker.hints._is_publishing)
        for number in range(1000):
            speaker.hints.tell(("elections", f"room-{number}"))
        valkey.start()
        until_heard(speaker, listener)
        assert speaker.hints._changed.qsize() < 10

    def test_flushed_is_no_matter(self, pair: tuple[Party, Party], valkey: Valkey) -> None:
        speaker, listener = pair
        with valkey.client() as client:
            client.flushall()
        speaker.hints.tell(ROOM)
        until(lambda: listener.heard == [ROOM])

    def test_none_at_all_is_a_process_alone(self) -> None:
        alone = Party("")
        alone.hints.tell(ROOM)
        alone.close()


class TestChannel:
    @pytest.mark.parametrize("noise", ["", "{}", "[]", '["x"]', '["x", [["only-one"]]]', "\x00", '["x", 1]'])
    def test_noise_on_it_deafens_nobody(self, pair: tuple[Party, Party], valkey: Valkey, noise: str) -> None:
        speaker, listener = pair
        with valkey.client() as client:
            client.publish(CHANNEL, noise)
        until_heard(speaker, listener)


def test_stop_ends_the_threads(join: Join) -> None:
    def running() -> int:
        return sum(thread.name in {"_publish", "_subscribe"} for thread in threading.enumerate())

    others = running()
    one = join()
    until(lambda: running() == others + 2)
    one.close()
    until(lambda: running() <= others)
