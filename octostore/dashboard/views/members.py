"""Who belongs to a team: inviting, giving roles, taking out, leaving."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from octostore.api.address import service_url
from octostore.api.request_id import request_id_of
from octostore.dashboard import inviting, once
from octostore.dashboard.forms import InviteForm, RoleForm
from octostore.dashboard.queries import keys
from octostore.dashboard.queries import members as queries
from octostore.dashboard.showing import show, tell
from octostore.lib.errors import Conflict, NotFound
from octostore.teams import invitations, roles, services
from octostore.teams.invitations import Invited
from octostore.teams.models import Membership, Role
from octostore.teams.roles import Permission

WORDS: dict[Permission, str] = {
    Permission.VIEW: "See locks, sessions, keys, members and usage",
    Permission.USE_LOCKS: "Use locks",
    Permission.RETRY_DELIVERIES: "Repeat deliveries",
    Permission.READ_AUDIT: "Read and export the audit log",
    Permission.REVOKE_LOCKS: "Force-release locks",
    Permission.END_SESSIONS: "Terminate sessions",
    Permission.MANAGE_KEYS: "Make, rotate and revoke keys",
    Permission.MANAGE_WEBHOOKS: "Manage webhooks",
    Permission.MANAGE_MEMBERS: "Invite and remove members, give roles",
    Permission.MANAGE_OWNERS: "Do the same with owners",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """An invitation as its maker sees it this once: the link proves nothing of the address."""

    email: str
    link: str
    is_mailed: bool


def _shows_members(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """For a form whose answer is the members' page: who looks at its address, say by choosing a theme, gets that."""

    @require_http_methods(["GET", "HEAD", "POST"])
    @wraps(view)
    def shown(request: HttpRequest, by: Membership, **parts: Any) -> HttpResponse:
        if request.method != "POST":
            return redirect("team_members", by.team.slug)
        return view(request, by, **parts)

    return shown


@require_safe
def index(request: HttpRequest, by: Membership) -> HttpResponse:
    return _index(request, by)


@_shows_members
def invite(request: HttpRequest, by: Membership) -> HttpResponse:
    """Invite one or several addresses, and show the links, this once."""
    form = InviteForm(request.POST, roles=_given_by(by))
    if not form.is_valid():
        return _index(request, by, form, status=422)
    members = {one.email for one in queries.listing(by.team)}
    known = [email for email in form.cleaned_data["emails"] if email in members]
    if known:
        form.add_error("emails", f"{', '.join(known)}: a member already.")
        return _index(request, by, form, status=422)
    if not once.is_first(request, form):
        messages.info(request, "That was done already. Send a new link to whoever got none.")
        return redirect("team_members", by.team.slug)
    role, request_id = form.cleaned_data["role"], request_id_of(request)
    invited = [
        invitations.invite(by=by, email=email, role=role, request_id=request_id)
        for email in form.cleaned_data["emails"]
    ]
    return _sent(request, by, invited)


@_shows_members
def renew_invitation(request: HttpRequest, by: Membership, invitation: int) -> HttpResponse:
    """Mail another link in the place of the one that was sent."""
    try:
        renewed = invitations.renew(by=by, invitation_id=invitation, request_id=request_id_of(request))
    except Conflict as error:
        messages.info(request, f"{error}: nothing was changed.")
        return redirect("team_members", by.team.slug)
    return _sent(request, by, [renewed])


@require_POST
def withdraw_invitation(request: HttpRequest, by: Membership, invitation: int) -> HttpResponse:
    try:
        invitations.withdraw(by=by, invitation_id=invitation, request_id=request_id_of(request))
    except Conflict as error:
        messages.info(request, f"{error}: nothing was changed.")
    else:
        tell(by, "members")
        messages.success(request, "Withdrew the invitation: its link opens nothing any more.")
    return redirect("team_members", by.team.slug)


@require_POST
def change_role(request: HttpRequest, by: Membership, member: int) -> HttpResponse:
    found = _found(by, member)
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, "There is no such role.")
        return redirect("team_members", by.team.slug)
    try:
        services.change_role(by=by, member=found, role=form.cleaned_data["role"], request_id=request_id_of(request))
    except Conflict as error:
        messages.error(request, f"{error.details}: make somebody else an owner first.")
    else:
        tell(by, "members")
        messages.success(request, f"{found.user.email} is {form.cleaned_data['role']} now.")
    return redirect("team_members", by.team.slug)


@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, by: Membership, member: int) -> HttpResponse:
    """Take a member out of the team, or leave it."""
    found = _found(by, member)
    is_leaving = found.user_id == by.user_id
    if not is_leaving:
        roles.require(by, roles.to_manage(found.role))
    if request.method == "POST":
        try:
            services.remove_member(by=by, member=found, request_id=request_id_of(request))
        except Conflict as error:
            messages.error(request, f"{error.details}: make somebody else an owner first.")
            return redirect("team_members", by.team.slug)
        tell(by, "members")
        if is_leaving:
            messages.success(request, f"You have left {by.team.slug}.")
            return redirect("account_home")
        messages.success(request, f"{found.user.email} belongs to the team no more.")
        return redirect("team_members", by.team.slug)
    made = [key for key in keys.listing(by.team) if key.created_by == found.actor]
    return show(request, by, "members/remove.html", {"member": found, "is_leaving": is_leaving, "keys": made})


def _index(
    request: HttpRequest,
    by: Membership,
    form: InviteForm | None = None,
    sent: list[Sent] | None = None,
    status: int = 200,
) -> HttpResponse:
    manages = roles.may(by.role, Permission.MANAGE_MEMBERS)
    given = _given_by(by)
    context = {
        "members": queries.listing(by.team),
        "invitations": invitations.pending(team=by.team) if manages else [],
        "form": form or InviteForm(roles=given),
        "given": given,
        "sent": sent or [],
        "permissions": [(WORDS[one], [roles.may(role, one) for role in Role]) for one in Permission],
        "roles": Role.choices,
    }
    return show(request, by, "members/index.html", context, status=status)


def _sent(request: HttpRequest, by: Membership, invited: list[Invited]) -> HttpResponse:
    tell(by, "members")
    url = service_url(request)
    sent = [
        Sent(
            email=one.invitation.email,
            link=url + invitations.path(one.text, mailed=False),
            is_mailed=inviting.mail(one, url),
        )
        for one in invited
    ]
    return _index(request, by, sent=sent)


def _given_by(by: Membership) -> list[str]:
    """The roles that the member may give and take away."""
    return [role for role in Role if roles.may(by.role, roles.to_manage(role))]


def _found(by: Membership, member: int) -> Membership:
    found = queries.one(by.team, member)
    if found is None:
        raise NotFound
    return found
