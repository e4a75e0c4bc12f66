"""A team with secrets planted wherever something secret could be, and the whole site as a person walks through it."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import Any

from octostore.teams import invitations, keys
from octostore.teams.models import Role, Team
from tests.dashboard.cast import Person
from tests.locks.cast import Worker, issue
from tests.pages.browser import Browser
from tests.teams.cast import ACT, join

_LINK = re.compile(r'(?:href|hx-get|data-live-url)="([^"#]+)')
HERE = ("/t/", "/ops/")


@dataclass
class Planted:
    """Secrets by what they are, and what was planted to be seen."""

    secrets: dict[str, str] = field(default_factory=dict)


def plant(team: Team) -> Planted:
    planted = Planted()
    key = issue(team, "admin", name="ci")
    other = keys.create(team=team, name="other", scopes=["read"], act=ACT).text
    planted.secrets |= {"key": key[17:], "other key": other[17:]}
    attempt = "canary-attempt-0123456789"
    with Worker(key) as worker:
        session, ended = worker.begin(), worker.begin()
        planted.secrets |= {"session": session, "ended session": ended, "attempt": attempt}
        planted.secrets["lease"] = worker.hold("repo/a", holder="worker-7", metadata="seen", attempt=attempt)[
            "lease_id"
        ]
        planted.secrets["lease in a session"] = worker.hold("repo/b", session_id=session, ephemeral=True)["lease_id"]
        released = worker.hold("repo/c", session_id=ended)["lease_id"]
        worker.release("repo/c", released)
        revoked = worker.hold("repo/d")
        worker.revoke("repo/d", revoked["fencing_token"])
        worker.delete(f"/sessions/{ended}")
        planted.secrets |= {"released lease": released, "revoked lease": revoked["lease_id"]}
        led = worker.post(
            "/elections/room-canary-1/campaign", json={"candidate_id": "atlas", "metadata": "seen"}
        ).json()
        planted.secrets["leader"] = led["leader_token"]
    invited = invitations.offer(team=team, email="ann@example.org", role=Role.VIEWER, invited_by=None, act=ACT)
    planted.secrets["invitation"] = invited.text
    planted.secrets["password"] = join(team).user.password * 12
    return planted


def crawl(person: Browser, *starts: str) -> dict[str, Any]:
    """Every page of teams and staff that links lead to from `starts`, each also as htmx gets it, by its address."""
    found: dict[str, Any] = {}
    waiting = list(starts)
    while waiting:
        address = waiting.pop()
        if address in found or not address.startswith(HERE):
            continue
        found[address] = page = person.get(address)
        if isinstance(person, Person):
            found[f"{address} part"] = person.part(address.partition("?")[0])
        for link in _LINK.findall(page.content.decode()):
            link = html.unescape(link)
            waiting.append(address.partition("?")[0] + link if link.startswith("?") else link)
    return found
