"""What the OpenAPI document says of the endpoints of webhooks; the examples are answers this code gave."""

from __future__ import annotations

from django.conf import settings

from octostore.api.paging import CURSOR, LIMIT
from octostore.api.schema import BODY_ERRORS, Answer, of_a_key, parameter
from octostore.lib.errors import Conflict, InvalidInput, NotFound
from webhooks import shapes
from webhooks.models import Delivery
from webhooks.shapes import AttemptOutput, DeliveriesOutput, DeliveryOutput, RecoveredOutput, WebhookOutput

TAG = "Webhooks"
ID = parameter("path", "webhook_id", "The webhook's id.", format="uuid")
DELIVERY_ID = parameter("path", "delivery_id", "The delivery's id.", format="uuid")
STATE = parameter("query", "state", "Only deliveries in this state.", enum=list(Delivery.State.values))
URL = "https://example.com/octostore"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwQ9XNgK1ZLqo="
SWITCHED_OFF = Conflict("The webhook is switched off")
BAD_URL = InvalidInput("url cannot be called: It must begin with https://")


def _webhook(secret: str) -> WebhookOutput:
    return WebhookOutput(
        id="6b0c1f6e-7d0e-4a53-9f0b-2f6f6d1f8a11",
        user_id="2f6d8c1a-4b7e-4e90-95d3-c8a1f0b7e264",
        url=URL,
        secret=secret,
        events=["acquired", "expired"],
        lock_pattern="repo/*",
        created_at="2026-12-01T22:00:00.000Z",
        active=True,
        inactive_reason=None,
        failing_since=None,
        last_success_at="2026-12-01T22:10:20.412Z",
    )


_pending = DeliveryOutput(
    id="d1c7a5f0-1e0a-4a4e-8f64-0f6f4f0b9a52",
    message_id="msg_Zk5uQ3hJb2x5c2VjcmV0bm90YXQ",
    type="lock.expired",
    lock="repo/issue-1842",
    created_at="2026-12-01T22:10:20.123Z",
    state="pending",
    next_attempt_at="2026-12-01T22:10:25.941Z",
    attempts=[
        AttemptOutput(
            number=1,
            trigger="automatic",
            at="2026-12-01T22:10:20.190Z",
            duration_ms=84,
            status=500,
            error="status",
            response="Internal Server Error",
        )
    ],
)

create = of_a_key(
    operation_id="create_webhook",
    tag=TAG,
    summary="Be called for events of locks",
    description=(
        "Calls are POSTs of JSON, signed as Standard Webhooks say; docs/webhooks.md shows how to verify them. The "
        "signing secret is shown by this answer alone. A key with a prefix can ask for locks within it. A team has at "
        f"most {settings.WEBHOOKS_MAX} webhooks."
    ),
    body=shapes.WebhookInput,
    body_examples={
        "Ends of some locks": {"url": URL, "events": ["released", "expired"], "lock_pattern": "repo/*"},
        "All there is": {"url": URL, "events": ["*"]},
    },
    answers={
        201: Answer(description="Made", shape=shapes.WebhookOutput, examples={"Made": _webhook(SECRET)}),
    },
    errors=[*BODY_ERRORS, BAD_URL, Conflict(f"A team has at most {settings.WEBHOOKS_MAX} webhooks")],
)

walk = of_a_key(
    operation_id="list_webhooks",
    tag=TAG,
    summary="List the team's webhooks",
    description="The oldest first, in one answer. A key with a prefix sees those within it.",
    answers={
        200: Answer(description="All of them", shape=list[WebhookOutput], examples={"One": [_webhook("****")]}),
    },
)

show = of_a_key(
    operation_id="webhook_status",
    tag=TAG,
    summary="Look at a webhook",
    description="Whether it is active and, where calls fail, since when.",
    parameters=[ID],
    answers={200: Answer(description="The webhook", shape=WebhookOutput, examples={"Active": _webhook("****")})},
    errors=[NotFound()],
)

change = of_a_key(
    operation_id="change_webhook",
    tag=TAG,
    summary="Change a webhook, or switch it off or on",
    description=(
        "Switched off, nothing that waits is sent. Switched on again, it is called for what happens from then on; "
        "what was missed can be recovered."
    ),
    parameters=[ID],
    body=shapes.WebhookChange,
    body_examples={"Switch on": {"active": True}, "Move": {"url": URL}},
    answers={
        200: Answer(description="As it is now", shape=WebhookOutput, examples={"Active": _webhook("****")}),
    },
    errors=[*BODY_ERRORS, BAD_URL, NotFound()],
)

