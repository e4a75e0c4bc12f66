"""Names as screens show them: what their rows said at one instant of the database's clock.

Instants and lengths are milliseconds.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import BigIntegerField, Count, F, OuterRef, Q, QuerySet, Subquery, Value

from octostore.leases import history, pseudonyms, steadiness, storage
from octostore.leases.models import Lease, LeaseEvent, LeaseGroup

STATUSES = ("held", "expiring", "delayed", "free")
# Above every character that a name may have: the end of all names with one beginning.
LAST = "\U0010ffff"
# How many whiles are looked back on to tell whether a name that flapped has become calm.
REMEMBERED = 3

_COLUMNS = (
    "id",
    "name",
    "term",
    "holder",
    "metadata",
    "group_id",
    "bound",
    "charged_to",
    "ttl_ms",
    "delay_ms",
    "began_at",
    "expires_at",
    "renewals",
    "ended_at",
    "available_at",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One name; of one that nobody holds, what is told of a holder is of the last."""

    id: int
    name: str
    # One of `STATUSES`.
    status: str
    is_flapping: bool
    # 0 where nobody ever held it.
    term: int
    holder: str
    # The pseudonym of the session, or of the single grant.
    holder_id: str
    # The number of the session that holds it, as in the address of its page.
    session: int | None
    # Whether it ends with its session.
    is_ephemeral: bool
    metadata: str
    # Of whoever it counts against: for locks the visible part of a key.
    charged_to: str
    ttl_ms: int
    began_at: int
    expires_at: int
    renewals: int
    # As marked, or at the deadline; None while it is held.
    ended_at: int | None
    # From when a delayed name can be acquired.
    available_at: int

    @property
    def is_live(self) -> bool:
        return self.status in {"held", "expiring"}

    @property
    def ttl(self) -> timedelta:
        return timedelta(milliseconds=self.ttl_ms)

    @property
    def folders(self) -> list[tuple[str, str]]:
        """The parts of the name above the last one, each with the prefix that all names in it have."""
        parts = self.name.split("/")
        return [(part, "/".join(parts[: n + 1]) + "/") for n, part in enumerate(parts[:-1])]

    @property
    def leaf(self) -> str:
        return self.name.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One term of a name's history."""

    term: int
    holder: str
    holder_id: str
    charged_to: str
    # What the team calls that key; empty where it is none of its keys.
    key_name: str = ""
    began_at: int
    ended_at: int | None
    lasted: timedelta
    # `released`, `expired` or `revoked`; empty while it lasts.
    ending: str
    renewals: int
    reason: str
    actor: str


def now() -> int:
    """The database's clock."""
    instant: int = storage.run(lambda transitions: transitions.now())
    return instant


def rows(query: QuerySet[Any, Any]) -> list[Any]:
    """The rows of a query, within the bounded wait. Raises Unavailable."""
    found: list[Any] = storage.run(lambda transitions: transitions.evaluate(query.all()))
    return found


def count(query: QuerySet[Any, Any]) -> int:
    """How many rows of one space the query has, within the bounded wait. Raises Unavailable."""
    counted = rows(query.order_by().values_list("space").annotate(Count("id")))
    return int(counted[0][1]) if counted else 0


def live(at: int) -> Q:
    return Q(ended_at=None, expires_at__gt=at)


def of_status(status: str, at: int) -> Q:
    """The rows that have a status at an instant."""
    # Where it is calculated with, PostgreSQL would take it for four bytes.
    instant = Value(at, output_field=BigIntegerField())
    # A third of the TTL is left, so the renewal that was due at half of it did not come.
    late = Q(expires_at__lt=instant + F("ttl_ms") / 3)
    waits = Q(ended_at=None, expires_at__gt=instant - F("delay_ms")) | Q(
        ended_at__isnull=False, available_at__gt=at, ended_at__lt=F("available_at")
    )
    match status:
        case "held":
            return live(at) & ~late
        case "expiring":
            return live(at) & late
        case "delayed":
            return ~live(at) & waits
        case _:
            return ~live(at) & ~waits


def lines(query: QuerySet[Lease], space: str, at: int) -> list[Line]:
    """The query's names, in its order, as they were at that instant: two queries."""
    session = LeaseGroup.objects.filter(key=OuterRef("group_id"), space=space).values("id")[:1]
    found = rows(query.annotate(session=Subquery(session)).values(*_COLUMNS, "session"))
    flapping = flapping_among([row["id"] for row in found], at)
    return [_line(row, space, at, flapping) for row in found]


def terms(space: str, name: str, *, limit: int, at: int, before: int | None = None) -> list[Term]:
    """The name's last terms, newest first, below `before`; one that goes on has lasted until `at`."""
    return [
        Term(
            term=past.term,
            holder=past.holder,
            holder_id=pseudonyms.holder_id(space, name, term=past.term, group_id=past.group_id),
            charged_to=past.charged_to,
            began_at=past.began_at,
            ended_at=past.ended_at,
            lasted=timedelta(milliseconds=max(0, (past.ended_at or at) - past.began_at)),
            ending=past.ending or "",
            renewals=past.renewals,
            reason=past.reason,
            actor=past.actor,
        )
        for past in history.terms(space, name, limit=limit, before=before)
    ]


def flapping_among(ids: Any, at: int) -> set[int]:
    """Which of these names (numbers, or a query of them) change hands too often, as their kept events tell."""
    since = at - REMEMBERED * steadiness.WHILE_MS
    recent = LeaseEvent.objects.filter(lease_id__in=ids, kind=LeaseEvent.Kind.ACQUIRED, at__gt=since)
    began_at: dict[int, list[int]] = defaultdict(list)
    for lease_id, instant in rows(recent.order_by("-at").values_list("lease_id", "at")):
        began_at[lease_id].append(instant)
    return {lease_id for lease_id, instants in began_at.items() if steadiness.is_flapping(instants, at)}


def flapping_in(space: str, at: int) -> set[int]:
    """Which of the space's names do; by way of those that changed hands lately."""
    lately = Lease.objects.filter(space=space, began_at__gt=at - REMEMBERED * steadiness.WHILE_MS)
    return flapping_among(lately.values("id"), at)


def _line(row: dict[str, Any], space: str, at: int, flapping: set[int]) -> Line:
    ended_at = row["ended_at"]
    is_live = ended_at is None and row["expires_at"] > at
    if not is_live:
        ended_at = row["expires_at"] if ended_at is None else ended_at
    available_at = row["expires_at"] + row["delay_ms"] if row["ended_at"] is None else row["available_at"]
    if is_live:
        status = "expiring" if row["expires_at"] < at + row["ttl_ms"] // 3 else "held"
    else:
        status = "delayed" if available_at > max(at, ended_at) else "free"
    return Line(
        id=row["id"],
        name=row["name"],
        status=status,
        is_flapping=row["id"] in flapping,
        term=row["term"],
        holder=row["holder"],
        holder_id=pseudonyms.holder_id(space, row["name"], term=row["term"], group_id=row["group_id"]),
        session=row["session"],
        is_ephemeral=row["bound"],
        metadata=row["metadata"] or "",
        charged_to=row["charged_to"],
        ttl_ms=row["ttl_ms"],
        began_at=row["began_at"],
        expires_at=row["expires_at"],
        renewals=row["renewals"],
        ended_at=ended_at,
        available_at=available_at,
    )
