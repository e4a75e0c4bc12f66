"""Whether what was opened by a key, or by a person on a page, may go on."""

from __future__ import annotations

from collections.abc import Set

from django.db.models import Q
from django.utils import timezone

from octostore.teams.models import ApiKey
from octostore.teams.principals import Principal
from octostore.teams.visits import Visit, still_there
from octostore.teams.writing import reading

Right = Principal | Visit


def still_valid(rights: Set[Right]) -> set[Right]:
    """Those that could still be used as they were. Raises Unavailable."""
    keys = {one for one in rights if isinstance(one, Principal)}
    visits = {one for one in rights if isinstance(one, Visit)}
    return _usable(keys) | still_there(visits)


def _usable(principals: Set[Principal]) -> set[Principal]:
    """Those whose key was not revoked, has not expired, and was neither rotated nor narrowed since. One query."""
    if not principals:
        return set()
    in_time = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    found = ApiKey.objects.filter(in_time, id__in={one.key_id for one in principals}, revoked_at=None)
    rows = reading(lambda: list(found.values_list("id", "rotation", "scopes", "prefix")))
    usable = {(key_id, rotation, frozenset(scopes.split()), prefix) for key_id, rotation, scopes, prefix in rows}
    return {one for one in principals if (one.key_id, one.rotation, one.scopes, one.prefix) in usable}
