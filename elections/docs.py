"""What the OpenAPI document says of the endpoints of elections; the examples are answers this code gave."""

from __future__ import annotations

from django.conf import settings

from elections import shapes
from elections.capacity import RETRY_AFTER_MS
from elections.rules import TERM_MAX, TERMS_DEFAULT, TERMS_MAX
from elections.watch import StateFrame
from octostore.api.schema import BODY_ERRORS, Answer, document, parameter
from octostore.lib import ids
from octostore.lib.errors import (
    CapacityExceeded,
    Conflict,
    Forbidden,
    InvalidInput,
    InvalidTTL,
    LeaseNotCurrent,
    RateLimited,
)
from octostore.live import seats, sse

TAG = "Elections"
ROOM = "muo7wYTUV0HVge5Z3UMRlqAcjiYSMXzE"
TERM = 28_842_628_719
LEADER_TOKEN = "LWwqOJk1DfMy648bOKylgiwIja3pjwAY9NdK66PGaRw"
LEADER = shapes.Leader(candidate_id="agent-atlas", term=TERM, expires_at="2026-11-30T19:50:58.719Z")

ELECTION_ID = parameter(
    "path",
    "election_id",
    "Any valid id is a room, created or not; `POST /elections` makes up one that nobody guesses.",
    pattern=f"^{ids.ELECTION_ID.pattern}$",
)
ATTEMPT = parameter(
    "header",
    "Idempotency-Key",
    "A secret of the caller, a fresh UUID for each attempt to lead. While the term it won lives, the same key with the "
    "same body gives the same term and `leader_token`, with fresh times.",
    pattern=f"^{ids.IDEMPOTENCY_KEY.pattern}$",
)
LAST_EVENT_ID = parameter(
    "header", "Last-Event-ID", f"The id of the last event received, like `{TERM}-7`.", pattern=r"^[0-9]+-[0-9]+$"
)
REPLAYED = {"Idempotent-Replayed": ("Present when this answer repeats an earlier one to the same key.", "true")}

OFF = Forbidden("Public elections are switched off on this server")
BAD_ID = InvalidInput(f"election_id must be {ids.ELECTION_ID_RULE}")
BAD_TTL = InvalidTTL(
    f"ttl_seconds must be from {settings.ELECTION_TTL_MIN_SECONDS} to {settings.ELECTION_TTL_MAX_SECONDS}"
)
OVER_BUDGET = RateLimited(
    f"The budget is {settings.ELECTION_REQUESTS_PER_MINUTE} a minute for each client", retry_after_ms=100
)
OVER_GUESSES = RateLimited(
    f"The budget is {settings.WRONG_CAPABILITIES_PER_MINUTE} a minute for each client", retry_after_ms=1000
)
FULL = CapacityExceeded(
    f"A client can lead {settings.LED_ROOMS_MAX_PER_CLIENT} rooms at once", retry_after_ms=RETRY_AFTER_MS
)
OVER_STREAMS = RateLimited(
    f"A client can have {settings.STREAMS_MAX_PER_CLIENT} streams and waits open", retry_after_ms=seats.RETRY_AFTER_MS
)
STALE = LeaseNotCurrent(ended="expired")

_won = shapes.LeaderOutput(
    election_id=ROOM, leader=LEADER, leader_token=LEADER_TOKEN, renew_after_ms=15_000, safe_for_ms=29_998
)

create = document(
    operation_id="create_election",
    tag=TAG,
    summary="Make up a room",
    description=(
        "A room is an address: 24 random bytes that nobody guesses. Nothing is stored, and no body is needed. "
        "Anybody who knows the address can campaign there. With `Accept: text/plain` or `?format=sh` the answer is a "
        "commented shell script with the address filled in."
    ),
    parameters=[parameter("query", "format", "`sh` for the script; anything else is ignored.")],
    answers={
        201: Answer(
            description="A fresh address",
            shape=shapes.RoomOutput,
            examples={
                "Room": shapes.RoomOutput(
                    election_id=ROOM,
                    campaign_path=f"/elections/{ROOM}/campaign",
                    status_path=f"/elections/{ROOM}",
                    watch_path=f"/elections/{ROOM}/watch",
                    url=f"https://octo.example/r/{ROOM}",
                )
            },
            text="# A room of your own. Its id is all there is: whoever knows it can campaign there.\n",
        )
    },
    errors=[*BODY_ERRORS, OFF, OVER_BUDGET],
)

