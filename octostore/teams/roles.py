"""What each role may do in its team. The whole policy is the table below."""

from __future__ import annotations

from enum import StrEnum

from octostore.lib.errors import Forbidden
from octostore.teams.models import Membership, Role


class Permission(StrEnum):
    VIEW = "view"
    USE_LOCKS = "use_locks"
    RETRY_DELIVERIES = "retry_deliveries"
    READ_AUDIT = "read_audit"
    REVOKE_LOCKS = "revoke_locks"
    END_SESSIONS = "end_sessions"
    MANAGE_KEYS = "manage_keys"
    MANAGE_WEBHOOKS = "manage_webhooks"
    MANAGE_MEMBERS = "manage_members"
    MANAGE_OWNERS = "manage_owners"


_VIEWER = {Permission.VIEW}
_MEMBER = _VIEWER | {Permission.USE_LOCKS, Permission.RETRY_DELIVERIES}
_ADMIN = _MEMBER | {
    Permission.READ_AUDIT,
    Permission.REVOKE_LOCKS,
    Permission.END_SESSIONS,
    Permission.MANAGE_KEYS,
    Permission.MANAGE_WEBHOOKS,
    Permission.MANAGE_MEMBERS,
}
_OWNER = _ADMIN | {Permission.MANAGE_OWNERS}

PERMITTED: dict[str, frozenset[Permission]] = {
    Role.VIEWER: frozenset(_VIEWER),
    Role.MEMBER: frozenset(_MEMBER),
    Role.ADMIN: frozenset(_ADMIN),
    Role.OWNER: frozenset(_OWNER),
}


def may(role: str, permission: Permission) -> bool:
    return permission in PERMITTED[role]


def require(member: Membership, permission: Permission) -> None:
    """Raises Forbidden where the member's role does not include the permission."""
    if not may(member.role, permission):
        raise Forbidden(f"The role {member.role} does not include this")


def to_manage(role: str) -> Permission:
    """What it takes to give a role, or to take it away."""
    return Permission.MANAGE_OWNERS if role == Role.OWNER else Permission.MANAGE_MEMBERS