delete = of_a_key(
    operation_id="delete_webhook",
    tag=TAG,
    summary="Delete a webhook",
    description="Nothing that waits is sent, and its deliveries are forgotten.",
    parameters=[ID],
    answers={204: Answer(description="Deleted")},
    errors=[NotFound()],
)

rotate = of_a_key(
    operation_id="rotate_webhook_secret",
    tag=TAG,
    summary="Replace the signing secret",
    description=(
        "Calls carry a signature of the new and of the old secret for 24 hours, or with `now` of the new one alone: "
        "at once, for what is tried again too. Never more than two sign. The new secret is shown by this answer alone."
    ),
    parameters=[ID],
    body=shapes.RotateSecretInput,
    body_examples={"In a day": {}, "The old one leaked": {"now": True}},
    answers={
        200: Answer(description="Replaced", shape=WebhookOutput, examples={"Replaced": _webhook(SECRET)}),
    },
    errors=[*BODY_ERRORS, NotFound()],
)

test = of_a_key(
    operation_id="test_webhook",
    tag=TAG,
    summary="Send a test call",
    description=(
        "One call of the type `webhook.test` with `data.test` true, made at once and never repeated. The answer does "
        "not wait for it: look at the delivery for what came of it."
    ),
    parameters=[ID],
    answers={
        202: Answer(
            description="It will be sent",
            shape=DeliveryOutput,
            examples={
                "Waiting": DeliveryOutput(
                    id=_pending.id,
                    message_id=_pending.message_id,
                    type="webhook.test",
                    lock="example/lock",
                    created_at=_pending.created_at,
                    state="pending",
                    next_attempt_at=_pending.created_at,
                    attempts=[],
                )
            },
        )
    },
    errors=[*BODY_ERRORS, NotFound(), SWITCHED_OFF],
)

recover = of_a_key(
    operation_id="recover_webhook",
    tag=TAG,
    summary="Send again what never arrived",
    description=(
        "Every delivery created at or after `since` that failed, or that was cancelled when the webhook was switched "
        "off, is sent again under its own message id, with the whole schedule. What happened while the webhook was "
        "off was never a delivery and stays untold."
    ),
    parameters=[ID],
    body=shapes.RecoverInput,
    body_examples={"A day": {"since": "2026-11-30T22:00:00Z"}},
    answers={
        202: Answer(
            description="They will be sent", shape=RecoveredOutput, examples={"Three": RecoveredOutput(recovered=3)}
        )
    },
    errors=[*BODY_ERRORS, NotFound(), SWITCHED_OFF],
)

walk_deliveries = of_a_key(
    operation_id="list_deliveries",
    tag=TAG,
    summary="Read what was sent, attempt by attempt",
    description="The newest first.",
    parameters=[ID, STATE, CURSOR, LIMIT],
    answers={
        200: Answer(
            description="One page",
            shape=DeliveriesOutput,
            examples={"One": DeliveriesOutput(deliveries=[_pending], next_cursor=None)},
        )
    },
    errors=[NotFound(), InvalidInput("state must be one of pending delivered failed cancelled")],
)

show_delivery = of_a_key(
    operation_id="delivery_status",
    tag=TAG,
    summary="Look at a delivery",
    description="Its state and every attempt.",
    parameters=[ID, DELIVERY_ID],
    answers={200: Answer(description="The delivery", shape=DeliveryOutput, examples={"Waiting": _pending})},
    errors=[NotFound()],
)

redeliver = of_a_key(
    operation_id="redeliver",
    tag=TAG,
    summary="Send a delivery again",
    description=(
        "Now and once, whatever came of it before, under the same message id; what the schedule still holds stays."
    ),
    parameters=[ID, DELIVERY_ID],
    answers={202: Answer(description="It will be sent", shape=DeliveryOutput, examples={"Waiting": _pending})},
    errors=[
        *BODY_ERRORS,
        NotFound(),
        SWITCHED_OFF,
        Conflict("An attempt of this delivery is under way"),
    ],
)
