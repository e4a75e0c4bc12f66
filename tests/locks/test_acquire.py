"""POST /locks/{name}/acquire: held, or not yet."""

from __future__ import annotations

import time
from typing import Any, ClassVar
from uuid import UUID

import pytest

from octostore.leases.models import Lease, LeaseEvent
from tests.elections.bad_input import NO_TTLS
from tests.elections.rooms import instant, told
from tests.locks.cast import Worker, age, age_session, expire, kinds, row, stored
from tests.locks.ladder import NO_LEASES, NO_LENGTHS, NO_TEXTS, Ladder, broken, misfits
from tests.players import now_ms


class TestWinning:
    def test_is_answered_with_lease_fencing_token_and_times(self, worker: Worker, lock: str) -> None:
        before = now_ms()
        answer = worker.acquire(lock, ttl_seconds=20, metadata="attempt 2", holder="worker-7")
        assert answer.status_code == 200
        won = answer.json()
        assert won.keys() == {
            "status",
            "lease_id",
            "fencing_token",
            "expires_at",
            "renew_after_ms",
            "safe_for_ms",
            "metadata",
        }
        assert (won["status"], won["metadata"]) == ("acquired", "attempt 2")
        assert str(UUID(won["lease_id"])) == won["lease_id"]
        assert 0 < won["fencing_token"] < 2**53
        assert before + 20_000 <= instant(won["expires_at"]) <= now_ms() + 20_000
        assert won["renew_after_ms"] == 10_000
        assert 19_900 <= won["safe_for_ms"] < 20_000
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Idempotent-Replayed" not in answer.headers

    def test_metadata_is_null_where_none_was_given(self, worker: Worker, lock: str) -> None:
        assert worker.hold(lock)["metadata"] is None

    def test_lasts_a_minute_when_nothing_is_said(self, worker: Worker, lock: str) -> None:
        assert worker.hold(lock)["renew_after_ms"] == 30_000

    @pytest.mark.parametrize("seconds", [1, 3600])
    def test_lasts_as_long_as_asked(self, worker: Worker, lock: str, seconds: int) -> None:
        assert worker.hold(lock, ttl_seconds=seconds)["renew_after_ms"] == seconds * 500

    def test_safe_for_ends_before_anybody_else_can_hold(self, worker: Worker, lock: str) -> None:
        for _ in range(10):
            sent = time.time_ns()
            won = worker.hold(lock)
            assert sent + won["safe_for_ms"] * 10**6 < instant(won["expires_at"]) * 10**6
            worker.release(lock, won["lease_id"])

    @pytest.mark.parametrize("metadata", ["", "a" * 1024, "\U0001f600" * 1024, "e\u0301\u202e\r\n\x7f", '{"a": 1}'])
    def test_keeps_metadata_as_it_is(self, worker: Worker, lock: str, metadata: str) -> None:
        assert worker.hold(lock, metadata=metadata)["metadata"] == metadata
        assert worker.lock(lock)["metadata"] == metadata

    def test_takes_null_as_omitted_and_ignores_what_it_does_not_know(self, worker: Worker, lock: str) -> None:
        nothing = dict.fromkeys(
            [
                "ttl_seconds",
                "metadata",
                "holder",
                "session_id",
                "ephemeral",
                "lock_delay_seconds",
                "acl",
                "wait_seconds",
            ]
        )
        won = worker.hold(lock, **nothing, lease_id="x", nested={"a": [1, 2.5, None]})
        assert (won["renew_after_ms"], won["metadata"]) == (30_000, None)

    def test_needs_no_body(self, worker: Worker, lock: str) -> None:
        assert worker.post(f"/locks/{lock}/acquire").json()["status"] == "acquired"

    def test_is_recorded_with_the_key_it_was_won_by(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock)
        [event] = LeaseEvent.objects.all()
        assert (event.kind, event.n, event.term, event.charged_to) == (
            "acquired",
            1,
            won["fencing_token"],
            worker.visible,
        )

    def test_keeps_no_lease_id(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock)
        assert won["lease_id"] not in repr(stored())


