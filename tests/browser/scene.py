"""A database as it looks after some weeks: people, teams, locks, rooms and webhooks in every state.

Run as a module it fills the database of its environment, and prints what a visitor must know: as JSON, a `Scene`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import django

ROOM, OTHER_ROOM, EMPTY_ROOM = "nightly-etl-7f3a9c21", "crawler-4c1e88d0", "reports-93b2d7aa"
LOCK, EXPIRING, FLAPPING = "deploy/production", "import/customers", "cache/rebuild"
OLD_MS = 40 * 60_000


@dataclass(kw_only=True)
class Scene:
    """`parts` fills in addresses, `cookies` are those of people who signed in, `secrets` no page may tell."""

    parts: dict[str, dict[str, Any]]
    cookies: dict[str, dict[str, str]]
    secrets: dict[str, str]
    key: str
    second_factor: str


def main() -> None:
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("adopt_server_key", stdout=sys.stderr)
    json.dump(asdict(build()), sys.stdout)


def build() -> Scene:
    from octostore.leases.models import Lease, LeaseEvent, LeaseGroup
    from octostore.teams import invitations, keys
    from octostore.teams.models import ApiKey, AuditEntry, Invitation, Quota, Role, Team
    from tests.dashboard.cast import Person
    from tests.locks.cast import Worker
    from tests.pages.browser import PASSWORD, somebody
    from tests.teams.cast import ACT, join

    team = Team.objects.create(slug="harbour")
    empty = Team.objects.create(slug="empty")
    Quota.objects.create(team=team, locks=400)
    owner = somebody("ada@example.org", is_staff=True)
    join(team, Role.OWNER, owner)
    join(empty, Role.OWNER, owner)
    member = join(team, Role.MEMBER, somebody("grace@example.org"))
    invited = invitations.offer(team=team, email="ann@example.org", role=Role.VIEWER, invited_by=owner, act=ACT)
    issued = keys.create(team=team, name="deployer", scopes=["admin"], act=ACT)
    keys.create(team=team, name="dashboards", scopes=["read"], act=ACT)
    expiring = keys.create(team=team, name="old-importer", scopes=["locks"], act=ACT).key
    ApiKey.objects.update(created_at=django_now() - timedelta(days=40), created_by=f"user:{owner.email}")
    ApiKey.objects.filter(pk=expiring.pk).update(expires_at=django_now() + timedelta(days=3))
    revoked = keys.create(team=team, name="laptop", scopes=["locks"], act=ACT).key
    keys.revoke(team_id=team.id, visible=revoked.visible, act=ACT)
    secrets = {"key": issued.text[17:], "invitation": invited.text}

    with Worker(issued.text) as worker:
        secrets |= hold_locks(worker)
        secrets |= lead_rooms(worker)
    webhook, delivery, signing_secret = call_webhooks(team)
    secrets["webhook"] = signing_secret

    person = Person(owner)
    person.submit("/accounts/reauthenticate/", password=PASSWORD)
    careful, seed = with_second_factor(somebody("second@example.org"))
    secrets |= {"session": person.cookies["octostore_session"].value, "seed": seed}
    room = Lease.objects.get(space="elections", name=ROOM)
    session = LeaseGroup.objects.filter(ended_at=None).latest("id")
    parts = {
        "": {
            "slug": team.slug,
            "name": LOCK,
            "number": session.pk,
            "visible": issued.text[4:16],
            "webhook": webhook,
            "delivery": delivery,
            "invitation": Invitation.objects.get().pk,
            "member": member.pk,
            "text": invited.text,
            "election_id": ROOM,
            "form": "svg",
            "lease_id": room.pk,
            "app_label": "teams",
        },
    } | {
        f"{model._meta.app_label}_{model._meta.model_name}": {"object_id": model.objects.order_by("pk")[0].pk}
        for model in (Team, ApiKey, Invitation, AuditEntry, Quota, type(owner), Lease, LeaseEvent, LeaseGroup)
    }
    return Scene(
        parts=parts,
        cookies={
            who: {name: morsel.value for name, morsel in one.cookies.items()}
            for who, one in {"owner": person, "second": careful}.items()
        },
        secrets=secrets,
        key=issued.text,
        second_factor=seed,
    )


def django_now() -> Any:
    from django.utils import timezone

    return timezone.now()


def hold_locks(worker: Any) -> dict[str, str]:
    """Locks held, expiring, delayed, free and changing hands too often; sessions that live and that ended."""
    from django.conf import settings

    from tests.locks.cast import age

    session, ended = worker.begin(ttl_seconds=settings.SESSION_TTL_MAX_SECONDS), worker.begin()
    for turn in range(4):
        before = worker.hold(LOCK, holder=f"deploy-{turn + 3}")
        lasts("locks/", LOCK, OLD_MS // 4)
        worker.release(LOCK, before["lease_id"])
    held = worker.hold(
        LOCK, holder="deploy-7", ttl_seconds=3600, metadata="release 2026.48", attempt="canary-attempt-1"
    )
    lasts("locks/", LOCK, OLD_MS // 2)
    late = worker.hold(EXPIRING, holder="importer-2", ttl_seconds=3600, metadata="<b>customers</b>")
    age(EXPIRING, 2700)
    in_session = worker.hold("queue/emails", session_id=session, ephemeral=True, holder="mailer-1")
    worker.hold("queue/invoices", session_id=session, ephemeral=True)
    worker.release("reports/weekly", worker.hold("reports/weekly", session_id=ended)["lease_id"])
    worker.delete(f"/sessions/{ended}")
    stuck = worker.hold("backup/nightly", holder="backup-3")
    delay = settings.LOCK_DELAY_MAX_SECONDS
    answer = worker.revoke("backup/nightly", stuck["fencing_token"], reason="the host is gone", delay_seconds=delay)
    assert answer.status_code == 200, answer.text
    for turn in range(6):
        worker.release(FLAPPING, worker.hold(FLAPPING, holder=f"cache-{turn % 2}")["lease_id"])
    worker.hold(FLAPPING, holder="cache-0", ttl_seconds=3600)
    for number in range(30):
        worker.hold(f"shard/{number:02}", holder=f"indexer-{number % 4}", ttl_seconds=3600)
    return {
        "worker's session": session,
        "ended session": ended,
        "lease": held["lease_id"],
        "late lease": late["lease_id"],
        "lease in a session": in_session["lease_id"],
        "attempt": "canary-attempt-1",
    }


def lead_rooms(worker: Any) -> dict[str, str]:
    """Rooms that are led, with terms of the last hour, and one that changes hands too often."""
    from django.conf import settings

    from tests.elections.rooms import win

    longest = settings.ELECTION_TTL_MAX_SECONDS
    for turn in range(9):
        resign(worker, ROOM, win(worker, ROOM, f"worker-{'abc'[turn % 3]}"), OLD_MS // 9 * (turn % 2 + 1))
    led = win(worker, ROOM, "worker-a", ttl_seconds=longest, metadata="host etl-2, shard 4 of 12")
    for turn in range(5):
        resign(worker, OTHER_ROOM, win(worker, OTHER_ROOM, f"spider-{turn % 3}"), 0)
    win(worker, OTHER_ROOM, "spider-2", metadata="<b>crawling</b>", ttl_seconds=longest)
    for number, name in enumerate(("gateway-51d0c9e7", "billing-a87f20b4", "search-0be93d16")):
        win(worker, name, f"node-{number}", ttl_seconds=longest)
    return {"leader": led["leader_token"]}


def resign(worker: Any, room: str, led: dict[str, Any], length_ms: int) -> None:
    """End the term, as if it had lasted so long and all before it had been so much earlier."""
    lasts("elections", room, length_ms)
    answer = worker.post(f"/elections/{room}/resign", json={"leader_token": led["leader_token"]})
    assert answer.status_code == 200, answer.text


def lasts(space: str, name: str, length_ms: int) -> None:
    from django.db.models import F

    from octostore.leases.models import Lease, LeaseEvent

    lease = Lease.objects.get(space__startswith=space, name=name)
    back = {column: F(column) - length_ms for column in ("at", "expires_at")}
    LeaseEvent.objects.filter(lease_id=lease.pk).update(**back, renewals=length_ms // 15_000)
    Lease.objects.filter(pk=lease.pk).update(began_at=F("began_at") - length_ms)


def call_webhooks(team: Any) -> tuple[str, str, str]:
    """One that works, with deliveries in every state, and one that was switched off."""
    from tests.dashboard.cast import endpoint
    from webhooks import sealing
    from webhooks.models import Attempt, Delivery

    now = django_now()
    old = now - timedelta(days=30)
    works = endpoint(
        team, url="https://hooks.example.com/octostore?key=canary-query", last_success_at=now, created_at=old
    )
    endpoint(team, url="https://old.example.net/in", off="failing", off_at=now, failing_since=now - timedelta(days=5))
    endpoint(team, url="https://new.example.net/in", failing_since=now - timedelta(minutes=20))
    states = ["delivered"] * 14 + ["failed", "failed", "pending", "cancelled"]
    for number, state in enumerate(states):
        delivery = Delivery.objects.create(
            endpoint=works,
            message_id=f"msg_2hV9{number:04}",
            kind=("acquired", "released", "expired")[number % 3],
            lock=(LOCK, EXPIRING, "queue/emails")[number % 3],
            body=json.dumps({"type": "lock.acquired", "data": {"lock": LOCK, "fencing_token": 1000 + number}}),
            state=state,
            created_at=now - timedelta(minutes=3 * (len(states) - number)),
        )
        tries = {"delivered": 1, "failed": 3, "pending": 1, "cancelled": 0}[state]
        for attempt in range(1, tries + 1):
            works_now = state == "delivered"
            Attempt.objects.create(
                delivery=delivery,
                number=attempt,
                trigger="automatic",
                began_at=delivery.created_at + timedelta(seconds=5 * attempt),
                took_ms=60 + 11 * number,
                status=204 if works_now else 503,
                failure="" if works_now else "status",
                answer="" if works_now else "<h1>Service Unavailable</h1>",
            )
        Delivery.objects.filter(pk=delivery.pk).update(attempts_made=tries, round_made=tries)
    failed = Delivery.objects.filter(state="failed").latest("id")
    return str(works.uuid), str(failed.uuid), sealing.secret_of(works)


def with_second_factor(user: Any) -> tuple[Any, str]:
    """Signed in, and the seed of the app that was set up."""
    import re

    from tests.dashboard.cast import Person
    from tests.pages.browser import PASSWORD, text_of, totp

    path = "/accounts/2fa/totp/activate/"
    person = Person(user)
    person.submit("/accounts/reauthenticate/", password=PASSWORD)
    page = person.get(path)
    (seed,) = re.findall(r'value="([A-Z2-7]{32})"', text_of(page))
    assert person.fill(page, path, code=totp(seed)).status_code == 302
    return person, seed


if __name__ == "__main__":
    main()
