"""A room's news as frames of its stream."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from msgspec import UNSET, Struct

from elections import answers, shapes
from elections.services import SPACE
from octostore.api.timing import instant, retry_after_ms
from octostore.leases.models import LeaseEvent
from octostore.leases.outcomes import Held, Revision
from octostore.leases.watching import State
from octostore.live import sse
from octostore.live.opening import open_watch
from octostore.live.seats import seats
from octostore.live.tickets import WatchTicket


class StateFrame(Struct, kw_only=True):
    """What a frame says: who leads, or null when nobody does."""

    schema_version: Literal[1] = 1
    election_id: str
    status: Literal["leader", "vacant"]
    leader: shapes.Leader | None
    retry_after_ms: shapes.RetryAfter
    observed_at: shapes.Instant


def open_stream(election_id: str, *, client: str, last_event_id: str | None) -> WatchTicket:
    """A stream of the room's news, from `last_event_id` on where that is one of its ids.

    Raises RateLimited when too many are open.
    """
    return open_watch(
        (SPACE, election_id),
        RoomFrames(election_id),
        last_event_id=last_event_id,
        take_seat=lambda: seats.take(client),
    )


class RoomFrames:
    """The encoder of one room; every frame is a state, a change is the state it led to."""

    def __init__(self, election_id: str) -> None:
        self._election_id = election_id

    def event(self, event: LeaseEvent) -> bytes:
        """A change with its id, as of the instant at which it happened."""
        position = Revision(incarnation=event.incarnation, n=event.n)
        if event.kind != LeaseEvent.Kind.ACQUIRED:
            return sse.frame("state", self._vacant(event.at), position=position)
        leader = shapes.Leader(
            candidate_id=event.holder,
            metadata=UNSET if event.metadata is None else event.metadata,
            term=event.term,
            expires_at=instant(event.expires_at),
        )
        length = timedelta(milliseconds=event.expires_at - event.at)
        led = self._led(leader, retry_after_ms(length, length), event.at)
        return sse.frame("state", led, position=position)

    def state(self, state: State, *, kind: str = "state", with_id: bool) -> bytes:
        if isinstance(state, Held):
            wait = answers.retry_after(state)
            data = self._led(answers.leader(state.hold), wait, state.observed_at)
        else:
            data = self._vacant(state.observed_at)
        return sse.frame(kind, data, position=state.revision if with_id else None)

    def renewal(self, state: State) -> bytes:
        return self.state(state, with_id=False)

    def _led(self, leader: shapes.Leader, retry_after_ms: int, at: int) -> StateFrame:
        return StateFrame(
            election_id=self._election_id,
            status="leader",
            leader=leader,
            retry_after_ms=retry_after_ms,
            observed_at=instant(at),
        )

    def _vacant(self, at: int) -> StateFrame:
        return StateFrame(
            election_id=self._election_id,
            status="vacant",
            leader=None,
            retry_after_ms=0,
            observed_at=instant(at),
        )
