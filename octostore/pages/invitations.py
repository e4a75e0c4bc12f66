"""An invitation that somebody follows before having an account: kept in the session until it is accepted."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import get_adapter
from django.conf import settings
from django.http import HttpRequest

from octostore.lib.errors import NotFound
from octostore.teams import invitations
from octostore.teams.models import Invitation

_KEPT = "invitation"


def keep(request: HttpRequest, text: str, invitation: Invitation) -> None:
    """Whoever followed the mailed link has read the mail, so the address needs no other proof."""
    request.session[_KEPT] = text
    if invitations.is_mailed(text, request.GET.get("mailed", "")):
        get_adapter().stash_verified_email(request, invitation.email)


def let_go(request: HttpRequest) -> None:
    request.session.pop(_KEPT, None)


def may_sign_up(request: HttpRequest) -> bool:
    """Sign-up is open to all or, where it is closed, to who follows an invitation."""
    return settings.SIGNUP == "open" or invited_email(request) is not None


def sign_up(request: HttpRequest) -> dict[str, Any]:
    """For templates: whether to offer an account to who has none."""
    return {"may_sign_up": lambda: may_sign_up(request)}


def invited_email(request: HttpRequest) -> str | None:
    """The address of the open invitation that was followed, if one was."""
    text = request.session.get(_KEPT)
    try:
        return invitations.find(text).email if text else None
    except NotFound:
        return None
