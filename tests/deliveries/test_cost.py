"""A long queue of one receiver costs others no time: what is asked for each attempt reads few rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from octostore.lib.outbound import Answer
from octostore.teams.models import Team
from tests.locks.cast import found_team
from tests.measures import best
from tests.webhooks.cast import due
from webhooks import sealing, signing
from webhooks.claiming import claim_due
from webhooks.models import Delivery, Endpoint
from webhooks.recording import Ended, record

PENDING = 20_000
PAST = 20_000
BOUND_SECONDS = 0.1


def endpoint_of(team: Team) -> Endpoint:
    endpoint = Endpoint(team=team, url="http://127.0.0.1:1/", events="*", lock_pattern="*", created_by="system")
    endpoint.secret = sealing.seal(endpoint, signing.mint_secret())
    endpoint.save()
    return endpoint


def owe(endpoint: Endpoint, count: int, **fields: object) -> None:
    """So many deliveries like the one that these `fields` make."""
    body, due_at = "x" * 400, timezone.now()
    first = Delivery(endpoint=endpoint, message_id="msg_", kind="acquired", lock="lock", body=body, due_at=due_at)
    for name, value in fields.items():
        setattr(first, name, value)
    first.save()
    columns = [str(field.column) for field in Delivery._meta.concrete_fields if not field.primary_key]
    fresh = {
        "uuid": "gen_random_uuid()" if connection.vendor == "postgresql" else "lower(hex(randomblob(16)))",
        "message_id": "message_id || i",
    }
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
            f" INSERT INTO webhooks_delivery ({', '.join(map(_quoted, columns))})"
            f" SELECT {', '.join(fresh.get(column, _quoted(column)) for column in columns)}"
            f" FROM webhooks_delivery, n WHERE id = {first.pk}"
        )


def _quoted(column: str) -> str:
    return f'"{column}"'


@pytest.fixture(scope="module")
def endpoints(transactional_db: None) -> tuple[Endpoint, Endpoint]:
    """One of a team that never answers, with its queue, and another one of the team, which works and has a past."""
    team = found_team()
    dead, well = endpoint_of(team), endpoint_of(team)
    owe(dead, PENDING)
    owe(well, PAST, state=Delivery.State.DELIVERED, ended_at=timezone.now())
    owe(well, 100, message_id="new_")
    Endpoint.objects.filter(pk=well.pk).update(last_success_at=timezone.now())
    with connection.cursor() as cursor:
        # What either database does by itself, sooner or later.
        cursor.execute("ANALYZE webhooks_delivery")
    return dead, well


@pytest.fixture(autouse=True)
def unclaimed(endpoints: tuple[Endpoint, Endpoint]) -> None:
    Delivery.objects.exclude(claimed_until=None).update(claimed_until=None)


def seconds(act: Callable[[], object]) -> float:
    """How long it takes, at best."""

    def measure() -> float:
        began = time.perf_counter()
        act()
        return time.perf_counter() - began

    found = best(measure, bound=BOUND_SECONDS)
    print(f"{found * 1000:.0f} ms")
    return found


def test_of_looking_what_is_due() -> None:
    assert seconds(due) < BOUND_SECONDS


@pytest.mark.parametrize("which", [0, 1], ids=["dead", "well"])
def test_of_a_claim(endpoints: tuple[Endpoint, Endpoint], which: int) -> None:
    def claim() -> None:
        (claim,) = claim_due(at_most=1, endpoint_id=endpoints[which].pk)
        Delivery.objects.filter(pk=claim.delivery_id).update(claimed_until=None)

    assert seconds(claim) < BOUND_SECONDS


def test_of_an_outcome(endpoints: tuple[Endpoint, Endpoint]) -> None:
    claims = claim_due(at_most=3, endpoint_id=endpoints[1].pk)
    outcome = Answer(status=200, retry_after=None, text="", took=timedelta(milliseconds=5))
    assert seconds(lambda: record([Ended(claim=claims.pop(), outcome=outcome)])) < BOUND_SECONDS
