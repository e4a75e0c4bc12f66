"""What services returned, as the JSON shapes of the contract."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from django.conf import settings
from msgspec import UNSET

from elections.services import TermStatus
from elections.shapes import (
    End,
    FollowerOutput,
    Leader,
    LeaderOutput,
    LedOutput,
    ResignedOutput,
    RoomOutput,
    TermOutput,
    TermsOutput,
    TermStatusOutput,
    VacantOutput,
)
from octostore.leases.models import Ending
from octostore.leases.outcomes import Granted, Held, Hold, Past, Vacant

ENDS: dict[Ending, End] = {Ending.RELEASED: "resigned", Ending.EXPIRED: "expired", Ending.REVOKED: "removed"}

JITTER_MIN, JITTER_MAX = timedelta(seconds=1), timedelta(seconds=5)

# Deadline and "now" are whole milliseconds, and each can be off by less than one: nobody is told of
# an instant at which somebody else can already lead.
GRAIN_MS = 2


def room(election_id: str) -> RoomOutput:
    path = f"/elections/{election_id}"
    return RoomOutput(
        election_id=election_id, campaign_path=f"{path}/campaign", status_path=path, watch_path=f"{path}/watch"
    )


def granted(election_id: str, outcome: Granted, *, waited: timedelta = timedelta(0)) -> LeaderOutput:
    """The caller leads. It sent its request before the database looked at its clock, so what was left
    then it may count from its sending; and the time it `waited` before the winning try it may add.
    """
    left = milliseconds(outcome.remaining)
    return LeaderOutput(
        election_id=election_id,
        leader=leader(outcome.hold),
        leader_token=outcome.capability,
        renew_after_ms=left // 2,
        safe_for_ms=max(milliseconds(waited + outcome.remaining) - GRAIN_MS, 0),
    )


def follower(election_id: str, outcome: Held) -> FollowerOutput:
    return FollowerOutput(election_id=election_id, leader=leader(outcome.hold), retry_after_ms=retry_after_ms(outcome))


def state(election_id: str, outcome: Held | Vacant) -> LedOutput | VacantOutput:
    if isinstance(outcome, Vacant):
        return VacantOutput(election_id=election_id, retry_after_ms=0)
    return LedOutput(election_id=election_id, leader=leader(outcome.hold), retry_after_ms=retry_after_ms(outcome))


def resigned(election_id: str, ended: Hold) -> ResignedOutput:
    return ResignedOutput(election_id=election_id, previous_term=ended.term)


def terms(election_id: str, past: list[Past]) -> TermsOutput:
    return TermsOutput(election_id=election_id, terms=[term(one) for one in past])


def term_status(election_id: str, term: int, outcome: TermStatus) -> TermStatusOutput:
    current = UNSET if outcome.current_term is None else outcome.current_term
    return TermStatusOutput(election_id=election_id, term=term, status=outcome.status, current_term=current)


def leader(hold: Hold) -> Leader:
    return Leader(
        candidate_id=hold.holder,
        metadata=UNSET if hold.metadata is None else hold.metadata,
        term=hold.term,
        expires_at=instant(hold.expires_at),
    )


def term(past: Past) -> TermOutput:
    return TermOutput(
        term=past.term,
        candidate_id=past.holder,
        metadata=UNSET if past.metadata is None else past.metadata,
        began_at=instant(past.began_at),
        ended_at=UNSET if past.ended_at is None else instant(past.ended_at),
        end=ENDS[past.ending] if past.ending else None,
        renewals=past.renewals,
    )


def retry_after_ms(outcome: Held) -> int:
    return spread_ms(outcome.remaining, outcome.hold.ttl)


def spread_ms(remaining: timedelta, ttl: timedelta) -> int:
    """The rest of the lease and a jitter of up to a fifth of the TTL (1 to 5 s), never over the cap.

    So followers neither come back in one instant nor sleep through a release.
    """
    jitter = min(max(ttl / 5, JITTER_MIN), JITTER_MAX)
    wait = remaining + random.random() * jitter
    return min(milliseconds(wait), settings.RETRY_AFTER_MAX_SECONDS * 1000)


def instant(at: int) -> str:
    """RFC 3339 in UTC with milliseconds, from milliseconds since 1970."""
    moment = datetime.fromtimestamp(at // 1000, UTC).replace(microsecond=at % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)
