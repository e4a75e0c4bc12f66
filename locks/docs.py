"""What the OpenAPI document says of the endpoints of locks; the examples are answers this code gave."""

from __future__ import annotations

from locks import shapes
from locks.documented import (
    ACL,
    ATTEMPT,
    AVAILABLE_AT,
    BAD_NAME,
    BAD_TTL,
    DELAYED,
    EXPIRES_AT,
    HOLDER_ID,
    HOLDERS_LEASE,
    LAST_EVENT_ID,
    LEASE_ID,
    LOCK,
    NAME,
    OVER_STREAMS,
    REPLAYED,
    SESSION_ID,
    STALE,
    TAG,
    TERM,
    VISIBLE,
    held,
    vacant,
)
from locks.rules import HISTORY_MAX
from octostore.api.paging import CURSOR, LIMIT
from octostore.api.schema import BODY_ERRORS, Answer, of_a_key, parameter
from octostore.lib.errors import Conflict, InvalidInput, LeaseNotCurrent, LockLimitExceeded, NotFound, SessionExpired
from octostore.live import sse

walk = of_a_key(
    tag=TAG,
    operation_id="list_locks",
    summary="List the team's live locks",
    description=(
        "By name, in the order of the names' bytes. However the list changes during a walk, a lock that lasts through "
        "it is met exactly once. A key with a prefix sees the names within it."
    ),
    parameters=[
        parameter("query", "prefix", "Only names that begin so, like `repo/`; every character stands for itself."),
        CURSOR,
        LIMIT,
    ],
    answers={
        200: Answer(
            description="One page",
            shape=shapes.LocksOutput,
            examples={"One lock": shapes.LocksOutput(locks=[held()], total=1, prefix="repo/", next_cursor=None)},
        )
    },
    errors=[InvalidInput("cursor must be the next_cursor of an earlier answer to the same list")],
)

status = of_a_key(
    tag=TAG,
    operation_id="lock_status",
    summary="Ask who holds a lock",
    description=(
        "A lease past its deadline reads as free, or delayed, at once. Free is advice: only an acquire proves it. A "
        "name nobody ever held is free, with a `fencing_token` of null."
    ),
    parameters=[NAME],
    answers={
        200: Answer(
            description="Held, free or delayed",
            shape=shapes.LockOutput,
            examples={
                "Held": held(ACL),
                "Free": vacant("free", term=TERM),
                "Delayed": vacant("delayed", term=TERM, available_at=AVAILABLE_AT),
                "Never held": vacant("free", term=None),
            },
        )
    },
    errors=[BAD_NAME],
)

acquire = of_a_key(
    tag=TAG,
    operation_id="acquire_lock",
    summary="Try to hold a lock",
    description=(
        "Held or not at once; losing is an answer, not an error. Each acquire stands alone, so two workers that share "
        "a key exclude each other: who is one worker says so by a `session_id`, within which acquiring again gives the "
        "same lease, or by an `Idempotency-Key`. A holder must stop acting `safe_for_ms` after it sent the request, "
        "unless a renewal succeeded meanwhile. After a 503 or no answer at all the outcome is unknown."
    ),
    parameters=[NAME, ATTEMPT],
    body=shapes.AcquireInput,
    body_examples={
        "Alone": {"ttl_seconds": 60},
        "In a session": {"ttl_seconds": 60, "session_id": SESSION_ID, "ephemeral": True, "lock_delay_seconds": 10},
        "Waiting": {"ttl_seconds": 60, "holder": "worker-7", "wait_seconds": 30},
        "For some": {"ttl_seconds": 60, "acl": {"acquire": ACL.acquire}},
    },
    answers={
        200: Answer(
            description="The caller holds the lock, or somebody else does",
            shape=shapes.AcquiredOutput | shapes.HeldOutput,
            examples={
                "Acquired": shapes.AcquiredOutput(
                    lease_id=LEASE_ID,
                    fencing_token=TERM,
                    expires_at=EXPIRES_AT,
                    renew_after_ms=30_000,
                    safe_for_ms=59_998,
                    metadata=None,
                ),
                "Held": shapes.HeldOutput(
                    holder_id=HOLDER_ID,
                    holder="worker-7",
                    expires_at=EXPIRES_AT,
                    retry_after_ms=43_920,
                    metadata="attempt 2",
                ),
            },
            headers=REPLAYED,
        )
    },
    errors=[
        *BODY_ERRORS,
        BAD_NAME,
        BAD_TTL,
        LockLimitExceeded(),
        NotFound(),
        SessionExpired(),
        Conflict("That term is over; use a new Idempotency-Key for a new attempt"),
        DELAYED,
        OVER_STREAMS,
    ],
)

renew = of_a_key(
    tag=TAG,
    operation_id="renew_lock",
    summary="Go on holding",
    description=(
        "Moves the deadline to `ttl_seconds` from now (omitted: the term's own TTL) and keeps the term; an ephemeral "
        "lock's never beyond its session's end. Expired is expired: renewing never revives, even when nobody else came."
    ),
    parameters=[NAME],
    body=shapes.RenewLockInput,
    body_examples={"Renew": {"lease_id": LEASE_ID, "ttl_seconds": 60}},
    answers={
        200: Answer(
            description="Still held",
            shape=shapes.RenewedOutput,
            examples={
                "Renewed": shapes.RenewedOutput(
                    lease_id=LEASE_ID, expires_at=EXPIRES_AT, renew_after_ms=30_000, safe_for_ms=59_998
                )
            },
        )
    },
    errors=[*BODY_ERRORS, BAD_NAME, BAD_TTL, STALE],
)

