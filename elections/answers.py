"""What services returned, as the JSON shapes of the contract."""

from __future__ import annotations

from datetime import timedelta

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
from octostore.api.timing import instant, milliseconds, retry_after_ms, safe_for_ms
from octostore.leases.models import Ending
from octostore.leases.outcomes import Granted, Held, Hold, Past, Vacant

ENDS: dict[Ending, End] = {Ending.RELEASED: "resigned", Ending.EXPIRED: "expired", Ending.REVOKED: "removed"}


def room(election_id: str, service_url: str) -> RoomOutput:
    path = f"/elections/{election_id}"
    return RoomOutput(
        election_id=election_id,
        campaign_path=f"{path}/campaign",
        status_path=path,
        watch_path=f"{path}/watch",
        url=f"{service_url}/r/{election_id}",
    )


def granted(election_id: str, outcome: Granted, *, waited: timedelta = timedelta(0)) -> LeaderOutput:
    return LeaderOutput(
        election_id=election_id,
        leader=leader(outcome.hold),
        leader_token=outcome.capability,
        renew_after_ms=milliseconds(outcome.remaining) // 2,
        safe_for_ms=safe_for_ms(outcome.remaining, waited=waited),
    )


def follower(election_id: str, outcome: Held) -> FollowerOutput:
    return FollowerOutput(election_id=election_id, leader=leader(outcome.hold), retry_after_ms=retry_after(outcome))


def state(election_id: str, outcome: Held | Vacant) -> LedOutput | VacantOutput:
    if isinstance(outcome, Vacant):
        return VacantOutput(election_id=election_id, retry_after_ms=0)
    return LedOutput(election_id=election_id, leader=leader(outcome.hold), retry_after_ms=retry_after(outcome))


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


def retry_after(outcome: Held) -> int:
    return retry_after_ms(outcome.remaining, outcome.hold.ttl)
