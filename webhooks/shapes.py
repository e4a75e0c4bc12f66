"""The JSON of webhooks: what comes in, by type alone, and what goes out.

Bounds are rules (`webhooks.rules`), checked after permission; types are shapes, checked before. What
`_documented` says goes into the OpenAPI document and checks nothing.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from octostore.lib.destinations import URL_MAX_CHARACTERS
from octostore.lib.outbound import FailureReason
from webhooks.signing import SECRET_RULE

State = Literal["pending", "delivered", "failed", "cancelled"]
Off = Literal["asked", "gone", "failing"]
Trigger = Literal["automatic", "manual", "recovery", "test"]


def _documented(description: str, **schema: Any) -> Meta:
    return Meta(extra_json_schema={"description": description, **schema})


Failure = Annotated[
    str,
    _documented(
        "Why it failed: `status` is any answer but 2xx, `interrupted` a process that was killed",
        enum=[*FailureReason, "status", "interrupted"],
    ),
]
Id = Annotated[str, _documented("The id of the webhook", format="uuid")]
DeliveryId = Annotated[str, _documented("The id of the delivery", format="uuid")]
Url = Annotated[str, _documented("Where the calls go", format="uri", maxLength=URL_MAX_CHARACTERS)]
Instant = Annotated[str, _documented("RFC 3339 in UTC, with milliseconds", format="date-time")]
Events = Annotated[
    list[Annotated[str, _documented("An event", enum=["acquired", "released", "renewed", "expired", "*"])]],
    _documented("What is told; * is everything", minItems=1),
]
LockPattern = Annotated[
    str, _documented("A lock's name, the beginning of names and a star, or a star alone", minLength=1)
]
Secret = Annotated[str, _documented(f"What signs the calls: {SECRET_RULE}", pattern="^whsec_")]


class WebhookInput(Struct, kw_only=True):
    """Without `events` all but renewals; without `lock_pattern` all locks the key may see; a secret is made."""

    url: Url
    events: Events | None = None
    lock_pattern: LockPattern | None = None
    secret: Secret | None = None


class WebhookChange(Struct, kw_only=True):
    """What is left out stays as it is."""

    url: Url | None = None
    events: Events | None = None
    lock_pattern: LockPattern | None = None
    active: Annotated[bool | None, _documented("Whether calls are made")] = None


class RotateSecretInput(Struct, kw_only=True):
    now: Annotated[bool | None, _documented("Whether the old secret signs no more from now on")] = None
    secret: Secret | None = None


class RecoverInput(Struct, kw_only=True):
    since: Annotated[str, _documented("From which instant on", format="date-time")]


class WebhookOutput(Struct, kw_only=True):
    """`secret` is shown by the answer that made it, and `****` by all others; `user_id` is the team's pseudonym."""

    id: Id
    user_id: Annotated[str, _documented("The team's pseudonym", format="uuid")]
    url: Url
    secret: str
    events: Events
    lock_pattern: LockPattern
    created_at: Instant
    active: bool
    inactive_reason: Annotated[
        Off | None,
        _documented("Why no calls are made: it was asked for, a call was answered 410, or none succeeded for days"),
    ]
    failing_since: Instant | None
    last_success_at: Instant | None
    old_secret_until: Annotated[
        str | None, _documented("Until when the secret before signs too", format="date-time")
    ] = None


class AttemptOutput(Struct, kw_only=True):
    """One call. `error` is null for a success, and with `duration_ms` while the call is under way."""

    number: Annotated[int, _documented("Counted from 1 through all attempts", minimum=1)]
    trigger: Trigger
    at: Instant
    duration_ms: Annotated[int | None, _documented("From the first look-up to the end", minimum=0)]
    status: Annotated[int | None, _documented("The HTTP status, where one came")]
    error: Failure | None
    response: Annotated[str | None, _documented("The beginning of what was answered, as text")]


class DeliveryOutput(Struct, kw_only=True):
    id: DeliveryId
    message_id: Annotated[str, _documented("`webhook-id`: the same on every attempt, and for all webhooks")]
    type: Annotated[str, _documented("As in the body")]
    lock: str
    created_at: Instant
    state: State
    next_attempt_at: Instant | None
    attempts: list[AttemptOutput]


class DeliveriesOutput(Struct, kw_only=True):
    """The newest first."""

    deliveries: list[DeliveryOutput]
    next_cursor: Annotated[str | None, _documented("What `cursor` must be for the next page; null on the last")]


class RecoveredOutput(Struct, kw_only=True):
    recovered: Annotated[int, _documented("How many deliveries are sent again", minimum=0)]
