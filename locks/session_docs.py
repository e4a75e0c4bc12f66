"""What the OpenAPI document says of the endpoints of sessions."""

from __future__ import annotations

from locks import shapes
from locks.documented import EXPIRES_AT, SESSION_ID
from octostore.api.paging import CURSOR, LIMIT
from octostore.api.schema import BODY_ERRORS, Answer, of_a_key, parameter
from octostore.lib.errors import InvalidInput, NotFound, RateLimited, SessionExpired

TAG = "Sessions"
ID = parameter("path", "session_id", "The session's id.", format="uuid")

_session = shapes.SessionOutput(
    session_id=SESSION_ID,
    user_id="2f6d8c1a-4b7e-4e90-95d3-c8a1f0b7e264",
    expires_at=EXPIRES_AT,
    lock_count=2,
    active=True,
)

begin = of_a_key(
    operation_id="begin_session",
    tag=TAG,
    summary="Begin a session",
    description=(
        "A session is one worker. It lives for its TTL from now and from each keepalive; when it ends, its ephemeral "
        "locks are free, or delayed, from that instant. A TTL out of range is clamped."
    ),
    body=shapes.SessionInput,
    body_examples={"Half a minute": {"ttl_seconds": 30}, "Default": {}},
    answers={
        201: Answer(
            description="Begun",
            shape=shapes.SessionBegunOutput,
            examples={
                "Begun": shapes.SessionBegunOutput(
                    session_id=SESSION_ID, expires_at=EXPIRES_AT, keepalive_interval_secs=15
                )
            },
        )
    },
    errors=[*BODY_ERRORS, RateLimited("The team has as many sessions as it may", retry_after_ms=5000)],
)

walk = of_a_key(
    operation_id="list_sessions",
    tag=TAG,
    summary="List the team's living sessions",
    description="In the order in which they began.",
    parameters=[CURSOR, LIMIT],
    answers={
        200: Answer(
            description="One page",
            shape=shapes.SessionsOutput,
            examples={"One session": shapes.SessionsOutput(sessions=[_session], next_cursor=None)},
        )
    },
    errors=[InvalidInput("cursor must be the next_cursor of an earlier answer to the same list")],
)

status = of_a_key(
    operation_id="session_status",
    tag=TAG,
    summary="Look at a session",
    description="One that ended within the last day is told as not `active`, with the instant of its end.",
    parameters=[ID],
    answers={200: Answer(description="The session", shape=shapes.SessionOutput, examples={"Alive": _session})},
    errors=[NotFound()],
)

end = of_a_key(
    operation_id="end_session",
    tag=TAG,
    summary="End a session",
    description=(
        "Its ephemeral locks are free from that instant, without their delay; its others live on until their own TTL."
    ),
    parameters=[ID],
    answers={204: Answer(description="Ended")},
    errors=[NotFound(), SessionExpired()],
)

keep = of_a_key(
    operation_id="keep_session",
    tag=TAG,
    summary="Keep a session alive",
    description="Moves its end, and with it that of its ephemeral locks, to its TTL from now. One that ended stays so.",
    parameters=[ID],
    answers={
        200: Answer(
            description="Alive",
            shape=shapes.SessionKeptOutput,
            examples={"Kept": shapes.SessionKeptOutput(session_id=SESSION_ID, expires_at=EXPIRES_AT)},
        )
    },
    errors=[*BODY_ERRORS, NotFound(), SessionExpired()],
)
