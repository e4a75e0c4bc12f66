"""All rooms, for staff: which are led, by whom, how steadily, and how the service keeps up.

Instants and lengths are milliseconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Case, Count, F, FilteredRelation, Min, OrderBy, Q, QuerySet, When

from elections.services import SPACE
from octostore.dashboard.queries import leases
from octostore.dashboard.queries.leases import Line, Term
from octostore.leases.models import Lease, LeaseEvent
from octostore.live.seats import seats
from octostore.pages import wording

MINUTE_MS = 60_000
LINE_MINUTES, HOUR_MINUTES = 30, 60
# How many of the latest events the figures look at, however busy the service is.
EVENTS_MAX = 50_000
HISTORY, EVENTS = 50, 100
SIZES = (25, 50, 100)
PAGES_MAX = 1000
SORTS: dict[str, str] = {
    "expiry": "Soonest expiry",
    "newest": "Newest term",
    "busiest": "Most terms an hour",
    "longest": "Longest leading",
    "name": "Id",
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
    # New terms in each minute of the last hour, the present one last.
    per_minute: list[int]

    @property
    def terms(self) -> int:
        """How many began in the last hour."""
        return sum(self.per_minute)

    @property
    def pictured(self) -> list[int]:
        return self.per_minute[-LINE_MINUTES:]

    @property
    def in_words(self) -> str:
        return _elections_in_words(self.pictured)


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
        return _elections_in_words(self.per_minute)

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
    first = (asked.page - 1) * asked.size
    lines = leases.lines(_in_order(found, asked.sort, at)[first : first + asked.size + 1], SPACE, at)
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
        found = found.filter(begins | Q(leases.live(at), holder__istartswith=asked.search))
    match asked.status:
        case "all":
            return found
        case "led":
            return found.filter(leases.live(at))
        case "flapping":
            return found.filter(id__in=leases.flapping_in(SPACE, at))
        case status:
            return found.filter(leases.of_status(status, at))


def _in_order(found: QuerySet[Lease], sort: str, at: int) -> QuerySet[Lease]:
    match sort:
        case "expiry":
            return found.order_by(_while_led("expires_at", at), "id")
        case "longest":
            return found.order_by(_while_led("began_at", at), "id")
        case "newest":
            return found.order_by("-term", "id")
        case "busiest":
            since, last = _looked_back(at)
            recent = Q(leaseevent__id__gt=last, leaseevent__at__gt=since, leaseevent__kind=LeaseEvent.Kind.ACQUIRED)
            begun = found.annotate(recent=FilteredRelation("leaseevent", condition=recent), begun=Count("recent"))
            return begun.order_by("-begun", "id")
        case _:
            return found.order_by("name")


def _while_led(column: str, at: int) -> OrderBy:
    """The lowest first, and those that nobody leads, whose column tells of the past, after all others."""
    return Case(When(leases.live(at), then=F(column))).asc(nulls_last=True)


def _looked_back(at: int) -> tuple[int, int]:
    """Since when, and above which number, events are looked at: an hour, or as far as the latest of them reach."""
    since, last = at - HOUR_MINUTES * MINUTE_MS, 0
    # Events are found by their number, not by their instant: beyond so many nobody looks.
    beyond = LeaseEvent.objects.order_by("-id").values_list("id", "at")[EVENTS_MAX : EVENTS_MAX + 1]
    for number, reached in leases.rows(beyond):
        since, last = max(since, reached), number
    return since, last


def _per_minute(ids: Collection[int], at: int) -> dict[int, list[int]]:
    """New terms of each of these rooms in each minute of the last hour."""
    begins = LeaseEvent.objects.filter(
        lease_id__in=ids, kind=LeaseEvent.Kind.ACQUIRED, at__gt=at - HOUR_MINUTES * MINUTE_MS
    )
    counted: dict[int, Counter[int]] = defaultdict(Counter)
    for lease_id, instant in leases.rows(begins.order_by().values_list("lease_id", "at")):
        counted[lease_id][(at - instant) // MINUTE_MS] += 1
    return {one: [counted[one][ago] for ago in reversed(range(HOUR_MINUTES))] for one in ids}


def _elections(at: int) -> list[int]:
    since, last = _looked_back(at)
    begins = LeaseEvent.objects.filter(kind=LeaseEvent.Kind.ACQUIRED, lease__space=SPACE, at__gt=since, id__gt=last)
    counted = Counter((at - instant) // MINUTE_MS for (instant,) in leases.rows(begins.order_by().values_list("at")))
    return [counted[ago] for ago in reversed(range(max(1, (at - since) // MINUTE_MS)))]


def _elections_in_words(per_minute: list[int]) -> str:
    length = wording.counted(len(per_minute), "minute")
    return f"{wording.counted(sum(per_minute), 'election')} in the last {length}"
