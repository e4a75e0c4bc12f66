"""Workers of a team, their locks and sessions, what is stored of them, and time that passes without waiting."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
from django.db.models import F
from django.utils import timezone

from octostore.leases.models import Lease, LeaseEvent, LeaseGroup
from octostore.teams import keys
from octostore.teams.audit import Act
from octostore.teams.models import ApiKey, Team
from tests.elections.rooms import service
from tests.http import Client
from tests.players import now_ms

UNKNOWN_LEASE = "00000000-0000-4000-8000-000000000000"
ACT = Act(actor="system")


class Worker(Client):
    """A strict client that carries a key, with the verbs of locks and sessions as methods."""

    def __init__(self, key: str | None, *, base_url: str | None = None, **environ: Any) -> None:
        if base_url:
            super().__init__(base_url)
        else:
            super().__init__(app=service(**environ))
        self.key = key
        if key:
            self.headers["Authorization"] = f"Bearer {key}"

    @property
    def visible(self) -> str:
        assert self.key
        return self.key.split("_")[1]

    def acquire(self, lock: str, *, attempt: str | None = None, **body: Any) -> httpx.Response:
        headers = {"Idempotency-Key": attempt} if attempt else {}
        return self.post(f"{address(lock)}/acquire", json=body, headers=headers)

    def hold(self, lock: str, **asked: Any) -> dict[str, Any]:
        """The answer to an acquire that must win."""
        answer = self.acquire(lock, **asked)
        assert answer.status_code == 200, answer.text
        won: dict[str, Any] = answer.json()
        assert won["status"] == "acquired", won
        return won

    def renew_lock(self, lock: str, lease_id: str, **body: Any) -> httpx.Response:
        return self.post(f"{address(lock)}/renew", json={"lease_id": lease_id, **body})

    def release(self, lock: str, lease_id: str, **body: Any) -> httpx.Response:
        return self.post(f"{address(lock)}/release", json={"lease_id": lease_id, **body})

    def revoke(self, lock: str, fencing_token: int, reason: str = "it hangs", **body: Any) -> httpx.Response:
        return self.post(f"{address(lock)}/revoke", json={"fencing_token": fencing_token, "reason": reason, **body})

    def lock(self, lock: str) -> dict[str, Any]:
        answer = self.get(address(lock))
        assert answer.status_code == 200, answer.text
        seen: dict[str, Any] = answer.json()
        return seen

    def terms(self, lock: str) -> list[dict[str, Any]]:
        answer = self.get(f"{address(lock)}/history")
        assert answer.status_code == 200, answer.text
        terms: list[dict[str, Any]] = answer.json()["terms"]
        return terms

    def begin(self, **body: Any) -> str:
        answer = self.post("/sessions", json=body)
        assert answer.status_code == 201, answer.text
        session_id: str = answer.json()["session_id"]
        return session_id

    def keep(self, session_id: str) -> httpx.Response:
        return self.post(f"/sessions/{session_id}/keepalive")

    def session(self, session_id: str) -> dict[str, Any]:
        answer = self.get(f"/sessions/{session_id}")
        assert answer.status_code == 200, answer.text
        seen: dict[str, Any] = answer.json()
        return seen


def address(lock: str) -> str:
    """A lock's address, with its slashes as %2F."""
    return f"/locks/{quote(lock, safe='')}"


def found_team(slug: str = "") -> Team:
    return Team.objects.create(slug=slug or f"team-{uuid4().hex[:12]}")


def issue(team: Team, *scopes: str, name: str = "ci", **more: Any) -> str:
    """The text of a new key, used a moment ago, so that nothing is written of its use behind a test's back."""
    issued = keys.create(team=team, name=name, scopes=scopes or ["locks"], act=ACT, **more)
    ApiKey.objects.filter(pk=issued.key.pk).update(last_used_at=timezone.now())
    return issued.text


def space_of(team: Team) -> str:
    return f"locks/{team.uuid}"


def row(lock: str) -> Lease:
    return Lease.objects.get(space__startswith="locks/", name=lock)


def kinds(lock: str) -> list[str]:
    """The lock's recorded events in their order."""
    events = LeaseEvent.objects.filter(lease__space__startswith="locks/", lease__name=lock)
    return [event.kind for event in events.order_by("incarnation", "n")]


def stored() -> list[dict[str, Any]]:
    """Every row of every lease, event and session."""
    return [dict(one) for model in (Lease, LeaseEvent, LeaseGroup) for one in model.objects.order_by("pk").values()]


def age(lock: str, seconds: float) -> None:
    """As if the lock's last term had begun, been renewed and ended `seconds` earlier."""
    back = round(seconds * 1000)
    instants = ("began_at", "expires_at", "own_expires_at", "ended_at", "available_at")
    Lease.objects.filter(name=lock).update(**{column: F(column) - back for column in instants})


def expire(lock: str) -> None:
    """Let the deadline have passed a moment ago, unmarked as if no sweeper ran."""
    age(lock, (row(lock).expires_at - now_ms() + 1) / 1000)


def age_session(session_id: str, seconds: float) -> None:
    """As if the session, and all it holds, had begun `seconds` earlier."""
    back = round(seconds * 1000)
    LeaseGroup.objects.filter(key=session_id).update(began_at=F("began_at") - back, expires_at=F("expires_at") - back)
    for lease in Lease.objects.filter(group_id=session_id):
        age(lease.name, seconds)


def expire_session(session_id: str) -> None:
    """Let the session's end have passed a moment ago, unmarked as if no sweeper ran."""
    session = LeaseGroup.objects.get(key=session_id)
    age_session(session_id, (session.expires_at - now_ms() + 1) / 1000)
