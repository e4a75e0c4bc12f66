"""Sessions: one worker of a team, alive as long as it says so, and holder of many locks."""

from __future__ import annotations

import uuid
from datetime import timedelta

from octostore.leases import groups, pseudonyms, walking
from octostore.leases.outcomes import Alive, GroupOver, GroupUnknown
from octostore.lib.errors import NotFound, RateLimited, SessionExpired
from octostore.teams import audit, limits
from octostore.teams.principals import Acting, Principal

RETRY_AFTER_MS = 5_000


def begin(*, principal: Principal, ttl: timedelta) -> Alive:
    """A new session, `ttl` long from now and from each keepalive. Raises RateLimited at the team's quota."""
    if walking.count_groups(principal.lock_space) >= limits.sessions_max(principal.team_id):
        raise RateLimited("The team has as many sessions as it may", retry_after_ms=RETRY_AFTER_MS)
    return groups.form(principal.lock_space, str(uuid.uuid4()), ttl=ttl, charged_to=principal.visible)


def keep(*, principal: Principal, session_id: str) -> Alive:
    """Let the session live for its TTL from now. Raises NotFound; SessionExpired, and it stays dead."""
    return _living(groups.keep(principal.lock_space, session_id))


def end(*, principal: Principal, session_id: str) -> None:
    """End the session, and with it its ephemeral locks. Raises NotFound, SessionExpired."""
    _living(groups.dissolve(principal.lock_space, session_id, reason="session_deleted"))


def terminate(*, principal: Acting, number: int, reason: str, request_id: str) -> None:
    """`end` for the session of this number (`Alive.id`), on the word of the team's admin; the audit says whose."""
    session_id = groups.key_of(principal.lock_space, number)
    if session_id is None:
        raise NotFound()
    _living(groups.dissolve(principal.lock_space, session_id, reason="session_deleted"))
    audit.record(
        team_id=principal.team_id,
        actor=principal.actor,
        action="session_terminated",
        object=f"session:{pseudonym(session_id)}",
        reason=reason,
        request_id=request_id,
    )


def pseudonym(session_id: str) -> str:
    """What stands for the session where others see it: the `holder_id` of all it holds."""
    return pseudonyms.holder_id("", "", term=0, group_id=session_id)


def status(*, principal: Principal, session_id: str) -> tuple[Alive | GroupOver, int]:
    """The session, also one that has ended lately, and how many locks it holds. Raises NotFound."""
    session = groups.inspect(principal.lock_space, session_id)
    if isinstance(session, GroupUnknown):
        raise NotFound()
    return session, walking.count_held(session.key)


def walk(*, principal: Principal, after: int, limit: int) -> list[tuple[Alive, int]]:
    """The team's next living sessions, and how many locks each holds."""
    return walking.groups(principal.lock_space, after=after, limit=limit)


def _living(outcome: Alive | GroupOver | GroupUnknown) -> Alive:
    match outcome:
        case GroupUnknown():
            raise NotFound()
        case GroupOver():
            raise SessionExpired()
    return outcome
