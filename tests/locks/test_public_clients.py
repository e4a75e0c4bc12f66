"""Clients written for the public OctoStore work unchanged: what they send, and what they read of the answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx
import pytest

from octostore.teams.models import Team
from tests.elections.rooms import told
from tests.locks.cast import Worker


class TypeScript:
    """The client of the public SDK: JSON's content type on every request, also on those without a body."""

    def __init__(self, service: Worker) -> None:
        self.service = service
        self.token = service.key

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        answer = self.service.request(
            method,
            path,
            content=b"" if body is None else json.dumps(body, separators=(",", ":")).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"},
        )
        assert answer.is_success, answer.text
        text = answer.text
        if not text:
            return {}
        # It parses what calls itself JSON, and takes the rest as text.
        return json.loads(text) if "application/json" in answer.headers["Content-Type"] else text

    def acquire(self, name: str, ttl: int) -> Any:
        return self.request("POST", f"/locks/{quote(name, safe='')}/acquire", {"ttl_seconds": ttl})

    def renew(self, name: str, lease_id: str, ttl: int) -> Any:
        path = f"/locks/{quote(name, safe='')}/renew"
        return self.request("POST", path, {"lease_id": lease_id, "ttl_seconds": ttl})

    def release(self, name: str, lease_id: str) -> Any:
        return self.request("POST", f"/locks/{quote(name, safe='')}/release", {"lease_id": lease_id})


class TestTypeScriptClient:
    @pytest.fixture
    def sdk(self, worker: Worker) -> TypeScript:
        return TypeScript(worker)

    def test_asks_for_health(self, sdk: TypeScript) -> None:
        assert sdk.request("GET", "/health")["status"] == "ok"

    def test_acquires_renews_and_releases(self, sdk: TypeScript) -> None:
        won = sdk.acquire("deploy.main-1", 60)
        assert won["status"] == "acquired"
        UUID(won["lease_id"])
        assert isinstance(won["fencing_token"], int)
        instant(won["expires_at"])
        lost = sdk.acquire("deploy.main-1", 60)
        assert lost["status"] == "held"
        UUID(lost["holder_id"])
        instant(lost["expires_at"])
        renewed = sdk.renew("deploy.main-1", won["lease_id"], 120)
        assert renewed["lease_id"] == won["lease_id"]
        instant(renewed["expires_at"])
        assert sdk.release("deploy.main-1", won["lease_id"]) is None

    def test_reads_a_locks_status(self, sdk: TypeScript) -> None:
        won = sdk.acquire("deploy-main", 60)
        held = sdk.request("GET", "/locks/deploy-main")
        assert (held["name"], held["status"]) == ("deploy-main", "held")
        assert held["fencing_token"] == won["fencing_token"]
        UUID(held["holder_id"])
        instant(held["expires_at"])
        sdk.release("deploy-main", won["lease_id"])
        free = sdk.request("GET", "/locks/deploy-main")
        assert (free["status"], free["holder_id"], free["expires_at"]) == ("free", None, None)
        assert free["fencing_token"] == won["fencing_token"]

    def test_lists_locks(self, sdk: TypeScript) -> None:
        assert sdk.request("GET", "/locks")["locks"] == []
        won = sdk.acquire("deploy-main", 60)
        [lock] = sdk.request("GET", "/locks")["locks"]
        assert (lock["name"], lock["fencing_token"], lock["expires_at"]) == (
            "deploy-main",
            won["fencing_token"],
            won["expires_at"],
        )

    def test_rotates_its_key_without_a_body(self, sdk: TypeScript, team: Team) -> None:
        old = sdk.token
        info = sdk.request("POST", "/auth/token/rotate")
        assert info.keys() >= {"token", "user_id", "github_username"}
        assert UUID(info["user_id"]) == team.uuid
        with Worker(old) as late:
            assert told(late.get("/locks")) == (401, "authentication_failed")
        sdk.token = info["token"]
        sdk.acquire("deploy-main", 60)


