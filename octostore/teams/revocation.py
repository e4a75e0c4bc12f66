"""Whether what was opened by a key may go on."""

from __future__ import annotations

from collections.abc import Set

from django.db.models import Q
from django.utils import timezone

from octostore.teams.models import ApiKey
from octostore.teams.principals import Principal
from octostore.teams.writing import reading


def still_valid(principals: Set[Principal]) -> set[Principal]:
    """Those whose key could still be used as it was: not revoked, not expired, nor rotated or narrowed since.

    One query. Raises Unavailable.
    """
    in_time = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    found = ApiKey.objects.filter(in_time, id__in={one.key_id for one in principals}, revoked_at=None)
    rows = reading(lambda: list(found.values_list("id", "rotation", "scopes", "prefix")))
    usable = {(key_id, rotation, frozenset(scopes.split()), prefix) for key_id, rotation, scopes, prefix in rows}
    return {one for one in principals if (one.key_id, one.rotation, one.scopes, one.prefix) in usable}
