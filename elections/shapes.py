"""The JSON of elections: what comes in, by type alone, and what goes out.

Bounds are rules (`elections.rules`), checked after permission; types are shapes, checked before.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec
from django.conf import settings
from msgspec import UNSET, Struct, UnsetType

from elections.services import TermStatus
from octostore.leases.models import Ending
from octostore.leases.outcomes import Granted, Held, Hold, Past, Vacant

END = {Ending.RELEASED: "resigned", Ending.EXPIRED: "expired", Ending.REVOKED: "removed"}


class CampaignInput(Struct, kw_only=True):
    candidate_id: str
    ttl_seconds: int | None = None
    metadata: str | None = None


class RenewInput(Struct, kw_only=True):
    leader_token: str
    ttl_seconds: int | None = None


class ResignInput(Struct, kw_only=True):
    leader_token: str


class Leader(Struct, kw_only=True):
    """Who leads; `metadata` is absent when none was given."""

    candidate_id: str
    metadata: str | UnsetType = UNSET
    term: int
    expires_at: str


class RoomOutput(Struct, kw_only=True):
    election_id: str
    campaign_path: str
    status_path: str
    watch_path: str


class LeaderOutput(Struct, kw_only=True):
    """A win or a renewal; `safe_for_ms` counts from the instant the caller sent its request."""

    status: Literal["leader"] = "leader"
    election_id: str
    leader: Leader
    leader_token: str
    renew_after_ms: int
    safe_for_ms: int


class FollowerOutput(Struct, kw_only=True):
    status: Literal["follower"] = "follower"
    election_id: str
    leader: Leader
    retry_after_ms: int


class LedOutput(Struct, kw_only=True):
    election_id: str
    status: Literal["leader"] = "leader"
    leader: Leader
    retry_after_ms: int


class VacantOutput(Struct, kw_only=True):
    election_id: str
    status: Literal["vacant"] = "vacant"
    retry_after_ms: int = 0


class ResignedOutput(Struct, kw_only=True):
    election_id: str
    status: Literal["vacant"] = "vacant"
    previous_term: int


class TermStatusOutput(Struct, kw_only=True):
    election_id: str
    term: int
    status: Literal["current", "ended", "superseded", "unknown"]
    current_term: int | UnsetType = UNSET


class TermOutput(Struct, kw_only=True):
    term: int
    candidate_id: str
    metadata: str | UnsetType = UNSET
    began_at: str
    ended_at: str | UnsetType = UNSET
    end: Literal["resigned", "expired", "removed"] | None
    renewals: int


class TermsOutput(Struct, kw_only=True):
    election_id: str
    terms: list[TermOutput]


def room(election_id: str) -> RoomOutput:
    path = f"/elections/{election_id}"
    return RoomOutput(
        election_id=election_id, campaign_path=f"{path}/campaign", status_path=path, watch_path=f"{path}/watch"
    )


def granted(election_id: str, outcome: Granted) -> LeaderOutput:
    left = milliseconds(outcome.remaining)
    return LeaderOutput(
        election_id=election_id,
        leader=leader(outcome.hold),
        leader_token=outcome.capability,
        renew_after_ms=left // 2,
        safe_for_ms=left,
    )


def follower(election_id: str, outcome: Held) -> FollowerOutput:
    return FollowerOutput(election_id=election_id, leader=leader(outcome.hold), retry_after_ms=retry_after_ms(outcome))


def state(election_id: str, outcome: Held | Vacant) -> LedOutput | VacantOutput:
    if isinstance(outcome, Vacant):
        return VacantOutput(election_id=election_id)
    return LedOutput(election_id=election_id, leader=leader(outcome.hold), retry_after_ms=retry_after_ms(outcome))


def term(past: Past) -> TermOutput:
    return TermOutput(
        term=past.term,
        candidate_id=past.holder,
        metadata=UNSET if past.metadata is None else past.metadata,
        began_at=instant(past.began_at),
        ended_at=UNSET if past.ended_at is None else instant(past.ended_at),
        end=None
        if past.ending is None
        else msgspec.convert(END[past.ending], Literal["resigned", "expired", "removed"]),
        renewals=past.renewals,
    )


def term_status(election_id: str, number: int, outcome: TermStatus) -> TermStatusOutput:
    current = UNSET if outcome.current_term is None else outcome.current_term
    return TermStatusOutput(election_id=election_id, term=number, status=outcome.status, current_term=current)


def leader(hold: Hold) -> Leader:
    return Leader(
        candidate_id=hold.holder,
        metadata=UNSET if hold.metadata is None else hold.metadata,
        term=hold.term,
        expires_at=instant(hold.expires_at),
    )


def retry_after_ms(outcome: Held) -> int:
    """The rest of the lease and a jitter of up to a fifth of the TTL (1 to 5 s), never over the cap.

    So followers neither come back in one instant nor sleep through a release.
    """
    jitter = min(max(outcome.hold.ttl / 5, timedelta(seconds=1)), timedelta(seconds=5))
    wait = outcome.remaining + random.random() * jitter
    return min(milliseconds(wait), settings.RETRY_AFTER_MAX_SECONDS * 1000)


def instant(at: int) -> str:
    """RFC 3339 in UTC with milliseconds, from milliseconds since 1970."""
    moment = datetime.fromtimestamp(at // 1000, UTC).replace(microsecond=at % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)
