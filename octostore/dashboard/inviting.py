"""Mailing an invitation's link to whom it is for."""

from __future__ import annotations

from smtplib import SMTPException

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string

from octostore.teams import invitations
from octostore.teams.invitations import Invited

log = structlog.get_logger(__name__)


def mail(invited: Invited, url: str) -> bool:
    """Send the link, which is below `url`; False where no mail could be sent."""
    invitation = invited.invitation
    link = url + invitations.path(invited.text, mailed=True)
    text = render_to_string("dashboard/members/invitation.txt", {"invitation": invitation, "link": link})
    message = EmailMessage(
        subject=f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}Join the team {invitation.team.slug}",
        body=text,
        to=[invitation.email],
    )
    try:
        message.send()
    except (OSError, SMTPException) as error:
        log.warning("invitation_not_mailed", cause=type(error).__name__)
        return False
    return True
