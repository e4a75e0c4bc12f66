"""The tables of webhooks: where a team's events go, what is owed to whom, and each try to pay it.

Instants are UTC by the process's clock: no lease depends on them.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.utils import timezone

from octostore.teams.models import Team


class Endpoint(models.Model):
    """A customer's URL that is called for events of the team's locks. Its signing secrets are kept sealed."""

    class Off(models.TextChoices):
        """Why nothing is sent."""

        ASKED = "asked"
        GONE = "gone"
        FAILING = "failing"

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="endpoints")
    url = models.TextField()
    # In order, separated by spaces; * for all.
    events = models.TextField()
    # A lock's name, or the beginning of names and a star.
    lock_pattern = models.TextField()
    secret = models.TextField()
    # The secret before, which signs beside the present one until then.
    previous_secret = models.TextField(default="")
    previous_until = models.DateTimeField(null=True)
    created_by = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)
    off = models.TextField(choices=Off, default="")
    off_at = models.DateTimeField(null=True)
    # When the owners were told that it was switched off, and until when one process has the telling to itself.
    owners_told_at = models.DateTimeField(null=True)
    telling_until = models.DateTimeField(null=True)
    # The end of the first failed attempt since the last success.
    failing_since = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    # Whether the last call that succeeded kept its caller long.
    is_slow = models.BooleanField(default=False, db_default=False)
    # From then on it is there for nobody; its deliveries go in the background.
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["team"], name="endpoint_there", condition=models.Q(deleted_at=None))]

    def __str__(self) -> str:
        return f"endpoint {self.uuid} of {self.team_id}"

    @property
    def is_active(self) -> bool:
        return not self.off and self.deleted_at is None

    @property
    def is_proved(self) -> bool:
        """Whether a call to it succeeded, and none has failed since."""
        return self.failing_since is None and self.last_success_at is not None

    @property
    def may_stall(self) -> bool:
        """Whether the next call to it is likely to keep its caller long."""
        return self.is_slow or not self.is_proved


class Delivery(models.Model):
    """One event owed to one endpoint: its body to the byte, and how far it has come."""

    class State(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        FAILED = "failed"
        # The endpoint was switched off or deleted first.
        CANCELLED = "cancelled"

    class Trigger(models.TextChoices):
        """What an attempt is made for."""

        AUTOMATIC = "automatic"
        MANUAL = "manual"
        RECOVERY = "recovery"
        TEST = "test"

    # Made once, and beside the schedule.
    EXTRA = frozenset({Trigger.MANUAL, Trigger.TEST})

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="deliveries")
    # The same for all endpoints and on every attempt.
    message_id = models.TextField()
    kind = models.TextField()
    lock = models.TextField()
    body = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)
    state = models.TextField(choices=State, default=State.PENDING)
    ended_at = models.DateTimeField(null=True)
    # How many attempts were begun in all, and how many of the present round of the schedule.
    attempts_made = models.PositiveIntegerField(default=0)
    round_made = models.PositiveIntegerField(default=0)
    trigger = models.TextField(choices=Trigger, default=Trigger.AUTOMATIC)
    # From when the next attempt may be made, and until when one that was begun has the delivery to itself.
    due_at = models.DateTimeField(default=timezone.now)
    claimed_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["endpoint", "message_id"], name="delivery_once")]
        indexes = [
            models.Index(fields=["endpoint", "due_at", "id"], name="delivery_due", condition=models.Q(state="pending")),
            models.Index(fields=["endpoint", "trigger"], name="delivery_extra", condition=models.Q(state="pending")),
            models.Index(
                fields=["claimed_until"], name="delivery_claimed", condition=models.Q(claimed_until__isnull=False)
            ),
            models.Index(fields=["endpoint", "id"], name="delivery_walk"),
            models.Index(fields=["created_at"], name="delivery_age"),
        ]

    def __str__(self) -> str:
        return f"delivery {self.uuid} of {self.kind}"


class Attempt(models.Model):
    """One HTTP call for a delivery. Without an end it is under way, or its process was killed."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    trigger = models.TextField(choices=Delivery.Trigger)
    began_at = models.DateTimeField()
    took_ms = models.PositiveIntegerField(null=True)
    # The HTTP status, where one came.
    status = models.PositiveIntegerField(null=True)
    # Why it failed, in a word of `outbound`; empty for a success.
    failure = models.TextField(default="")
    # The beginning of what the receiver answered, as text.
    answer = models.TextField(default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["delivery", "number"], name="attempt_number")]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.delivery_id}"