class TestAfterATerm:
    def test_an_expired_lock_is_had_at_once_whatever_the_sweeper_does(self, worker: Worker, lock: str) -> None:
        first = worker.hold(lock)
        expire(lock)
        second = worker.hold(lock)
        assert second["fencing_token"] > first["fencing_token"]
        assert second["lease_id"] != first["lease_id"]
        assert kinds(lock) == ["acquired", "expired", "acquired"]

    def test_fencing_tokens_only_rise(self, worker: Worker, lock: str) -> None:
        terms = []
        for _ in range(5):
            won = worker.hold(lock)
            terms.append(won["fencing_token"])
            worker.release(lock, won["lease_id"])
        assert terms == sorted(set(terms))


class TestLosing:
    def test_is_answered_with_who_holds_and_when_to_come_back(self, worker: Worker, mate: Worker, lock: str) -> None:
        won = worker.hold(lock, ttl_seconds=20, metadata="attempt 2", holder="worker-7")
        answer = mate.acquire(lock)
        assert answer.status_code == 200
        lost = answer.json()
        assert lost.keys() == {"status", "holder_id", "holder", "expires_at", "retry_after_ms", "metadata"}
        assert (lost["status"], lost["holder"], lost["metadata"]) == ("held", "worker-7", "attempt 2")
        assert lost["expires_at"] == won["expires_at"]
        assert row(lock).expires_at - now_ms() <= lost["retry_after_ms"] < 24_000
        assert won["lease_id"] not in answer.text

    def test_the_holder_is_told_by_a_pseudonym_of_its_grant(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock)
        first = worker.acquire(lock).json()
        assert first["holder"] is None
        assert first["metadata"] is None
        assert str(UUID(first["holder_id"])) == first["holder_id"]
        assert first["holder_id"] == worker.acquire(lock).json()["holder_id"] == worker.lock(lock)["holder_id"]
        assert first["holder_id"] != won["lease_id"]
        worker.release(lock, won["lease_id"])
        worker.hold(lock)
        assert worker.acquire(lock).json()["holder_id"] != first["holder_id"]

    def test_a_pseudonym_is_no_capability(self, worker: Worker, lock: str) -> None:
        worker.hold(lock)
        holder_id = worker.lock(lock)["holder_id"]
        assert told(worker.renew_lock(lock, holder_id)) == (404, "lease_not_current")
        assert told(worker.acquire(lock, session_id=holder_id)) == (404, "not_found")

    def test_writes_nothing(self, worker: Worker, lock: str) -> None:
        worker.hold(lock)
        before = stored()
        worker.acquire(lock, ttl_seconds=300, metadata="m", holder="w", lock_delay_seconds=5)
        assert stored() == before

    @pytest.mark.parametrize("holder", [None, "worker-7"])
    def test_two_workers_on_one_key_exclude_each_other(self, worker: Worker, lock: str, holder: str | None) -> None:
        worker.hold(lock, holder=holder)
        assert worker.acquire(lock, holder=holder).json()["status"] == "held"

    def test_nobody_is_sent_away_for_over_a_minute_and_all_come_back_spread(self, worker: Worker, lock: str) -> None:
        worker.hold(lock, ttl_seconds=3600)
        waits = {worker.acquire(lock).json()["retry_after_ms"] for _ in range(5)}
        assert len(waits) > 1
        assert all(55_000 <= wait <= 60_000 for wait in waits)


class TestOtherTeams:
    def test_names_are_per_team(self, worker: Worker, outsider: Worker, lock: str) -> None:
        ours, theirs = worker.hold(lock), outsider.hold(lock)
        assert ours["lease_id"] != theirs["lease_id"]
        assert Lease.objects.filter(name=lock, ended_at=None).count() == 2
        assert worker.lock(lock)["fencing_token"] == ours["fencing_token"]


def behind(worker: Worker, seconds: float) -> Worker:
    """The same worker, whose requests came `seconds` ago."""
    environ: dict[str, Any] = {"octostore.received_at": time.monotonic() - seconds}
    return Worker(worker.key, **environ)


