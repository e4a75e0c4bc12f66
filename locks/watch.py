"""A lock's news as frames of its stream."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET

from locks.shapes import LockFrame
from octostore.api.timing import instant
from octostore.leases.models import LeaseEvent
from octostore.leases.outcomes import Held, Revision
from octostore.leases.watching import State
from octostore.live import sse
from octostore.live.opening import open_watch
from octostore.live.seats import seats, streams_of
from octostore.live.tickets import WatchTicket
from octostore.teams import limits
from octostore.teams.principals import Principal

Kind = Literal["acquired", "renewed", "released", "expired"]

# An operator's end is told as a release, with its reason.
KINDS: dict[str, Kind] = {
    LeaseEvent.Kind.ACQUIRED: "acquired",
    LeaseEvent.Kind.RELEASED: "released",
    LeaseEvent.Kind.EXPIRED: "expired",
    LeaseEvent.Kind.REVOKED: "released",
}


def open_stream(*, principal: Principal, name: str, last_event_id: str | None) -> WatchTicket:
    """A stream of the lock's news, from `last_event_id` on. Raises RateLimited when the team has too many open."""
    return open_watch(
        (principal.lock_space, name),
        LockFrames(name),
        last_event_id=last_event_id,
        principal=principal,
        take_seat=lambda: seats.take(streams_of(principal.team_uuid), at_most=limits.streams_max(principal.team_id)),
    )


class LockFrames:
    """The encoder of one lock: frames tell neither capabilities nor metadata."""

    def __init__(self, name: str) -> None:
        self._name = name

    def event(self, event: LeaseEvent) -> bytes:
        """A change with its id, as of the instant at which it happened."""
        begins = event.kind == LeaseEvent.Kind.ACQUIRED
        frame = LockFrame(
            event=KINDS[event.kind],
            lock_name=self._name,
            fencing_token=event.term,
            expires_at=instant(event.expires_at) if begins else UNSET,
            reason="revoked" if event.kind == LeaseEvent.Kind.REVOKED else event.reason or UNSET,
            observed_at=instant(event.at),
        )
        return sse.frame(None, frame, position=Revision(incarnation=event.incarnation, n=event.n))

    def state(self, state: State, *, kind: str = "state", with_id: bool) -> bytes:
        """What is now: held, or not."""
        told: Kind = "acquired" if isinstance(state, Held) else "released"
        position = state.revision if with_id else None
        return sse.frame(None if kind == "state" else kind, self._present(told, state), position=position)

    def renewal(self, state: State) -> bytes:
        """A deadline that has moved: no event, so without an id."""
        if not isinstance(state, Held):
            return self.state(state, with_id=False)
        return sse.frame(None, self._present("renewed", state))

    def _present(self, told: Kind, state: State) -> LockFrame:
        last = state.hold if isinstance(state, Held) else state.last
        return LockFrame(
            event=told,
            lock_name=self._name,
            fencing_token=last.term if last else UNSET,
            expires_at=instant(state.hold.expires_at) if isinstance(state, Held) else UNSET,
            observed_at=instant(state.observed_at),
        )
