"""The tables of tenancy: people, teams, who belongs to which as what, and the keys their workers carry.

Instants are UTC by the process's clock: no lease depends on them.
"""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from octostore.teams.principals import lock_space


class Role(models.TextChoices):
    """What a member is to a team, the most powerful first; what each may do stands in `roles`."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        user = self.model(email=email.lower(), **fields)
        user.set_password(password)
        user.save()
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        return self.create_user(email, password, **{"is_staff": True} | fields)

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email=(username or "").lower())


class User(AbstractBaseUser):
    """A person, known by an e-mail address in lower case. Staff serve all teams and may belong to none."""

    email = models.EmailField(unique=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    date_joined = models.DateTimeField(default=timezone.now)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(email=Lower("email")), name="user_email_lower")]

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.email = self.email.lower()
        super().save(*args, **kwargs)

    def has_perm(self, perm: str, obj: object = None) -> bool:
        """What the staff area asks: who is staff sees all of it, and its pages say what can be changed there."""
        return self.is_active and self.is_staff

    def has_module_perms(self, app_label: str) -> bool:
        return self.is_active and self.is_staff


class Team(models.Model):
    """A tenant. Its UUID is what others learn of it; its slug is for people and stands in addresses of pages."""

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    slug = models.TextField(unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    members = models.ManyToManyField(User, through="Membership", related_name="teams")

    def __str__(self) -> str:
        return self.slug

    @property
    def lock_space(self) -> str:
        """Where the team's locks live among all leases."""
        return lock_space(str(self.uuid))


class Membership(models.Model):
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.TextField(choices=Role)
    joined_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_membership_a_team")]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.team}"

    @property
    def lock_space(self) -> str:
        return self.team.lock_space

    @property
    def actor(self) -> str:
        """How history and audit name the member."""
        return f"user:{self.user.email}"


class Invitation(models.Model):
    """An offer to join a team, for one address. The link in the mail carries the secret, the row its digest."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField()
    role = models.TextField(choices=Role)
    digest = models.BinaryField(unique=True)
    invited_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    # One of the two ends it.
    accepted_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "email"],
                condition=models.Q(accepted_at=None, withdrawn_at=None),
                name="one_open_invitation_an_address",
            )
        ]

    def __str__(self) -> str:
        return f"{self.email} to {self.team} as {self.role}"


class ApiKey(models.Model):
    """A long-lived credential of a team: `osk_`, the visible part that finds it, a secret of which a digest is kept."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="keys")
    visible = models.TextField(unique=True)
    digest = models.BinaryField()
    # How often the secret was replaced: what was opened under an earlier one ends.
    rotation = models.PositiveIntegerField(default=0)
    name = models.TextField()
    # In order, separated by spaces.
    scopes = models.TextField()
    # The beginning that every lock's name must have; null for all names.
    prefix = models.TextField(null=True)
    created_by = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name} (osk_{self.visible}…)"


class Quota(models.Model):
    """How much a team may have at once where staff decided otherwise; null leaves the service's own limit."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="quota", primary_key=True)
    locks = models.PositiveIntegerField(null=True, blank=True)
    sessions = models.PositiveIntegerField(null=True, blank=True)
    streams = models.PositiveIntegerField(null=True, blank=True)
    waits = models.PositiveIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return f"quota of {self.team}"


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    """Entries are added and read. The database itself refuses to change one."""

    def update(self, **_: Any) -> int:
        raise TypeError("An audit entry is never changed.")

    def delete(self) -> tuple[int, dict[str, int]]:
        raise TypeError("An audit entry is never removed.")


class AuditEntry(models.Model):
    """Who did what to what, and why. Written by `audit.record` alone."""

    at = models.DateTimeField(default=timezone.now)
    # Null for what staff did to something that belongs to no team.
    team = models.ForeignKey(Team, null=True, on_delete=models.PROTECT, related_name="audit")
    actor = models.TextField()
    action = models.TextField()
    object = models.TextField()
    reason = models.TextField(default="")
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    request_id = models.TextField(default="")

    objects = AuditQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["team", "id"], name="audit_of_team")]
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.object}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise TypeError("An audit entry is never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        raise TypeError("An audit entry is never removed.")
