"""What a watch tells: a name's recorded events since a revision, and its state after them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple, Self

from octostore.leases import engine, storage
from octostore.leases.models import LeaseEvent
from octostore.leases.outcomes import Delayed, Held, Revision, Vacant

State = Held | Delayed | Vacant

NOTHING = Revision(incarnation=0, n=0)


class Position(NamedTuple):
    """How far a name has come: its counted events, and the deadline of the term that lives.

    A renewal moves the deadline and nothing else.
    """

    revision: Revision
    # In milliseconds since 1970; None while nobody holds the name.
    expires_at: int | None

    @classmethod
    def of(cls, state: State) -> Self:
        return cls(state.revision, state.hold.expires_at if isinstance(state, Held) else None)

    @classmethod
    def after(cls, event: LeaseEvent) -> Self:
        revision = Revision(incarnation=event.incarnation, n=event.n)
        return cls(revision, event.expires_at if event.kind == LeaseEvent.Kind.ACQUIRED else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One reading of a name: every event from the asked revision up to `state.revision`, in order."""

    state: State
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
    if since != NOTHING and (since.incarnation != now.incarnation or since.n > now.n):
        return Look(state=state, events=[], reset=True)
    events = storage.read(
        LeaseEvent.objects.filter(
            lease__space=space, lease__name=name, incarnation=now.incarnation, n__gt=since.n, n__lte=now.n
        ).order_by("n")
    )
    complete = [event.n for event in events] == list(range(since.n + 1, now.n + 1))
    return Look(state=state, events=events if complete else [], reset=not complete)


def positions(space: str, names: Collection[str]) -> dict[str, Position]:
    """How far each of `names` has come, asked for all of them at once and without marking anything."""
    found = dict.fromkeys(names, Position(NOTHING, None))
    for name, incarnation, n, expires_at in storage.run(lambda transitions: transitions.positions(space, [*names])):
        found[name] = Position(Revision(incarnation=incarnation, n=n), expires_at)
    return found
