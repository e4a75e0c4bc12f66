"""Who did what, to what, and why: added to, never changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from octostore.teams.models import AuditEntry
from octostore.teams.writing import changing


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Who acts (`key:<visible>`, `user:<e-mail>`, `staff:<e-mail>` or `system`), why, and in which request."""

    actor: str
    reason: str = ""
    request_id: str = ""

    def record(
        self,
        team_id: int | None,
        action: str,
        object: str,
        *,
        before: dict[str, Any] | None = None,
        after: dict[str, Any] | None = None,
    ) -> None:
        record(
            team_id=team_id,
            actor=self.actor,
            action=action,
            object=object,
            reason=self.reason,
            request_id=self.request_id,
            before=before,
            after=after,
        )


def record(
    *,
    team_id: int | None,
    actor: str,
    action: str,
    object: str,
    reason: str = "",
    request_id: str = "",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    """Add an entry, inside the transaction of what it tells of where there is one.

    `action` is a past participle like `key_revoked`, `object` names a thing like `key:ab12…`; `before`
    and `after` hold what changed, never a secret. `team_id` is None for what belongs to no team.
    """
    with changing():
        AuditEntry.objects.create(
            team_id=team_id,
            actor=actor,
            action=action,
            object=object,
            reason=reason,
            request_id=request_id,
            before=before,
            after=after,
        )
