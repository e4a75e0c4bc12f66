"""Whatever is cut, stopped or late: who resumes hears of every committed change of its room, in order and once (I8)."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import pairwise

import pytest
from django.db import connection, connections, transaction

from octostore.leases.models import Lease, LeaseEvent
from octostore.leases.postgresql import transitions
from tests.http import Client
from tests.players import SPACE
from tests.processes import Web
from tests.valkey import Valkey
from tests.watch.conftest import CROWD, SHORT
from tests.watch.frames import Frame
from tests.watch.watcher import Watcher

ROOMS = 20
CHANGERS = 4
CHANGES_A_SECOND = 50
CATCHING_UP_SECONDS = 20


@pytest.mark.parametrize("seconds", [30, pytest.param(600, marks=pytest.mark.soak)])
def test_counts_are_dense_and_equal_to_what_was_committed(
    start_web: Callable[..., Web], valkey: Valkey, room: str, seconds: int
) -> None:
    webs = [start_web(REDIS_URL=valkey.url, **CROWD, **SHORT) for _ in range(2)]
    rooms = [f"{room}-{number}" for number in range(ROOMS)]
    churning = Churning(webs, rooms)
    with ThreadPoolExecutor(2 * ROOMS + CHANGERS + 1) as pool:
        followed = {one: pool.submit(churning.follow, one) for one in rooms}
        forgetful = [pool.submit(churning.look, one) for one in rooms[:5]]
        with churning.until_quiet():
            with churning.until_over():
                changing = [pool.submit(churning.change, rooms[number::CHANGERS]) for number in range(CHANGERS)]
                late = pool.submit(churning.commit_late)
                trouble(valkey, seconds)
            for task in [*changing, late]:
                task.result()
        for task in forgetful:
            task.result()
        heard = {one: [told(frame) for frame in following.result()] for one, following in followed.items()}
    assert heard == {one: committed(one) for one in rooms}
    changes = sum(map(len, heard.values()))
    assert changes > CHANGES_A_SECOND * seconds / 2, "too few changes to show anything"


def trouble(valkey: Valkey, seconds: float) -> None:
    """What befalls Redis meanwhile."""
    for befalls in (valkey.client().flushall, valkey.pause, valkey.resume, valkey.stop, valkey.start):
        time.sleep(seconds / 6)
        befalls()
    time.sleep(seconds / 6)


def told(frame: Frame) -> tuple[int, int, int | None]:
    """Incarnation, count, and the term that leads after the change."""
    return frame.incarnation, frame.n, frame.data["leader"]["term"] if frame.data["leader"] else None


def committed(room: str) -> list[tuple[int, int, int | None]]:
    events = LeaseEvent.objects.filter(lease__space=SPACE, lease__name=room).order_by("incarnation", "n")
    return [(one.incarnation, one.n, one.term if one.kind == "acquired" else None) for one in events]


class Churning:
    """Rooms that change hands all the time, and who follows them; each method runs on a thread of its own."""

    def __init__(self, webs: list[Web], rooms: list[str]) -> None:
        self._webs, self._rooms = webs, rooms
        self._over, self._quiet = threading.Event(), threading.Event()
        self._caught_up_by = float("inf")

    @contextmanager
    def until_over(self) -> Iterator[None]:
        """Rooms change for so long."""
        try:
            yield
        finally:
            self._over.set()

    @contextmanager
    def until_quiet(self) -> Iterator[None]:
        """Until nothing more will happen but that the short leases end."""
        try:
            yield
        finally:
            self._caught_up_by = time.monotonic() + CATCHING_UP_SECONDS
            self._quiet.set()

    def change(self, rooms: list[str]) -> None:
        """Win, then resign or let it expire, at an even pace; leave no room that is led for long."""
        tokens: dict[str, str] = {}
        with ExitStack() as stack:
            clients = [stack.enter_context(web.client()) for web in self._webs]
            due = time.monotonic()
            while not self._over.is_set():
                room, client = random.choice(rooms), random.choice(clients)
                self._change(client, room, tokens)
                due += CHANGERS / CHANGES_A_SECOND
                self._over.wait(max(due - time.monotonic(), 0))
            for room, leader_token in tokens.items():
                clients[0].resign(room, leader_token)

    def _change(self, client: Client, room: str, tokens: dict[str, str]) -> None:
        if leader_token := tokens.pop(room, None):
            client.resign(room, leader_token)
            return
        expires = random.random() < 0.1
        answer = client.campaign(room, "atlas", ttl_seconds=1 if expires else 60).json()
        if answer.get("status") == "leader" and not expires:
            tokens[room] = answer["leader_token"]

    def commit_late(self) -> None:
        """Take the next count of a room, and commit it when the others have gone far ahead."""
        while not self._over.wait(0.5):
            # SQLite knows no other order than that of the commits.
            if connection.vendor == "postgresql":
                lease = Lease.objects.filter(space=SPACE, name__in=self._rooms, ended_at=None).order_by("?").first()
                if lease:
                    with transaction.atomic():
                        transitions.revoke(SPACE, lease.name, lease.term, 0, "late", "test")
                        self._over.wait(random.uniform(0.1, 1.5))
        connections.close_all()

    def follow(self, room: str) -> list[Frame]:
        """What a reader hears that is cut again and again, and resumes."""
        heard: list[Frame] = []
        last = "0-0"
        while True:
            for frame in self._until_cut(room, last):
                assert frame.event == "state", frame
                if frame.id:
                    heard.append(frame)
                    last = frame.id
            # Who hears it lead will hear it end, and whoever else follows the room may see to that.
            is_vacant = not heard or heard[-1].data["leader"] is None
            if self._quiet.is_set() and is_vacant and [told(frame) for frame in heard[-1:]] == committed(room)[-1:]:
                break
            assert time.monotonic() < self._caught_up_by, f"{room} heard {heard[-1:]}, not {committed(room)[-1:]}"
        connections.close_all()
        return heard

    def look(self, room: str) -> None:
        """A reader that never says what it has heard gets the present state, and from there on every change."""
        while not self._over.is_set():
            ids = [frame.n for frame in self._until_cut(room, None) if frame.id]
            assert all(after == before + 1 for before, after in pairwise(ids)), ids

    def _until_cut(self, room: str, last: str | None) -> Iterator[Frame]:
        cut_at = time.monotonic() + random.uniform(0.2, 3)
        with Watcher(random.choice(self._webs).port, f"/elections/{room}/watch", last_event_id=last) as watcher:
            while True:
                try:
                    yield watcher.next(cut_at - time.monotonic())
                except TimeoutError:
                    return