class CommandLine:
    """`octostore lock hold` of the public command line, which reads its answers strictly."""

    TTL_SECONDS = 30

    def __init__(self, service: Worker) -> None:
        self.service = service

    def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        content = None if body is None else json.dumps(body, separators=(",", ":"))
        return self.service.request(method, path, content=content, headers=headers)

    def begin(self) -> UUID:
        answer = self.send("POST", "/sessions", {"ttl_seconds": self.TTL_SECONDS})
        assert answer.status_code == 201
        began = answer.json()
        instant(began["expires_at"])
        assert 1 <= unsigned(began["keepalive_interval_secs"]) <= self.TTL_SECONDS
        return UUID(began["session_id"])

    def acquire(self, lock: str, session: UUID) -> dict[str, Any]:
        """What it reads of a 200 and of a 409, by `status`."""
        body = {"ttl_seconds": 120, "session_id": str(session), "ephemeral": True}
        answer = self.send("POST", f"/locks/{quote(lock, safe='')}/acquire", body)
        assert answer.status_code in {200, 409}
        read: dict[str, Any] = answer.json()
        match read["status"]:
            case "acquired":
                UUID(read["lease_id"])
                unsigned(read["fencing_token"])
                unsigned(read["renew_after_ms"])
                instant(read["expires_at"])
            case "held":
                UUID(read["holder_id"])
                unsigned(read["retry_after_ms"])
                instant(read["expires_at"])
            case "delayed":
                unsigned(read["lock_delay_seconds"])
                unsigned(read["retry_after_ms"])
                instant(read["available_at"])
        return read


class TestCommandLine:
    @pytest.fixture
    def cli(self, worker: Worker) -> CommandLine:
        return CommandLine(worker)

    def test_holds_a_lock_from_session_to_release(self, cli: CommandLine) -> None:
        session = cli.begin()
        won = cli.acquire("repo/issue-1842", session)
        assert won["status"] == "acquired"
        kept = cli.send("POST", f"/sessions/{session}/keepalive")
        assert kept.status_code == 200
        assert UUID(kept.json()["session_id"]) == session
        instant(kept.json()["expires_at"])
        body = {"lease_id": won["lease_id"], "ttl_seconds": 120}
        renewed = cli.send("POST", "/locks/repo%2Fissue-1842/renew", body)
        assert renewed.status_code == 200
        assert UUID(renewed.json()["lease_id"]) == UUID(won["lease_id"])
        unsigned(renewed.json()["renew_after_ms"])
        instant(renewed.json()["expires_at"])
        released = cli.send("POST", "/locks/repo%2Fissue-1842/release", {"lease_id": won["lease_id"]})
        assert (released.status_code, released.content) == (200, b"null")
        assert cli.send("DELETE", f"/sessions/{session}").status_code == 204

    def test_is_told_who_holds_and_that_a_delay_runs(self, cli: CommandLine, mate: Worker) -> None:
        won = mate.hold("deploy", lock_delay_seconds=10)
        session = cli.begin()
        assert cli.acquire("deploy", session)["status"] == "held"
        mate.release("deploy", won["lease_id"], delay=True)
        assert cli.acquire("deploy", session)["status"] == "delayed"

    def test_reads_a_locks_status(self, cli: CommandLine) -> None:
        cli.acquire("deploy", cli.begin())
        seen = cli.send("GET", "/locks/deploy").json()
        UUID(seen["holder_id"])
        unsigned(seen["fencing_token"])
        instant(seen["expires_at"])
        assert (seen["name"], seen["status"], seen["metadata"]) == ("deploy", "held", None)

    def test_takes_these_codes_as_proof_that_it_lost(self, cli: CommandLine, worker: Worker) -> None:
        session = cli.begin()
        won = cli.acquire("deploy", session)
        cli.send("DELETE", f"/sessions/{session}")
        lease = {"lease_id": won["lease_id"], "ttl_seconds": 120}
        assert told(cli.send("POST", "/locks/deploy/renew", lease)) == (404, "lease_not_current")
        assert told(cli.send("POST", f"/sessions/{session}/keepalive")) == (410, "session_expired")


def instant(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    assert moment.utcoffset() == timedelta(0)
    assert moment > datetime(2026, 1, 1, tzinfo=UTC)
    return moment


def unsigned(number: Any) -> int:
    assert type(number) is int
    assert number >= 0
    return number
