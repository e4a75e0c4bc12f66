"""GET /locks/{name}/watch: the present state first, then every change as it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, ClassVar

import pytest

from locks import watch
from octostore.leases import reaper
from octostore.teams import keys
from octostore.teams.models import Team
from tests.elections.rooms import instant, told
from tests.locks.cast import Worker, address, expire, issue, row
from tests.locks.ladder import Ladder
from tests.locks.streams import Frame, frames, watching
from tests.processes import Web


@pytest.fixture
def there(team: Team, two_webs: list[Web]) -> Iterator[Worker]:
    """A worker of the team that calls a real web process."""
    with Worker(issue(team, "admin"), base_url=two_webs[0].url) as one:
        yield one


def opening(worker: Worker, lock: str, last_event_id: str | None = None) -> list[Frame]:
    """What a stream begins with."""
    assert worker.key
    ticket = watch.open_stream(principal=keys.find(worker.key), name=lock, last_event_id=last_event_id)
    ticket.give_back()
    return list(frames(iter(ticket.opening.decode().split("\n"))))


class TestOpening:
    def test_of_a_name_nobody_held(self, worker: Worker, lock: str) -> None:
        [frame] = opening(worker, lock)
        assert (frame.kind, frame.id) == (None, "0-0")
        assert frame.data == {"event": "released", "lock_name": lock, "observed_at": frame.data["observed_at"]}

    def test_of_a_held_lock(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock, metadata="m", holder="w", session_id=worker.begin())
        worker.renew_lock(lock, won["lease_id"])
        [frame] = opening(worker, lock)
        assert (frame.kind, frame.id) == (None, f"{won['fencing_token']}-1")
        assert frame.data == {
            "event": "acquired",
            "lock_name": lock,
            "fencing_token": won["fencing_token"],
            "expires_at": worker.lock(lock)["expires_at"],
            "observed_at": frame.data["observed_at"],
        }

    @pytest.mark.parametrize("way", ["released", "expired", "revoked", "delayed"])
    def test_of_a_lock_nobody_holds_any_more(self, worker: Worker, admin: Worker, lock: str, way: str) -> None:
        won = worker.hold(lock, lock_delay_seconds=30)
        match way:
            case "released":
                worker.release(lock, won["lease_id"])
            case "revoked":
                admin.revoke(lock, won["fencing_token"])
            case _:
                expire(lock)
        [frame] = opening(worker, lock)
        assert frame.id == f"{won['fencing_token']}-2"
        assert frame.data == {
            "event": "released",
            "lock_name": lock,
            "fencing_token": won["fencing_token"],
            "observed_at": frame.data["observed_at"],
        }

    def test_another_teams_lock_looks_like_one_nobody_held(self, worker: Worker, outsider: Worker, lock: str) -> None:
        worker.hold(lock)
        [frame] = opening(outsider, lock)
        assert (frame.id, frame.data["event"]) == ("0-0", "released")


class TestResuming:
    def test_brings_what_was_missed_then_the_present_state(self, worker: Worker, admin: Worker, lock: str) -> None:
        first = worker.hold(lock)
        [seen] = opening(worker, lock)
        worker.release(lock, first["lease_id"])
        second = worker.hold(lock)
        admin.revoke(lock, second["fencing_token"], reason="secret reason")
        worker.hold(lock)
        expire(lock)
        deadline = row(lock).expires_at
        third = worker.hold(lock)
        *missed, state = opening(worker, lock, seen.id)
        incarnation = first["fencing_token"]
        assert [frame.id for frame in missed] == [f"{incarnation}-{n}" for n in range(2, 8)]
        told = [frame.data for frame in missed]
        assert [data["event"] for data in told] == [
            "released",
            "acquired",
            "released",
            "acquired",
            "expired",
            "acquired",
        ]
        assert [data.get("reason") for data in told] == [None, None, "revoked", None, None, None]
        assert ["expires_at" in data for data in told] == [False, True, False, True, False, True]
        assert told[2]["fencing_token"] == second["fencing_token"]
        assert instant(told[4]["observed_at"]) == deadline
        assert "secret reason" not in str(told)
        assert (state.kind, state.id, state.data["event"]) == (None, None, "acquired")
        assert state.data["expires_at"] == third["expires_at"]

    def test_without_news_brings_the_present_state(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock)
        [seen] = opening(worker, lock)
        worker.renew_lock(lock, won["lease_id"], ttl_seconds=3600)
        [state] = opening(worker, lock, seen.id)
        assert (state.id, state.data["event"]) == (None, "acquired")
        assert state.data["expires_at"] == worker.lock(lock)["expires_at"]

    def test_from_an_empty_id_brings_the_present_state_with_its_id(self, worker: Worker, lock: str) -> None:
        worker.hold(lock)
        (now,) = opening(worker, lock, "")
        assert (now.kind, now.data["event"]) == (None, "acquired")
        assert now.id

    @pytest.mark.parametrize("since", ["garbage", "-1", "1-1", "9" * 30, "{next}", "0-1", "{before}"])
    def test_from_what_is_no_id_of_this_lock_is_a_reset(self, worker: Worker, lock: str, since: str) -> None:
        won = worker.hold(lock)
        term = won["fencing_token"]
        [frame] = opening(worker, lock, since.format(next=f"{term}-2", before=f"{term - 1}-1"))
        assert (frame.kind, frame.id) == ("reset", f"{term}-1")
        assert frame.data["event"] == "acquired"

    def test_by_another_locks_or_teams_id_is_a_reset(self, worker: Worker, outsider: Worker, lock: str) -> None:
        worker.hold(lock)
        [seen] = opening(worker, lock)
        outsider.hold(lock)
        outsider.hold(lock + "-2")
        for other in (lock, lock + "-2"):
            [frame] = opening(outsider, other, seen.id)
            assert frame.kind == "reset"
            assert frame.data["lock_name"] == other

    def test_from_before_the_first_event_misses_nothing(self, worker: Worker, lock: str) -> None:
        [seen] = opening(worker, lock)
        won = worker.hold(lock)
        *missed, state = opening(worker, lock, seen.id)
        assert [frame.data["event"] for frame in missed] == ["acquired"]
        assert state.data["fencing_token"] == won["fencing_token"]


class TestChanges:
    def test_are_told_as_they_happen(self, there: Worker, lock: str) -> None:
        with watching(there, lock) as told:

            def next_event() -> tuple[str, bool]:
                frame = next(told)
                assert frame.kind is None
                assert frame.data["lock_name"] == lock
                return frame.data["event"], frame.id is not None

            assert next_event() == ("released", True)
            won = there.hold(lock, metadata="canary metadata", holder="w")
            assert next_event() == ("acquired", True)
            there.renew_lock(lock, won["lease_id"])
            assert next_event() == ("renewed", False)
            there.release(lock, won["lease_id"])
            assert next_event() == ("released", True)
            won = there.hold(lock)
            assert next_event() == ("acquired", True)
            there.revoke(lock, won["fencing_token"])
            frame = next(told)
            assert (frame.data["event"], frame.data["reason"]) == ("released", "revoked")
            there.hold(lock, ttl_seconds=1)
            assert next_event() == ("acquired", True)
            frame = next(told)
            assert (frame.data["event"], instant(frame.data["observed_at"])) == ("expired", row(lock).ended_at)
            assert "canary" not in str(frame)

    def test_of_a_session_are_told(self, there: Worker, lock: str) -> None:
        session = there.begin(ttl_seconds=30)
        with watching(there, lock) as told:
            assert next(told).data["event"] == "released"
            there.hold(lock, session_id=session, ephemeral=True, ttl_seconds=600)
            assert next(told).data["event"] == "acquired"
            kept = there.keep(session).json()
            frame = next(told)
            assert (frame.data["event"], frame.id) == ("renewed", None)
            assert frame.data["expires_at"] == kept["expires_at"]
            there.delete(f"/sessions/{session}")
            frame = next(told)
            assert (frame.data["event"], frame.data["reason"]) == ("released", "session_deleted")

    def test_made_by_another_process_are_told(self, there: Worker, two_webs: list[Web], lock: str) -> None:
        with Worker(there.key, base_url=two_webs[1].url) as other, watching(there, lock) as told:
            next(told)
            won = other.hold(lock)
            assert next(told).data["fencing_token"] == won["fencing_token"]

    def test_a_sweep_tells_nothing_twice(self, there: Worker, lock: str) -> None:
        with watching(there, lock) as told:
            next(told)
            there.hold(lock, ttl_seconds=1)
            assert [next(told).data["event"] for _ in range(2)] == ["acquired", "expired"]
            reaper.sweep()
            there.hold(lock)
            assert next(told).data["event"] == "acquired"


def test_a_team_has_so_many_streams_at_once(team: Team, outsider: Worker, start_web: Callable[..., Web]) -> None:
    web = start_web(OCTOSTORE_TEAM_STREAMS_MAX="2")
    with ExitStack() as stack:
        ours = stack.enter_context(Worker(issue(team), base_url=web.url))
        theirs = stack.enter_context(Worker(outsider.key, base_url=web.url))
        # A stream that nobody refers to any more is closed.
        streams = [stack.enter_context(watching(ours, lock)) for lock in "ab"]
        for stream in streams:
            next(stream)
        answer = ours.get(f"{address('c')}/watch")
        assert told(answer) == (429, "rate_limited")
        assert int(answer.headers["Retry-After"]) > 0
        next(stack.enter_context(watching(theirs, "c")))


class TestLadder(Ladder):
    method = "GET"
    path = "/locks/{lock}/watch"
    scope = "read"
    body: ClassVar[Any] = None
