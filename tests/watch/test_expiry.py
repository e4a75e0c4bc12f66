"""An expiry is told at the instant it happens, by asking the row; one that did not happen is never told."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from octostore.leases.models import Lease, LeaseEvent
from tests.elections.rooms import instant, win
from tests.http import Client
from tests.leases.outside import outside
from tests.players import SPACE, now_ms
from tests.processes import WallClock, Web
from tests.watch.conftest import SHORT, Watch
from tests.watch.watcher import Watcher


class TestWhenItHappens:
    def test_is_told_at_the_deadline_without_a_sweeper(self, watch: Watch, client: Client, room: str) -> None:
        late = []
        for number in range(5):
            watcher = watch(of=f"{room}-{number}")
            watcher.next()
            deadline = instant(win(client, f"{room}-{number}", ttl_seconds=1)["leader"]["expires_at"])
            watcher.next()
            frame = watcher.next(3)
            late.append(time.time() * 1000 - deadline)
            assert (frame.n, frame.data["status"], frame.leader) == (2, "vacant", None)
            assert instant(frame.data["observed_at"]) == deadline
        assert min(late) >= 0
        assert statistics.median(late) < 250, late

    def test_is_marked_by_being_told(self, watch: Watch, client: Client, room: str) -> None:
        watcher = watch()
        watcher.next()
        win(client, room, ttl_seconds=1)
        watcher.next()
        watcher.next(3)
        assert LeaseEvent.objects.filter(lease__name=room, kind="expired").count() == 1

    def test_shortened_lease_ends_at_its_new_deadline(self, watch: Watch, client: Client, room: str) -> None:
        leader_token = win(client, room, ttl_seconds=60)["leader_token"]
        watcher = watch()
        watcher.next()
        client.renew(room, leader_token, ttl_seconds=1)
        assert watcher.next().leader == "atlas"
        assert watcher.next(2).leader is None

    @pytest.mark.only("sqlite")
    def test_step_of_the_clock_beyond_the_deadline_is_noticed(
        self, start_web: Callable[..., Web], tmp_path: Path, room: str
    ) -> None:
        clock = WallClock(tmp_path / "clock")
        web = start_web(clock=clock)
        with web.client() as client, Watcher(web.port, f"/elections/{room}/watch") as watcher:
            watcher.next()
            win(client, room, ttl_seconds=60)
            watcher.next()
            clock.step_to(3600)
            assert watcher.next(3).leader is None


class TestWhenItDoesNot:
    def test_renewed_lease_passes_its_old_deadline_in_silence(self, watch: Watch, client: Client, room: str) -> None:
        leader_token = win(client, room, ttl_seconds=1)["leader_token"]
        watcher = watch()
        watcher.next()
        client.renew(room, leader_token, ttl_seconds=60)
        assert watcher.next().leader == "atlas"
        assert watcher.is_silent(1.5)

    @pytest.mark.parametrize("patient", [True, False])
    def test_renewal_in_flight_across_the_deadline(
        self, web: Web, start_web: Callable[..., Web], room: str, patient: bool
    ) -> None:
        """It took the row in time and commits late; meanwhile who looks waits for it, or gives up and looks again."""
        if not patient:
            web = start_web(OCTOSTORE_STORAGE_WAIT_SECONDS="1", **SHORT)
        with web.client() as client, Watcher(web.port, f"/elections/{room}/watch") as watcher:
            watcher.next()
            deadline = instant(win(client, room, ttl_seconds=1)["leader"]["expires_at"])
            assert watcher.next().leader == "atlas"
            with renewal_in_flight(room) as until:
                while now_ms() < deadline + 1500:
                    assert watcher.is_silent(0.1)
            renewed = watcher.next()
            assert (renewed.id, instant(renewed.data["leader"]["expires_at"])) == (None, until)
            assert watcher.is_silent(1)
        assert Lease.objects.get(space=SPACE, name=room).events == 1


@contextmanager
def renewal_in_flight(room: str) -> Iterator[int]:
    """A renewal that has the row and commits at the end; the deadline it gives."""
    with outside() as execute:
        execute("BEGIN", ())
        until = now_ms() + 60_000
        change = "UPDATE leases_lease SET expires_at = %s, renewals = renewals + 1 WHERE space = %s AND name = %s"
        execute(change, (until, SPACE, room))
        yield until
        execute("COMMIT", ())
