"""The addresses of a team's pages, and beside each what a member's role must permit: the whole policy of the pages."""

from __future__ import annotations

from django.urls import URLPattern, path
from django.views.generic import RedirectView

from octostore.dashboard import access
from octostore.dashboard.access import View
from octostore.dashboard.views import audit, keys, locks, members, overview, rooms, sessions, usage, webhooks
from octostore.teams.roles import Permission


def team(route: str, view: View, permission: Permission, name: str, *, lately: bool = False) -> URLPattern:
    """A page of a team; with `lately`, for whom it is not long ago that they signed in."""
    return path(f"t/<slug:slug>{route}", access.for_members(view, permission, lately=lately), name=f"team_{name}")


VIEW, MANAGE_KEYS, MANAGE_MEMBERS = Permission.VIEW, Permission.MANAGE_KEYS, Permission.MANAGE_MEMBERS
MANAGE_WEBHOOKS, RETRY = Permission.MANAGE_WEBHOOKS, Permission.RETRY_DELIVERIES
WEBHOOK = "/webhooks/<uuid:webhook>"
DELIVERY = f"{WEBHOOK}/deliveries/<uuid:delivery>"

urlpatterns = [
    team("", overview.index, VIEW, "overview"),
    team("/locks", locks.index, VIEW, "locks"),
    # The last part of a lock's name is no verb of the API, so neither are these addresses the names of locks.
    team("/locks/<path:name>/revoke", locks.revoke, Permission.REVOKE_LOCKS, "revoke_lock"),
    team("/locks/<path:name>", locks.detail, VIEW, "lock"),
    team("/sessions", sessions.index, VIEW, "sessions"),
    team("/sessions/<int:number>", sessions.detail, VIEW, "session"),
    team("/sessions/<int:number>/terminate", sessions.terminate, Permission.END_SESSIONS, "terminate_session"),
    team("/keys", keys.index, VIEW, "keys"),
    team("/keys/new", keys.create, MANAGE_KEYS, "new_key", lately=True),
    team("/keys/<slug:visible>/rotate", keys.rotate, MANAGE_KEYS, "rotate_key", lately=True),
    team("/keys/<slug:visible>/revoke", keys.revoke, MANAGE_KEYS, "revoke_key", lately=True),
    team("/webhooks", webhooks.index, VIEW, "webhooks"),
    team("/webhooks/new", webhooks.create, MANAGE_WEBHOOKS, "new_webhook", lately=True),
    team(WEBHOOK, webhooks.detail, VIEW, "webhook"),
    team(f"{WEBHOOK}/settings", webhooks.settings, MANAGE_WEBHOOKS, "webhook_settings"),
    team(f"{WEBHOOK}/rotate", webhooks.rotate, MANAGE_WEBHOOKS, "rotate_webhook", lately=True),
    team(f"{WEBHOOK}/delete", webhooks.delete, MANAGE_WEBHOOKS, "delete_webhook"),
    team(f"{WEBHOOK}/test", webhooks.test, MANAGE_WEBHOOKS, "test_webhook"),
    team(f"{WEBHOOK}/recover", webhooks.recover, RETRY, "recover_webhook"),
    team(DELIVERY, webhooks.delivery, VIEW, "delivery"),
    team(f"{DELIVERY}/redeliver", webhooks.redeliver, RETRY, "redeliver"),
    team("/members", members.index, VIEW, "members"),
    team("/members/invite", members.invite, MANAGE_MEMBERS, "invite"),
    team("/invitations/<int:invitation>/renew", members.renew_invitation, MANAGE_MEMBERS, "renew_invitation"),
    team("/invitations/<int:invitation>/withdraw", members.withdraw_invitation, MANAGE_MEMBERS, "withdraw_invitation"),
    team("/members/<int:member>/role", members.change_role, MANAGE_MEMBERS, "change_role"),
    # Everybody may leave; taking others out asks for more, in the view.
    team("/members/<int:member>/remove", members.remove, VIEW, "remove_member"),
    team("/usage", usage.index, VIEW, "usage"),
    team("/audit", audit.index, Permission.READ_AUDIT, "audit"),
    team("/audit/export", audit.export, Permission.READ_AUDIT, "export_audit"),
    path("ops", RedirectView.as_view(pattern_name="ops_rooms")),
    path("ops/", RedirectView.as_view(pattern_name="ops_rooms")),
    path("ops/rooms", access.for_staff(rooms.index), name="ops_rooms"),
    path("ops/rooms/figures", access.for_staff(rooms.figures), name="ops_figures"),
    path("ops/rooms/<slug:election_id>", access.for_staff(rooms.detail), name="ops_room"),
    path("ops/rooms/<slug:election_id>/vacate", access.for_staff(rooms.vacate), name="ops_vacate"),
]
