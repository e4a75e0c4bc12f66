"""The tables of the engine. `octostore.leases.engine` is the only door that writes them.

Instants are whole milliseconds since 1970 on the database's clock, on every database alike.
"""

from __future__ import annotations

from django.db import models


class Ending(models.TextChoices):
    """How a term ended."""

    RELEASED = "released"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Lease(models.Model):
    """One row for each name that was ever held: its current or its last term.

    No index names `expires_at` and pages keep room (fillfactor), so renewals stay heap-only.
    A name is vacant when `ended_at` is set or `expires_at` has passed.
    """

    # Which product, or which tenant of one, the name belongs to.
    space = models.TextField()
    name = models.TextField()

    # The last term given, 0 before the first.
    term = models.BigIntegerField(default=0)
    holder = models.TextField(default="")
    metadata = models.TextField(null=True)
    # The group (a session of locks) that holds it, if one does; whoever judges a group locks its row first.
    group_id = models.TextField(null=True)
    # A bound term ends with its group: `expires_at` is the earlier of `own_expires_at` and the group's
    # deadline, kept so by every keepalive, and so a lease is always judged by its own row alone.
    bound = models.BooleanField(default=False)
    own_expires_at = models.BigIntegerField(default=0)
    # Who may acquire, one entry a line within newlines; null for everybody. Outlives the terms.
    acl = models.TextField(null=True)
    # Whom the grant counts against, as a pseudonym.
    charged_to = models.TextField(default="")
    # The space, for a term that was acquired under a quota and whose end nobody has marked: what a quota counts.
    # Null for all others, so that its index costs them nothing.
    open_in = models.TextField(null=True)
    ttl_ms = models.BigIntegerField(default=0)
    # How long nobody may acquire after this term expires.
    delay_ms = models.BigIntegerField(default=0)
    began_at = models.BigIntegerField(default=0)
    expires_at = models.BigIntegerField(default=0)
    renewals = models.BigIntegerField(default=0)

    # Null while nobody has marked the term's end. Once set, no clock undoes it.
    ended_at = models.BigIntegerField(null=True)
    ending = models.TextField(choices=Ending.choices, default="")
    # From when the name can be acquired again.
    available_at = models.BigIntegerField(default=0)

    # The first term since the name was last forgotten, and the events counted since, without a gap.
    incarnation = models.BigIntegerField(default=0)
    events = models.BigIntegerField(default=0)

    # What proves the hold, without being able to produce it.
    nonce = models.BinaryField(null=True)
    key_id = models.TextField(default="")
    capability_digest = models.BinaryField(null=True)
    # What proves that a second request is a retry of the first, and that it says the same.
    attempt_digest = models.BinaryField(null=True)
    content_digest = models.BinaryField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "name"], name="lease_name")]
        indexes = [
            models.Index(fields=["group_id"], name="lease_group", condition=models.Q(group_id__isnull=False)),
            models.Index(fields=["open_in"], name="lease_open", condition=models.Q(open_in__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.space}/{self.name} term {self.term}"


class LeaseGroup(models.Model):
    """A holder of many leases that lives as long as it says so: a session of locks.

    Ended is final, as for leases. Its key is a secret of whoever made it.
    """

    space = models.TextField()
    key = models.TextField(unique=True)
    charged_to = models.TextField(default="")
    ttl_ms = models.BigIntegerField()
    began_at = models.BigIntegerField()
    expires_at = models.BigIntegerField()
    ended_at = models.BigIntegerField(null=True)
    ending = models.TextField(choices=Ending.choices, default="")

    class Meta:
        indexes = [models.Index(fields=["space", "id"], name="lease_group_walk")]

    def __str__(self) -> str:
        return f"group {self.pk} in {self.space}"


class LeaseEvent(models.Model):
    """One recorded fact about a lease, written in the transaction of the change itself.

    Append-only and counted densely for each name by `n` within its incarnation; renewals are no
    events. Watches, history and webhooks read these rows, never each other.
    """

    class Kind(models.TextChoices):
        ACQUIRED = "acquired"
        RELEASED = "released"
        EXPIRED = "expired"
        REVOKED = "revoked"

    # No constraint of the database's: the lease's row lock orders its events, and the one statement
    # that forgets a name takes both away.
    lease = models.ForeignKey(Lease, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    incarnation = models.BigIntegerField()
    n = models.BigIntegerField()
    kind = models.TextField(choices=Kind.choices)
    at = models.BigIntegerField()
    term = models.BigIntegerField()
    holder = models.TextField()
    group_id = models.TextField(null=True)
    charged_to = models.TextField(default="")
    metadata = models.TextField(null=True)
    expires_at = models.BigIntegerField()
    renewals = models.BigIntegerField()
    reason = models.TextField(default="")
    actor = models.TextField(default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["lease", "incarnation", "n"], name="lease_event_count")]

    def __str__(self) -> str:
        return f"{self.incarnation}-{self.n} {self.kind} term {self.term}"


class FollowedSpace(models.Model):
    """A space whose events are owed to somebody: each is kept as an `OwedEvent` until it was handed over."""

    space = models.TextField(primary_key=True)
    # Whether renewals, which are no events, are owed too.
    renewals = models.BooleanField()

    def __str__(self) -> str:
        return self.space


class OwedEvent(models.Model):
    """What happened in a followed space, until whoever follows took it over.

    Written in the transaction of the change and deleted in that of the hand-over: rows are taken, not
    read on from a cursor, so that one which commits late is found like any other.
    """

    RENEWED = "renewed"

    space = models.TextField()
    name = models.TextField()
    # Null for a renewal, which has no place in the count.
    incarnation = models.BigIntegerField(null=True)
    n = models.BigIntegerField(null=True)
    kind = models.TextField()
    at = models.BigIntegerField()
    term = models.BigIntegerField()
    holder = models.TextField()
    group_id = models.TextField(null=True)
    expires_at = models.BigIntegerField()
    renewals = models.BigIntegerField()
    reason = models.TextField()

    def __str__(self) -> str:
        return f"{self.kind} term {self.term} of {self.space}/{self.name}"


class KnownKey(models.Model):
    """A server key this database may be served under; a process with another one refuses to start."""

    key_id = models.TextField(primary_key=True)
    known_since = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.key_id


class Clock(models.Model):
    """SQLite's clock, one row: the latest instant used and the monotonic clock's reading beside it.

    PostgreSQL has a clock of its own and leaves this row alone.
    """

    mark = models.BigIntegerField(default=0)
    boottime = models.BigIntegerField(default=0)
    boot_id = models.TextField(default="")

    def __str__(self) -> str:
        return f"mark {self.mark}"
