"""All rooms, for staff: which are led, by whom, how steadily, and how the service keeps up.

Instants and lengths are milliseconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, Min, Q, QuerySet

from elections.services import SPACE
from octostore.dashboard.queries import leases
from octostore.dashboard.queries.leases import Line, Term
from octostore.leases.models import Lease, LeaseEvent
from octostore.live.seats import seats

MINUTE_MS = 60_000
LINE_MINUTES, FIGURE_MINUTES = 30, 60
# How many of the latest events the figures look at, however busy the service is.
EVENTS_MAX = 50_000
HISTORY, EVENTS = 50, 100
SIZES = (25, 50, 100)
PAGES_MAX = 1000
SORTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "expiry": ("Soonest expiry", ("expires_at", "id")),
    "newest": ("Newest term", ("-term", "id")),
    "longest": ("Longest leading", ("began_at", "id")),
    "name": ("Id", ("name",)),
}
STATUSES: dict[str, str] = {
    "led": "Led",
    "held": "Held",
    "expiring": "Expiring",
    "flapping": "Flapping",
    "free": "Vacant",
    "all": "All",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which rooms are wanted; `search` is the beginning of an id or of a candidate's."""

    search: str
    status: str
    sort: str
    size: int
    page: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    line: Line
    # New terms in each of the last minutes, the present one last.
    per_minute: list[int]

    @property
    def in_words(self) -> str:
        return f"{sum(self.per_minute)} elections in the last {len(self.per_minute)} minutes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    rooms: list[Room]
    at: int
    total: int
    number: int
    has_next: bool

    @property
    def before(self) -> int:
        return self.number - 1

    @property
    def after(self) -> int:
        return self.number + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    at: int
    known: int
    led: int
    expiring: int
    flapping: int
    # Elections in each of the last minutes, the present one last, of as many as the latest events reach back.
    per_minute: list[int]
    streams: int
    streams_max: int
    # For how long the oldest ended term has been waiting for its end to be marked.
    behind: int

    @property
    def elections_in_words(self) -> str:
        return f"{sum(self.per_minute)} elections in the last {len(self.per_minute)} minutes"

    @property
    def behind_by(self) -> timedelta:
        return timedelta(milliseconds=self.behind)

    @property
    def last_minute(self) -> int:
        """Elections in the last whole minute."""
        return self.per_minute[-2] if len(self.per_minute) > 1 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    n: int
    kind: str
    term: int
    holder: str
    at: int
    reason: str
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    line: Line
    at: int
    terms: list[Term]
    events: list[Event]


def page(asked: Asked) -> Page:
    at = leases.now()
    found = _wanted(asked, at)
    _, order = SORTS[asked.sort]
    first = (asked.page - 1) * asked.size
    lines = leases.lines(found.order_by(*order)[first : first + asked.size + 1], SPACE, at)
    shown = lines[: asked.size]
    per_minute = _per_minute([line.id for line in shown], at)
    return Page(
        rooms=[Room(line=line, per_minute=per_minute[line.id]) for line in shown],
        at=at,
        total=leases.count(found),
        number=asked.page,
        has_next=len(lines) > asked.size and asked.page < PAGES_MAX,
    )


def figures() -> Figures:
    at = leases.now()
    rooms = Lease.objects.filter(space=SPACE)
    counted = rooms.values_list("space").annotate(
        Count("id"),
        led=Count("id", filter=leases.live(at)),
        late=Count("id", filter=leases.of_status("expiring", at)),
    )
    [(_, known, led, expiring)] = leases.rows(counted) or [(SPACE, 0, 0, 0)]
    overdue = Lease.objects.filter(ended_at=None, expires_at__lte=at, term__gt=0).order_by()
    oldest = leases.rows(overdue.values_list("ended_at").annotate(Min("expires_at")))
    return Figures(
        at=at,
        known=known,
        led=led,
        expiring=expiring,
        flapping=len(leases.flapping_in(SPACE, at)),
        per_minute=_elections(at),
        streams=len(seats),
        streams_max=settings.STREAMS_MAX,
        behind=at - oldest[0][1] if oldest else 0,
    )


def detail(election_id: str) -> Detail | None:
    """One room and all that is kept of it; None for one that nobody ever led, or that is forgotten."""
    at = leases.now()
    lines = leases.lines(Lease.objects.filter(space=SPACE, name=election_id), SPACE, at)
    if not lines:
        return None
    [line] = lines
    recorded = LeaseEvent.objects.filter(lease_id=line.id).order_by("-incarnation", "-n")
    events = recorded.values_list("n", "kind", "term", "holder", "at", "reason", "actor")
    return Detail(
        line=line,
        at=at,
        terms=leases.terms(SPACE, election_id, limit=HISTORY, at=at),
        events=[
            Event(n=n, kind=kind, term=term, holder=holder, at=instant, reason=reason, actor=actor)
            for n, kind, term, holder, instant, reason, actor in leases.rows(events[:EVENTS])
        ],
    )


def _wanted(asked: Asked, at: int) -> QuerySet[Lease]:
    found = Lease.objects.filter(space=SPACE)
    if asked.search:
        begins = Q(name__gte=asked.search, name__lt=asked.search + leases.LAST)
        found = found.filter(begins | Q(leases.live(at), holder__startswith=asked.search))
    match asked.status:
        case "all":
            return found
        case "led":
            return found.filter(leases.live(at))
        case "flapping":
            return found.filter(id__in=leases.flapping_in(SPACE, at))
        case status:
            return found.filter(leases.of_status(status, at))


def _per_minute(ids: Collection[int], at: int) -> dict[int, list[int]]:
    """New terms of each of these rooms in each of the last minutes."""
    begins = LeaseEvent.objects.filter(
        lease_id__in=ids, kind=LeaseEvent.Kind.ACQUIRED, at__gt=at - LINE_MINUTES * MINUTE_MS
    )
    counted: dict[int, Counter[int]] = defaultdict(Counter)
    for lease_id, instant in leases.rows(begins.order_by().values_list("lease_id", "at")):
        counted[lease_id][(at - instant) // MINUTE_MS] += 1
    return {one: [counted[one][ago] for ago in reversed(range(LINE_MINUTES))] for one in ids}


def _elections(at: int) -> list[int]:
    since = at - FIGURE_MINUTES * MINUTE_MS
    begins = LeaseEvent.objects.filter(kind=LeaseEvent.Kind.ACQUIRED, lease__space=SPACE, at__gt=since)
    # Events are found by their number, not by their instant: beyond so many nobody looks.
    for last, reached in leases.rows(
        LeaseEvent.objects.order_by("-id").values_list("id", "at")[EVENTS_MAX : EVENTS_MAX + 1]
    ):
        begins, since = begins.filter(id__gt=last), max(since, reached)
    counted = Counter((at - instant) // MINUTE_MS for (instant,) in leases.rows(begins.order_by().values_list("at")))
    return [counted[ago] for ago in reversed(range(max(1, (at - since) // MINUTE_MS)))]