campaign = document(
    operation_id="campaign",
    tag=TAG,
    summary="Try to lead a room",
    description=(
        "Won or lost at once; losing is an answer, not an error. With `wait_seconds` the request waits for the room "
        "instead, first come first served, and is answered the moment it wins or when the wait is over; a win that was "
        f"waited for lasts at most {settings.WAITED_TTL_MAX_SECONDS} s until its first renewal. "
        "The same `candidate_id` proves nothing: a second "
        "campaign by it is a follower like any other. What proves a retry is an `Idempotency-Key`. A leader must stop "
        "acting `safe_for_ms` after it sent the request, unless a renewal succeeded meanwhile. After a 503 or no "
        "answer at all the outcome is unknown: retry with the same key."
    ),
    parameters=[ELECTION_ID, ATTEMPT],
    body=shapes.CampaignInput,
    body_examples={
        "Candidate": {"candidate_id": "agent-atlas", "ttl_seconds": 30},
        "With metadata": {"candidate_id": "agent-atlas", "ttl_seconds": 30, "metadata": "eu-west, build 1871"},
        "Waiting": {"candidate_id": "agent-atlas", "ttl_seconds": 30, "wait_seconds": 60},
    },
    answers={
        200: Answer(
            description="The caller leads, or somebody else does",
            shape=shapes.LeaderOutput | shapes.FollowerOutput,
            examples={
                "Won": _won,
                "Lost": shapes.FollowerOutput(election_id=ROOM, leader=LEADER, retry_after_ms=33_978),
            },
            headers=REPLAYED,
        )
    },
    errors=[
        *BODY_ERRORS,
        BAD_ID,
        BAD_TTL,
        OFF,
        Conflict("That term is over; use a new Idempotency-Key for a new attempt"),
        FULL,
        OVER_BUDGET,
        OVER_STREAMS,
    ],
)

status = document(
    operation_id="election_status",
    tag=TAG,
    summary="Ask who leads",
    description=(
        "A lease past its deadline reads as vacant at once. Vacant is advice: only a won campaign proves it. Never "
        "limited."
    ),
    parameters=[ELECTION_ID],
    answers={
        200: Answer(
            description="Led or vacant",
            shape=shapes.LedOutput | shapes.VacantOutput,
            examples={
                "Led": shapes.LedOutput(election_id=ROOM, leader=LEADER, retry_after_ms=33_978),
                "Vacant": shapes.VacantOutput(election_id=ROOM, retry_after_ms=0),
            },
        )
    },
    errors=[BAD_ID, OFF],
)

watch = document(
    operation_id="watch_election",
    tag=TAG,
    summary="Be told of every change",
    description=(
        "Server-sent events. First `event: state` with the present state, then one for each change: won, resigned, "
        "expired, removed; and for renewals, which carry no `id` and no promise. `leader` is null while nobody leads. "
        "`id` is `<incarnation>-<n>`: n counts the room's changes without a gap. With `Last-Event-ID` the missed "
        "changes come first, in order, then the present state without an id; an id that is none of this room's, or "
        "older than what is kept, brings `event: reset` with the present state instead. A comment line comes after "
        f"15 s of silence. The stream ends after {settings.STREAM_SECONDS} s, or when the server stops, "
        "with `event: bye` whose data is "
        '`{"reason": ...}`; and without it when the reader lags. Then connect again, with the last id. Streams and '
        f"waits of a client share {settings.STREAMS_MAX_PER_CLIENT} places."
    ),
    parameters=[ELECTION_ID, LAST_EVENT_ID],
    answers={
        200: Answer(
            description="The stream; the schema is that of each frame's data, which `event: bye` has of its own",
            shape=(StateFrame, sse.ByeFrame),
            media_type="text/event-stream",
            examples={
                "Led": StateFrame(
                    election_id=ROOM,
                    status="leader",
                    leader=LEADER,
                    retry_after_ms=33_978,
                    observed_at="2026-11-30T19:50:28.719Z",
                ),
                "Bye": sse.ByeFrame(reason="max_age"),
            },
        )
    },
    errors=[BAD_ID, OFF, OVER_STREAMS],
)

