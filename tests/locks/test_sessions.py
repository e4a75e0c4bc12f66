"""Sessions: one worker each, alive as long as it says so."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

import pytest
from pytest_django.fixtures import Settings

from octostore.leases import reaper
from octostore.leases.models import LeaseGroup
from octostore.teams.models import Team
from tests.elections.rooms import instant, told
from tests.locks.cast import UNKNOWN_LEASE, Worker, age_session, expire_session, kinds, row, stored
from tests.locks.ladder import NO_LENGTHS, Ladder, misfits
from tests.players import now_ms


class TestBeginning:
    def test_is_answered_with_the_id_and_its_times(self, worker: Worker) -> None:
        before = now_ms()
        answer = worker.post("/sessions", json={"ttl_seconds": 30})
        assert answer.status_code == 201
        began = answer.json()
        assert began.keys() == {"session_id", "expires_at", "keepalive_interval_secs"}
        assert str(UUID(began["session_id"])) == began["session_id"]
        assert before + 30_000 <= instant(began["expires_at"]) <= now_ms() + 30_000
        assert began["keepalive_interval_secs"] == 15

    @pytest.mark.parametrize(
        ("asked", "interval"),
        [
            ({}, 30),
            ({"ttl_seconds": None}, 30),
            ({"ttl_seconds": 9}, 5),
            ({"ttl_seconds": 0}, 5),
            ({"ttl_seconds": -(2**63)}, 5),
            ({"ttl_seconds": 11}, 5),
            ({"ttl_seconds": 300}, 150),
            ({"ttl_seconds": 301}, 150),
            ({"ttl_seconds": 2**63 - 1}, 150),
        ],
    )
    def test_its_ttl_is_clamped(self, worker: Worker, asked: dict[str, Any], interval: int) -> None:
        assert worker.post("/sessions", json=asked).json()["keepalive_interval_secs"] == interval

    def test_needs_no_body(self, worker: Worker) -> None:
        assert worker.post("/sessions").status_code == 201

    def test_each_is_another(self, worker: Worker) -> None:
        assert worker.begin() != worker.begin()

    def test_a_team_has_so_many_at_once(self, worker: Worker, outsider: Worker, settings: Settings) -> None:
        settings.TEAM_SESSIONS_MAX = 2
        first = worker.begin()
        expire_session(worker.begin())
        worker.begin()
        answer = worker.post("/sessions", json={})
        assert told(answer) == (429, "rate_limited")
        assert int(answer.headers["Retry-After"]) > 0
        outsider.begin()
        worker.delete(f"/sessions/{first}")
        worker.begin()


class TestKeepingAlive:
    def test_moves_the_end_by_the_sessions_own_ttl(self, worker: Worker) -> None:
        session = worker.begin(ttl_seconds=30)
        age_session(session, 20)
        before = now_ms()
        answer = worker.keep(session)
        assert answer.status_code == 200
        kept = answer.json()
        assert kept.keys() == {"session_id", "expires_at"}
        assert kept["session_id"] == session
        assert before + 30_000 <= instant(kept["expires_at"]) <= now_ms() + 30_000

    def test_every_key_of_the_team_may(self, worker: Worker, mate: Worker) -> None:
        assert mate.keep(worker.begin()).status_code == 200

    def test_no_ephemeral_lock_grows_beyond_its_own_expiry(self, worker: Worker, lock: str) -> None:
        session = worker.begin(ttl_seconds=30)
        won = worker.hold(lock, session_id=session, ephemeral=True, ttl_seconds=20)
        worker.keep(session)
        assert worker.lock(lock)["expires_at"] == won["expires_at"]

    def test_an_expired_one_stays_dead(self, worker: Worker) -> None:
        session = worker.begin()
        expire_session(session)
        for _ in range(2):
            assert told(worker.keep(session)) == (410, "session_expired")
        assert LeaseGroup.objects.get(key=session).ending == "expired"

    def test_a_deleted_one_stays_dead(self, worker: Worker) -> None:
        session = worker.begin()
        worker.delete(f"/sessions/{session}")
        assert told(worker.keep(session)) == (410, "session_expired")

    def test_what_ended_with_it_does_not_come_back(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        won = worker.hold(lock, session_id=session, ephemeral=True, ttl_seconds=600)
        expire_session(session)
        worker.keep(session)
        assert worker.lock(lock)["status"] == "free"
        assert told(worker.renew_lock(lock, won["lease_id"])) == (404, "lease_not_current")


class TestLooking:
    def test_at_a_living_one(self, worker: Worker, team: Team, lock: str) -> None:
        began = worker.post("/sessions", json={}).json()
        session = began["session_id"]
        worker.hold(lock, session_id=session)
        worker.hold(lock + "-2", session_id=session, ephemeral=True)
        worker.release(lock + "-3", worker.hold(lock + "-3", session_id=session)["lease_id"])
        assert worker.session(session) == {
            "session_id": session,
            "user_id": str(team.uuid),
            "expires_at": began["expires_at"],
            "lock_count": 2,
            "active": True,
        }

    def test_at_one_that_expired(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        worker.hold(lock, session_id=session, ephemeral=True)
        worker.hold(lock + "-2", session_id=session, ttl_seconds=600)
        expire_session(session)
        deadline = LeaseGroup.objects.get(key=session).expires_at
        seen = worker.session(session)
        assert (seen["active"], seen["lock_count"], instant(seen["expires_at"])) == (False, 1, deadline)

    def test_at_one_that_was_deleted(self, worker: Worker) -> None:
        session = worker.begin(ttl_seconds=300)
        worker.delete(f"/sessions/{session}")
        seen = worker.session(session)
        assert seen["active"] is False
        assert instant(seen["expires_at"]) <= now_ms()


class TestEnding:
    def test_frees_its_ephemeral_locks_and_no_others(self, worker: Worker, mate: Worker, lock: str) -> None:
        session = worker.begin()
        worker.hold(lock, session_id=session, ephemeral=True)
        worker.hold(lock + "-2", session_id=session)
        answer = worker.delete(f"/sessions/{session}")
        assert (answer.status_code, answer.content) == (204, b"")
        assert "Content-Type" not in answer.headers
        mate.hold(lock)
        assert mate.acquire(lock + "-2").json()["status"] == "held"
        assert kinds(lock) == ["acquired", "released", "acquired"]

    def test_again_is_told_that_it_is_over(self, worker: Worker) -> None:
        session = worker.begin()
        worker.delete(f"/sessions/{session}")
        assert told(worker.delete(f"/sessions/{session}")) == (410, "session_expired")

    def test_an_expired_one_is_over_already(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        worker.hold(lock, session_id=session, ephemeral=True, lock_delay_seconds=10)
        expire_session(session)
        assert told(worker.delete(f"/sessions/{session}")) == (410, "session_expired")
        assert told(worker.acquire(lock)) == (409, "lock_delayed")


class TestUnknownOnes:
    @pytest.mark.parametrize("verb", ["keep", "look", "end"])
    def test_anothers_is_answered_as_an_absent_one(self, worker: Worker, outsider: Worker, verb: str) -> None:
        theirs, dead = outsider.begin(), outsider.begin()
        expire_session(dead)
        before = stored()
        bodies = []
        for session in (UNKNOWN_LEASE, theirs, dead, "x", "a" * 36, UNKNOWN_LEASE + "0", "%00", "é"):
            match verb:
                case "keep":
                    answer = worker.keep(session)
                case "look":
                    answer = worker.get(f"/sessions/{session}")
                case _:
                    answer = worker.delete(f"/sessions/{session}")
            assert told(answer) == (404, "not_found"), session
            bodies.append({name: value for name, value in answer.json().items() if name != "request_id"})
        assert all(body == bodies[0] for body in bodies)
        assert stored() == before

    def test_one_is_forgotten_a_day_after_its_end(self, worker: Worker) -> None:
        from locks import services

        session, living = worker.begin(), worker.begin()
        expire_session(session)
        reaper.sweep()
        services.forget_idle()
        assert worker.session(session)["active"] is False
        LeaseGroup.objects.filter(key=session).update(ended_at=now_ms() - 24 * 3600 * 1000 - 1)
        services.forget_idle()
        assert told(worker.keep(session)) == (404, "not_found")
        assert worker.keep(living).status_code == 200


class TestListing:
    def test_tells_of_the_living_ones_in_their_order(self, worker: Worker, outsider: Worker, lock: str) -> None:
        outsider.begin()
        sessions = [worker.begin() for _ in range(5)]
        worker.hold(lock, session_id=sessions[4])
        expire_session(sessions[1])
        worker.delete(f"/sessions/{sessions[2]}")
        page = worker.get("/sessions").json()
        assert page.keys() == {"sessions", "next_cursor"}
        assert page["next_cursor"] is None
        assert page["sessions"] == [worker.session(sessions[n]) for n in (0, 3, 4)]
        assert [one["lock_count"] for one in page["sessions"]] == [0, 0, 1]

    def test_page_by_page(self, worker: Worker) -> None:
        sessions = [worker.begin() for _ in range(5)]
        seen, asked = [], {"limit": "2"}
        while True:
            page = worker.get("/sessions", params=asked).json()
            seen += [one["session_id"] for one in page["sessions"]]
            if page["next_cursor"] is None:
                break
            asked["cursor"] = page["next_cursor"]
        assert seen == sessions

    def test_a_cursor_of_another_team_or_list_is_refused(self, worker: Worker, outsider: Worker) -> None:
        for lock in "ab":
            worker.hold(lock)
            worker.begin()
        ours = worker.get("/sessions", params={"limit": 1}).json()["next_cursor"]
        locks = worker.get("/locks", params={"limit": 1}).json()["next_cursor"]
        for client, cursor in ((outsider, ours), (worker, locks), (worker, ours[:-1]), (worker, "0")):
            answer = client.get("/sessions", params={"cursor": cursor})
            assert told(answer) == (400, "invalid_input")
            assert "cursor" in answer.json()["details"]

    @pytest.mark.parametrize("bad", ["0", "201", "abc", ""])
    def test_a_bad_limit_is_named(self, worker: Worker, bad: str) -> None:
        answer = worker.get("/sessions", params={"limit": bad})
        assert told(answer) == (400, "invalid_input")
        assert "limit" in answer.json()["details"]


def test_a_session_keeps_its_locks_through_its_last_moment(worker: Worker, lock: str) -> None:
    session = worker.begin(ttl_seconds=10)
    worker.hold(lock, session_id=session, ephemeral=True, ttl_seconds=600)
    age_session(session, 9.5)
    assert worker.keep(session).status_code == 200
    assert row(lock).expires_at > now_ms() + 9_000


class TestBeginLadder(Ladder):
    path = "/sessions"
    body: ClassVar[Any] = {"ttl_seconds": 30}

    def test_a_bad_ttl_is_named(self, worker: Worker) -> None:
        self.refuses(worker, "", misfits(NO_LENGTHS), "ttl_seconds")
        assert stored() == []


class TestKeepLadder(Ladder):
    path = "/sessions/{session}/keepalive"
    body: ClassVar[Any] = {}


class TestLookLadder(Ladder):
    method = "GET"
    path = "/sessions/{session}"


class TestEndLadder(Ladder):
    method = "DELETE"
    path = "/sessions/{session}"


class TestListLadder(Ladder):
    method = "GET"
    path = "/sessions"
