"""What a watch tells: a name's recorded events since a revision, and its state after them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from octostore.leases import engine, storage
from octostore.leases.models import Lease, LeaseEvent
from octostore.leases.outcomes import Delayed, Held, Revision, Vacant


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One reading of a name: every event from the asked revision up to `state.revision`, in order."""

    state: Held | Delayed | Vacant
    events: list[LeaseEvent]
    # The asked revision is none of this name's: of another incarnation, ahead of it, or so old that
    # its successors are gone. Then there are no events and the state stands for all of them.
    reset: bool


def look(space: str, name: str, since: Revision | None) -> Look:
    """Read the name, marking an overdue end first; without `since` there is nothing to catch up on."""
    state = engine.settle(space, name)
    now = state.revision
    if since is None or since == now:
        return Look(state=state, events=[], reset=False)
    # Who has seen the name before its first event goes on from there.
    if since != Revision(incarnation=0, n=0) and (since.incarnation != now.incarnation or since.n > now.n):
        return Look(state=state, events=[], reset=True)
    rows = LeaseEvent.objects.filter(
        lease__space=space, lease__name=name, incarnation=now.incarnation, n__gt=since.n, n__lte=now.n
    ).order_by("n")
    events: list[LeaseEvent] = storage.run(lambda _: list(rows))
    complete = [event.n for event in events] == list(range(since.n + 1, now.n + 1))
    return Look(state=state, events=events if complete else [], reset=not complete)


def revisions(space: str, names: Collection[str]) -> dict[str, Revision]:
    """How far each of many names has been counted, in one query; names without a row are left out."""
    rows = Lease.objects.filter(space=space, name__in=names).values_list("name", "incarnation", "events")
    found: list[tuple[str, int, int]] = storage.run(lambda _: list(rows))
    return {name: Revision(incarnation=incarnation, n=n) for name, incarnation, n in found}
