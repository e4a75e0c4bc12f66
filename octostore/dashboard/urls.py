"""The addresses of a team's pages, and beside each what a member's role must permit: the whole policy of the pages."""

from __future__ import annotations

from django.urls import URLPattern, path

from octostore.dashboard import access
from octostore.dashboard.access import View
from octostore.dashboard.views import keys
from octostore.teams.roles import Permission


def team(route: str, view: View, permission: Permission, name: str, *, lately: bool = False) -> URLPattern:
    """A page of a team; with `lately`, for whom it is not long ago that they signed in."""
    return path(f"t/<slug:slug>{route}", access.for_members(view, permission, lately=lately), name=f"team_{name}")


VIEW, MANAGE_KEYS = Permission.VIEW, Permission.MANAGE_KEYS

urlpatterns = [
    team("/keys", keys.index, VIEW, "keys"),
    team("/keys/new", keys.create, MANAGE_KEYS, "new_key", lately=True),
    team("/keys/<slug:visible>/rotate", keys.rotate, MANAGE_KEYS, "rotate_key", lately=True),
    team("/keys/<slug:visible>/revoke", keys.revoke, MANAGE_KEYS, "revoke_key", lately=True),
]