class TestTooLate:
    """A win of which less than half would be left when its answer comes."""

    def test_is_given_back(self, worker: Worker, lock: str) -> None:
        with behind(worker, 30.1) as late:
            answer = late.acquire(lock, ttl_seconds=60)
        assert told(answer) == (503, "unavailable")
        assert "lease_id" not in answer.text
        assert worker.lock(lock)["status"] == "free"
        assert kinds(lock) == ["acquired", "released"]

    def test_half_of_the_ttl_is_enough(self, worker: Worker, lock: str) -> None:
        with behind(worker, 29) as slow:
            assert slow.hold(lock, ttl_seconds=60)["renew_after_ms"] == 30_000

    def test_a_loser_loses_as_ever(self, worker: Worker, lock: str) -> None:
        worker.hold(lock)
        with behind(worker, 100) as late:
            assert late.acquire(lock).json()["status"] == "held"

    def test_a_replay_takes_nothing_back(self, worker: Worker, lock: str, attempt: str) -> None:
        won = worker.hold(lock, attempt=attempt)
        age(lock, 40)
        with behind(worker, 40) as late:
            assert late.hold(lock, attempt=attempt)["lease_id"] == won["lease_id"]

    def test_a_session_finds_it_again(self, worker: Worker, lock: str) -> None:
        """Giving it back could take it from another request of the same worker, which was told that it holds."""
        session = worker.begin()
        with behind(worker, 31) as late:
            assert told(late.acquire(lock, session_id=session, ephemeral=True)) == (503, "unavailable")
        assert worker.lock(lock)["status"] == "held"
        assert kinds(lock) == ["acquired"]
        assert worker.hold(lock, session_id=session, ephemeral=True)["fencing_token"] == row(lock).term

    def test_what_is_left_of_a_session_counts(self, worker: Worker, lock: str) -> None:
        """A bound lease is as short as the rest of its session, which is no lateness of the answer."""
        session = worker.begin(ttl_seconds=10)
        age_session(session, 8)
        won = worker.hold(lock, session_id=session, ephemeral=True, ttl_seconds=60)
        assert won["safe_for_ms"] <= 2_000


class TestLadder(Ladder):
    path = "/locks/{lock}/acquire"
    body: ClassVar[Any] = {"ttl_seconds": 60}

    def test_bad_fields_are_named(self, worker: Worker, lock: str) -> None:
        ttls = {label: fault for label, fault in NO_TTLS.items() if label not in {"4", "301"}}
        self.refuses(worker, lock, ttls | broken({"3601": "3601"}, "invalid_ttl"), "ttl_seconds")
        long = {"1025 characters": '"' + "a" * 1025 + '"'}
        self.refuses(worker, lock, misfits(NO_TEXTS) | broken(long), "metadata")
        labels = {"empty": '""', "65": '"' + "a" * 65 + '"', "space": '"a b"', "accent": '"\u00e9"', "slash": '"a/b"'}
        self.refuses(worker, lock, misfits(NO_TEXTS) | broken(labels), "holder")
        self.refuses(worker, lock, misfits(NO_TEXTS) | broken(NO_LEASES), "session_id")
        self.refuses(worker, lock, misfits({"number": "1", "text": '"true"', "list": "[]"}), "ephemeral")
        self.refuses(worker, lock, broken({"without a session": "true"}), "ephemeral")
        out_of_range = {"-1": "-1", "2^63": str(2**63)}
        self.refuses(worker, lock, misfits(NO_LENGTHS) | broken(out_of_range | {"31": "31"}), "lock_delay_seconds")
        self.refuses(worker, lock, misfits(NO_LENGTHS) | broken(out_of_range | {"61": "61"}), "wait_seconds")
        assert not Lease.objects.exists()

    def test_a_bad_idempotency_key_is_named(self, worker: Worker, lock: str) -> None:
        for bad in ("short", "a" * 256, "a b" * 10, "\u00e9" * 20):
            with Worker(worker.key, HTTP_IDEMPOTENCY_KEY=bad) as one:
                answer = self.ask(one, lock)
            assert told(answer) == (400, "invalid_input"), bad
            assert "Idempotency-Key" in answer.json()["details"]

    def test_names_the_range(self, worker: Worker, lock: str) -> None:
        answer = worker.acquire(lock, ttl_seconds=0)
        assert answer.json()["details"] == "ttl_seconds must be from 1 to 3600"

    def test_never_echoes_what_was_sent(self, worker: Worker) -> None:
        for body in ({"ttl_seconds": 0}, {"metadata": "secret" * 1000}, {"session_id": "secret"}):
            answer = worker.acquire("canary-lock", **body)
            assert "canary" not in answer.text
            assert "secret" not in answer.text
