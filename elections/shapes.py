"""The JSON of elections: what comes in, by type alone, and what goes out.

Bounds are rules (`elections.rules`), checked after permission; types are shapes, checked before. What
`_documented` says goes into the OpenAPI document and checks nothing.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.conf import settings
from msgspec import UNSET, Meta, Struct, UnsetType

from elections.rules import TERM_MAX
from octostore.api.schema import DEFAULT
from octostore.lib import ids

End = Literal["resigned", "expired", "removed"]


def _documented(description: str, *, default: int | bool | None = None, **schema: Any) -> Meta:
    omitted = {} if default is None else {DEFAULT: default}
    return Meta(extra_json_schema={"description": description, **omitted, **schema})


CandidateId = Annotated[
    str, _documented("A label of whoever asks; it proves nothing", pattern=f"^{ids.CANDIDATE_ID.pattern}$")
]
LeaderToken = Annotated[
    str, _documented("The secret that proves the lead; opaque", pattern=f"^{ids.CAPABILITY.pattern}$")
]
Metadata = _documented(
    "Shown to everybody who asks who leads", pattern=r"^[^\u0000]*$", maxLength=settings.METADATA_MAX_CHARACTERS
)
_BOUNDS = {"minimum": settings.ELECTION_TTL_MIN_SECONDS, "maximum": settings.ELECTION_TTL_MAX_SECONDS}
Ttl = _documented("How long the lease lasts unless renewed", default=settings.ELECTION_TTL_DEFAULT_SECONDS, **_BOUNDS)
RenewedTtl = _documented("How long the lease lasts from now; omitted: the term's own TTL", **_BOUNDS)
Wait = _documented(
    "How long to wait for the room instead of being a follower at once",
    default=0,
    minimum=0,
    maximum=settings.WAIT_MAX_SECONDS,
)
Term = Annotated[int, _documented("Only rises for a room, with gaps", minimum=1, maximum=TERM_MAX)]
Instant = Annotated[str, _documented("RFC 3339 in UTC, with milliseconds", format="date-time")]
RetryAfter = Annotated[int, _documented("When to campaign again: the rest of the lease and a jitter", minimum=0)]


class CampaignInput(Struct, kw_only=True):
    candidate_id: CandidateId
    ttl_seconds: Annotated[int | None, Ttl] = None
    metadata: Annotated[str | None, Metadata] = None
    wait_seconds: Annotated[int | None, Wait] = None


class RenewInput(Struct, kw_only=True):
    """Without `ttl_seconds` the term's own TTL; a shorter one shortens."""

    leader_token: LeaderToken
    ttl_seconds: Annotated[int | None, RenewedTtl] = None


class ResignInput(Struct, kw_only=True):
    leader_token: LeaderToken


class Leader(Struct, kw_only=True):
    """Who leads; `metadata` is absent when none was given."""

    candidate_id: CandidateId
    metadata: Annotated[str, Metadata] | UnsetType = UNSET
    term: Term
    expires_at: Instant


class RoomOutput(Struct, kw_only=True):
    election_id: str
    campaign_path: str
    status_path: str
    watch_path: str
    url: Annotated[str, _documented("The room's page, for people", format="uri")]


class LeaderOutput(Struct, kw_only=True, tag_field="status", tag="leader"):
    """A win or a renewal."""

    election_id: str
    leader: Leader
    leader_token: LeaderToken
    renew_after_ms: Annotated[int, _documented("Half of what is left", minimum=0)]
    safe_for_ms: Annotated[
        int,
        _documented("How long the caller may act as leader, counted from the instant it sent this request", minimum=0),
    ]


class FollowerOutput(Struct, kw_only=True, tag_field="status", tag="follower"):
    """Somebody else leads."""

    election_id: str
    leader: Leader
    retry_after_ms: RetryAfter


class LedOutput(Struct, kw_only=True, tag_field="status", tag="leader"):
    """Somebody leads."""

    election_id: str
    leader: Leader
    retry_after_ms: RetryAfter


class VacantOutput(Struct, kw_only=True, tag_field="status", tag="vacant"):
    """Nobody leads; only a won campaign proves it."""

    election_id: str
    retry_after_ms: RetryAfter


class ResignedOutput(Struct, kw_only=True, tag_field="status", tag="vacant"):
    election_id: str
    previous_term: Term


class TermStatusOutput(Struct, kw_only=True):
    """`current_term` is there while somebody leads."""

    election_id: str
    term: Term
    status: Literal["current", "ended", "superseded", "unknown"]
    current_term: Term | UnsetType = UNSET


class TermOutput(Struct, kw_only=True):
    """`ended_at` is absent and `end` null while the term lasts."""

    term: Term
    candidate_id: CandidateId
    metadata: Annotated[str, Metadata] | UnsetType = UNSET
    began_at: Instant
    ended_at: Instant | UnsetType = UNSET
    end: End | None
    renewals: Annotated[int, _documented("How often it was renewed", minimum=0)]


class TermsOutput(Struct, kw_only=True):
    """The newest term first."""

    election_id: str
    terms: list[TermOutput]
