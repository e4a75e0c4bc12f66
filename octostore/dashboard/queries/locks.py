"""The locks of a team, page by page, and one of them with all that is kept of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db.models import QuerySet

from locks import services
from octostore.api import cursors
from octostore.dashboard.queries import leases
from octostore.dashboard.queries.keys import names_of
from octostore.dashboard.queries.leases import Line, Term
from octostore.leases.models import Lease
from octostore.teams.models import Membership

PAGE = 50
HISTORY, PICTURED = 50, 20
# Live names and those with a delay: what a team works with now.
ACTIVE = "active"
ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which locks are wanted; empty texts are no condition."""

    prefix: str = ""
    # One of `leases.STATUSES`, or `ACTIVE`, or `ALL`.
    status: str = ACTIVE
    holder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    lines: list[Line]
    at: int
    # For the next page; None on the last.
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    line: Line
    at: int
    # Who may acquire it, in the words of its acl; None for everybody.
    acl: list[str] | None
    terms: list[Term]
    # Below which term the next older ones are; None where there are none.
    older: int | None
    # What the team calls the key it is held with, or was last.
    key_name: str


def page(by: Membership, asked: Asked, cursor: str | None) -> Page:
    """The next locks by name. Raises InvalidInput for a cursor of another walk."""
    at = leases.now()
    walk = f"page of locks {by.lock_space} {asked}"
    after = cursors.unseal(walk, cursor) or ""
    found = _wanted(by, asked, at).filter(name__gt=after).order_by("name")
    lines = leases.lines(found[: PAGE + 1], by.lock_space, at)
    shown, more = cursors.cut(walk, lines, PAGE, lambda line: line.name)
    return Page(lines=shown, at=at, cursor=more)


def detail(by: Membership, name: str, before: int | None = None) -> Detail | None:
    """One lock, with its terms below `before`; None for a name that the team never had."""
    at = leases.now()
    lines = leases.lines(Lease.objects.filter(space=by.lock_space, name=name), by.lock_space, at)
    if not lines:
        return None
    [line] = lines
    found = leases.terms(by.lock_space, name, limit=HISTORY + 1, at=at, before=before)
    terms = found[:HISTORY]
    called = names_of(by, {term.charged_to for term in terms} | {line.charged_to})
    return Detail(
        line=line,
        at=at,
        acl=services.status(principal=by, name=name).acl,
        terms=[replace(term, key_name=called.get(term.charged_to, "")) for term in terms],
        older=terms[-1].term if len(found) > HISTORY else None,
        key_name=called.get(line.charged_to, ""),
    )


def _wanted(by: Membership, asked: Asked, at: int) -> QuerySet[Lease]:
    found = Lease.objects.filter(space=by.lock_space, name__gte=asked.prefix, name__lt=asked.prefix + leases.LAST)
    if asked.holder:
        found = found.filter(leases.live(at), holder__icontains=asked.holder)
    if asked.status == ALL:
        return found
    if asked.status == ACTIVE:
        return found.filter(leases.live(at) | leases.of_status("delayed", at))
    return found.filter(leases.of_status(asked.status, at))
