"""Joining a team: an offer by link, for one address, open for a week.

The link carries a secret of which the row keeps a digest. Whoever invites may see it and pass it on; only the link
in the mail proves besides that the address is that of who follows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import QuerySet
from django.utils import timezone

from octostore.lib import secrets
from octostore.lib.errors import Conflict, InvalidInput, NotFound
from octostore.lib.secrets import ServerKey
from octostore.teams import roles
from octostore.teams.audit import Act
from octostore.teams.models import Invitation, Membership, Role, Team, User
from octostore.teams.writing import changing

OPEN_FOR = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invited:
    """An invitation, and the secret of its link, which is known now and never again."""

    invitation: Invitation
    text: str = field(repr=False)


def invite(*, by: Membership, email: str, role: str, request_id: str = "") -> Invited:
    """Invite an address; an open invitation of the same address is replaced.

    Raises Forbidden, InvalidInput, and Conflict for one who is a member already.
    """
    if role not in Role.values:
        raise InvalidInput(f"role must be one of {', '.join(Role.values)}")
    roles.require(by, roles.to_manage(role))
    return offer(
        team=by.team,
        email=email,
        role=role,
        invited_by=by.user,
        act=Act(actor=by.actor, request_id=request_id),
    )


def offer(*, team: Team, email: str, role: str, invited_by: User | None, act: Act) -> Invited:
    """`invite` on the service's own word."""
    address = _checked_email(email)
    text = secrets.encode(secrets.mint(32))
    with changing():
        if Membership.objects.filter(team=team, user__email=address).exists():
            raise Conflict("This address belongs to a member already")
        Team.objects.select_for_update().get(pk=team.pk)
        _open().filter(team=team, email=address).update(withdrawn_at=timezone.now())
        invitation = Invitation.objects.create(
            team=team,
            email=address,
            role=role,
            digest=_digest(text),
            invited_by=invited_by,
            expires_at=timezone.now() + OPEN_FOR,
        )
        act.record(team.id, "member_invited", f"user:{address}", after={"role": role})
    return Invited(invitation=invitation, text=text)


def renew(*, by: Membership, invitation_id: int, request_id: str = "") -> Invited:
    """A new link, for another week, in the place of an open invitation's of the member's team. Raises as `withdraw`."""
    present = _still_open(by, invitation_id)
    return invite(by=by, email=present.email, role=present.role, request_id=request_id)


def pending(*, team: Team) -> list[Invitation]:
    """The team's open invitations, expired ones too, oldest first."""
    return list(_open().filter(team=team).select_related("invited_by").defer("digest").order_by("id"))


def withdraw(*, by: Membership, invitation_id: int, request_id: str = "") -> None:
    """Close an open invitation of the member's team. Raises NotFound, and Conflict for one that is closed already."""
    with changing():
        invitation = _still_open(by, invitation_id)
        roles.require(by, roles.to_manage(invitation.role))
        _open().filter(pk=invitation_id).update(withdrawn_at=timezone.now())
        Act(actor=by.actor, request_id=request_id).record(
            by.team_id, "invitation_withdrawn", f"user:{invitation.email}"
        )


def find(text: str) -> Invitation:
    """The open invitation of a link. Raises NotFound for one that is unknown, expired, withdrawn or used."""
    found = _open().select_related("team", "invited_by").filter(digest=_digest(text), expires_at__gt=timezone.now())
    invitation = found.first()
    if invitation is None:
        raise NotFound("This invitation is not open any more")
    return invitation


def path(text: str, *, mailed: bool) -> str:
    """The link's path; `mailed` is for the invited address alone."""
    proof = f"?mailed={secrets.encode(_proof(settings.SERVER_KEYS[0], text))}" if mailed else ""
    return f"/accounts/invitations/{text}/{proof}"


def is_mailed(text: str, proof: str) -> bool:
    """Whether `proof` is what the mailed link has beside `text`."""
    given = proof.encode("utf-8", "backslashreplace")
    return any(secrets.same(secrets.encode(_proof(key, text)).encode(), given) for key in settings.SERVER_KEYS)


def accept(*, text: str, user: User, request_id: str = "") -> Membership:
    """Join the team the link invites to; a member already keeps the role. Raises NotFound as `find` does."""
    with changing():
        invitation = find(text)
        if not _open().filter(pk=invitation.pk).update(accepted_at=timezone.now()):
            raise NotFound("This invitation is not open any more")
        member, joined = Membership.objects.get_or_create(
            team=invitation.team, user=user, defaults={"role": invitation.role}
        )
        Act(actor=f"user:{user.email}", request_id=request_id).record(
            invitation.team_id,
            "invitation_accepted",
            f"user:{invitation.email}",
            after={"role": member.role} if joined else None,
        )
    return member


def _still_open(by: Membership, invitation_id: int) -> Invitation:
    ours = Invitation.objects.filter(team_id=by.team_id, pk=invitation_id)
    found = (ours & _open()).first()
    if found is None:
        if ours.exists():
            raise Conflict("The invitation was accepted, withdrawn or replaced meanwhile")
        raise NotFound
    return found


def _open() -> QuerySet[Invitation]:
    return Invitation.objects.filter(accepted_at=None, withdrawn_at=None)


def _proof(key: ServerKey, text: str) -> bytes:
    return key.derive("mailed invitation", text.encode())


def _digest(text: str) -> bytes:
    return secrets.digest("invitation", text.encode("utf-8", "backslashreplace").decode())


def _checked_email(email: str) -> str:
    address = email.strip().lower()
    try:
        validate_email(address)
    except ValidationError as error:
        raise InvalidInput("email must be an e-mail address") from error
    return address