renew = document(
    operation_id="renew",
    tag=TAG,
    summary="Go on leading",
    description=(
        "Moves the deadline to `ttl_seconds` from now (omitted: the term's own TTL) and keeps the term. Expired is "
        "expired: renewing never revives, even when nobody else came. Limited for wrong tokens only."
    ),
    parameters=[ELECTION_ID],
    body=shapes.RenewInput,
    body_examples={"Renew": {"leader_token": LEADER_TOKEN, "ttl_seconds": 30}},
    answers={200: Answer(description="Still leading", shape=shapes.LeaderOutput, examples={"Renewed": _won})},
    errors=[*BODY_ERRORS, BAD_ID, BAD_TTL, OFF, STALE, OVER_GUESSES],
)

resign = document(
    operation_id="resign",
    tag=TAG,
    summary="Stop leading",
    description=(
        "Ends the term at once. Repeated, it answers 404 with `ended: released`, so a retry knows that it worked. "
        "Limited for wrong tokens only."
    ),
    parameters=[ELECTION_ID],
    body=shapes.ResignInput,
    body_examples={"Resign": {"leader_token": LEADER_TOKEN}},
    answers={
        200: Answer(
            description="The room is vacant",
            shape=shapes.ResignedOutput,
            examples={"Resigned": shapes.ResignedOutput(election_id=ROOM, previous_term=TERM)},
        )
    },
    errors=[*BODY_ERRORS, BAD_ID, OFF, LeaseNotCurrent(ended="released"), OVER_GUESSES],
)

terms = document(
    operation_id="terms",
    tag=TAG,
    summary="Read who led",
    description=f"The room's terms, newest first; at most {TERMS_MAX} are kept. Never limited.",
    parameters=[
        ELECTION_ID,
        parameter(
            "query",
            "limit",
            "At most so many terms.",
            example=10,
            type="integer",
            default=TERMS_DEFAULT,
            minimum=1,
            maximum=TERMS_MAX,
        ),
    ],
    answers={
        200: Answer(
            description="Past terms, and the current one",
            shape=shapes.TermsOutput,
            examples={
                "Two terms": shapes.TermsOutput(
                    election_id=ROOM,
                    terms=[
                        shapes.TermOutput(
                            term=TERM,
                            candidate_id="agent-atlas",
                            began_at="2026-11-30T19:50:28.719Z",
                            end=None,
                            renewals=0,
                        ),
                        shapes.TermOutput(
                            term=28_842_622_443,
                            candidate_id="agent-borea",
                            began_at="2026-11-30T19:50:22.443Z",
                            ended_at="2026-11-30T19:50:27.484Z",
                            end="expired",
                            renewals=1,
                        ),
                    ],
                ),
                "None": shapes.TermsOutput(election_id=ROOM, terms=[]),
            },
        )
    },
    errors=[BAD_ID, OFF],
)

term_status = document(
    operation_id="term_status",
    tag=TAG,
    summary="Ask whether a term is still the current one",
    description=(
        "`current`, `ended` (it was the last, and nobody leads), `superseded` (below the last term, whether it was "
        "ever granted or not) or `unknown` (above). It narrows the window for a stale write; only a resource that "
        "stores the highest term together with the write closes it. Never limited."
    ),
    parameters=[
        ELECTION_ID,
        parameter("path", "term", "A term's number.", example=TERM, type="integer", minimum=1, maximum=TERM_MAX),
    ],
    answers={
        200: Answer(
            description="Where the term stands",
            shape=shapes.TermStatusOutput,
            examples={
                "Current": shapes.TermStatusOutput(election_id=ROOM, term=TERM, status="current", current_term=TERM),
                "Superseded": shapes.TermStatusOutput(
                    election_id=ROOM, term=28_842_622_443, status="superseded", current_term=TERM
                ),
            },
        )
    },
    errors=[BAD_ID, OFF],
)