release = of_a_key(
    tag=TAG,
    operation_id="release_lock",
    summary="Stop holding",
    description=(
        "Ends the term at once. With `delay`, nobody acquires for the delay the lock was acquired with. Repeated, it "
        "answers 404 with `ended: released`, so a retry knows that it worked."
    ),
    parameters=[NAME],
    body=shapes.ReleaseInput,
    body_examples={"Release": {"lease_id": LEASE_ID}, "With the delay": {"lease_id": LEASE_ID, "delay": True}},
    answers={200: Answer(description="Released", shape={"type": "null"}, examples={"Released": None})},
    errors=[*BODY_ERRORS, BAD_NAME, LeaseNotCurrent(ended="released")],
)

revoke = of_a_key(
    tag=TAG,
    operation_id="revoke_lock",
    summary="End somebody's term",
    description=(
        "For the scope `admin`. Ends exactly the term of that `fencing_token`, so a late click never ends the next "
        "one. Told as released with the reason `revoked`; history and audit say who did it and why."
    ),
    parameters=[NAME],
    body=shapes.RevokeInput,
    body_examples={"Revoke": {"fencing_token": TERM, "reason": "worker-7 hangs", "delay_seconds": 10}},
    answers={
        200: Answer(
            description="The lock as it is now",
            shape=shapes.LockOutput,
            examples={"Delayed": vacant("delayed", term=TERM, available_at=AVAILABLE_AT)},
        )
    },
    errors=[*BODY_ERRORS, BAD_NAME, Conflict("That term is over")],
)

watch = of_a_key(
    tag=TAG,
    operation_id="watch_lock",
    summary="Be told of every change",
    description=(
        "Server-sent events. First the present state, `acquired` or `released`, then a frame for each change, with an "
        "`id`; and for renewals, without one. With `Last-Event-ID` the missed changes come first, in order; an id that "
        "is none of this lock's brings `event: reset` instead. A comment comes after 15 s of silence. The stream ends "
        "after a while, or with its key, with `event: bye`."
    ),
    parameters=[NAME, LAST_EVENT_ID],
    answers={
        200: Answer(
            description="The stream; the schema is that of each frame's data, which `event: bye` has of its own",
            shape=(shapes.LockFrame, sse.ByeFrame),
            media_type="text/event-stream",
            examples={
                "Acquired": shapes.LockFrame(
                    event="acquired",
                    lock_name=LOCK,
                    fencing_token=TERM,
                    expires_at=EXPIRES_AT,
                    observed_at="2026-12-01T22:09:20.123Z",
                ),
                "Revoked": shapes.LockFrame(
                    event="released",
                    lock_name=LOCK,
                    fencing_token=TERM,
                    reason="revoked",
                    observed_at="2026-12-01T22:09:48.317Z",
                ),
                "Bye": sse.ByeFrame(reason="max_age"),
            },
        )
    },
    errors=[BAD_NAME, OVER_STREAMS],
)

history = of_a_key(
    tag=TAG,
    operation_id="lock_history",
    summary="Read who held a lock",
    description=f"The lock's terms, newest first; at most {HISTORY_MAX} are kept.",
    parameters=[
        NAME,
        parameter(
            "query",
            "limit",
            "At most so many terms.",
            example=10,
            type="integer",
            default=HISTORY_MAX,
            minimum=1,
            maximum=HISTORY_MAX,
        ),
    ],
    answers={
        200: Answer(
            description="Past terms, and the current one",
            shape=shapes.HistoryOutput,
            examples={
                "Two terms": shapes.HistoryOutput(
                    name=LOCK,
                    terms=[
                        shapes.LockTermOutput(
                            fencing_token=TERM,
                            holder="worker-7",
                            holder_id=HOLDER_ID,
                            key=VISIBLE,
                            began_at="2026-12-01T22:09:20.123Z",
                            end=None,
                            renewals=0,
                        ),
                        shapes.LockTermOutput(
                            fencing_token=28_937_721_845,
                            holder=None,
                            holder_id="e2a6c8d4-13f7-4b59-a0c1-7d84f5b29e36",
                            key=VISIBLE,
                            began_at="2026-12-01T22:08:41.845Z",
                            ended_at="2026-12-01T22:09:19.562Z",
                            end="removed",
                            reason="worker-3 hangs",
                            actor=f"key:{VISIBLE}",
                            renewals=1,
                        ),
                    ],
                ),
                "None": shapes.HistoryOutput(name=LOCK, terms=[]),
            },
        )
    },
    errors=[BAD_NAME],
)

put_acl = of_a_key(
    tag=TAG,
    operation_id="set_lock_acl",
    summary="Say who may acquire a lock",
    description=(
        "The present holder may (`X-Lease-Id`), and the scope `admin`. Kept with the name, it outlives the lease and "
        "is judged in the very statement that acquires."
    ),
    parameters=[NAME, HOLDERS_LEASE],
    body=shapes.AclInput,
    body_examples={"Two may": {"acl": {"acquire": ACL.acquire}}},
    answers={
        200: Answer(description="Kept", shape=shapes.AclOutput, examples={"Kept": shapes.AclOutput(name=LOCK, acl=ACL)})
    },
    errors=[*BODY_ERRORS, BAD_NAME, STALE],
)

delete_acl = of_a_key(
    tag=TAG,
    operation_id="remove_lock_acl",
    summary="Let the whole team acquire a lock",
    description="The present holder may (`X-Lease-Id`), and the scope `admin`. Where there is none, nothing happens.",
    parameters=[NAME, HOLDERS_LEASE],
    answers={204: Answer(description="There is no acl")},
    errors=[BAD_NAME, STALE],
)
