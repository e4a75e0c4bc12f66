"""What the page of a room shows, read at one instant of the database's clock.

Instants are milliseconds since 1970. Nothing here selects a capability.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings

from elections import services
from octostore.leases.outcomes import Held, Hold, Past, Vacant
from octostore.leases.steadiness import DAY_MS, Steadiness, steadiness
from octostore.pages import wording

PICTURED = 20
OLDER = 50
LATELY_MS = 10 * 60_000
OTHERS_MAX = 7
MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A room as it is, and as it was. `span` is `terms` or `day`: what the picture shows."""

    election_id: str
    state: Held | Vacant
    past: list[Past]
    steadiness: Steadiness
    span: str

    @property
    def now(self) -> int:
        return self.state.observed_at

    @property
    def leader(self) -> Hold | None:
        return self.state.hold if isinstance(self.state, Held) else None

    @property
    def status(self) -> str:
        """`expiring` once under a third of the TTL is left, so that the renewal due at half of it did not come."""
        if not isinstance(self.state, Held):
            return "vacant"
        return "held" if self.state.remaining >= self.state.hold.ttl / 3 else "expiring"

    @property
    def title(self) -> str:
        """Begins with the state: it is all a tab shows."""
        return f"{f'{self.leader.holder} leads' if self.leader else 'Vacant'} · room {self.election_id[:8]}…"

    @property
    def whole_ms(self) -> int:
        """What a full ring stands for."""
        return self.leader.ttl // timedelta(milliseconds=1) if self.leader else 0

    @property
    def look_at(self) -> int | None:
        """When the status becomes another one though nothing happens."""
        return self.leader.expires_at - self.whole_ms // 3 + 1 if self.leader and self.status == "held" else None

    @property
    def renewed_at(self) -> int | None:
        return self.leader.expires_at - self.whole_ms if self.leader and self.leader.renewals else None

    @property
    def last(self) -> Past | None:
        """The term that ended last, where nobody leads."""
        return self.past[0] if self.past and not self.leader else None

    @property
    def others(self) -> int:
        """How many others led lately."""
        lately = {
            term.holder for term in self.past if term.ended_at is not None and term.ended_at > self.now - LATELY_MS
        }
        return min(OTHERS_MAX, len(lately - {self.leader.holder if self.leader else ""}))

    @property
    def pictured(self) -> list[Past]:
        if self.span == "day":
            return [term for term in self.past if (term.ended_at or self.now) > self.now - DAY_MS]
        return self.past[:PICTURED]

    @property
    def begin(self) -> int:
        """Where the picture's axis begins at the earliest."""
        return self.now - DAY_MS if self.span == "day" else 0

    @property
    def older_than(self) -> int | None:
        """Below which term there are more; None where all are in the picture."""
        if len(self.past) == len(self.pictured):
            return None
        return self.pictured[-1].term if self.pictured else self.past[0].term + 1

    @property
    def version(self) -> str:
        """Another one whenever the page would be another one; what only time changes, changes once a minute."""
        deadline = self.leader.expires_at if self.leader else 0
        return f"{self.state.revision}-{deadline}-{self.status}-{self.now // MINUTE_MS}"

    @property
    def flapping(self) -> str:
        """Why it is called flapping, in a sentence; empty where it is not."""
        found = self.steadiness
        if not found.is_flapping:
            return ""
        length = wording.span(found.latest_longest_ms / 1000)
        terms = wording.counted(found.latest_terms, "new term")
        leaders = wording.counted(found.latest_holders, "leader")
        return f"{terms} of {leaders} in 5 minutes, none longer than {length}."


def read(election_id: str, *, span: str = "terms") -> Room:
    """Any well-formed id is a room. Raises Unavailable."""
    state = services.status(election_id=election_id)
    past = services.terms(election_id=election_id, limit=settings.TERMS_KEPT)
    return Room(
        election_id=election_id,
        state=state,
        past=past,
        steadiness=steadiness(past, state.observed_at, kept=settings.TERMS_KEPT),
        span=span,
    )


def older(election_id: str, before: int) -> list[Past]:
    """Terms below `before`, newest first."""
    return services.terms(election_id=election_id, limit=OLDER, before=before)
