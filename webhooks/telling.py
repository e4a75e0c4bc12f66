"""Mail to the owners of a team whose endpoint was switched off."""

from __future__ import annotations

from smtplib import SMTPException

import structlog
from django.core.mail import send_mail
from django.utils import timezone

from octostore.teams.models import Role
from octostore.teams.writing import changing, reading
from webhooks import schedule
from webhooks.models import Endpoint

log = structlog.get_logger(__name__)

WHY = {
    Endpoint.Off.GONE: "it answered 410 Gone",
    Endpoint.Off.FAILING: f"no call to it succeeded for {schedule.FAILING_MAX.days} days",
}


def tell_owners() -> int:
    """Mail the owners of each endpoint that was switched off and of which they do not know; how many endpoints.

    At least once: who is killed after the mail and before the row says so mails again.
    """
    off = Endpoint.objects.filter(off__in=WHY, owners_told_at=None, deleted_at=None).select_related("team")
    told = 0
    for endpoint in reading(lambda: list(off[:100])):
        if _mail(endpoint):
            with changing():
                Endpoint.objects.filter(pk=endpoint.pk, off_at=endpoint.off_at).update(owners_told_at=timezone.now())
            told += 1
    return told


def _mail(endpoint: Endpoint) -> bool:
    owners = [member.user.email for member in endpoint.team.memberships.filter(role=Role.OWNER).select_related("user")]
    try:
        send_mail(
            f"A webhook of {endpoint.team} was switched off",
            f"Calls to {endpoint.url.partition('?')[0]} have stopped: {WHY[Endpoint.Off(endpoint.off)]}.\n\n"
            f"Once the receiver is mended, switch the webhook {endpoint.uuid} on again\n"
            '(PATCH /webhooks/{id} with {"active": true}) and fetch what was missed\n'
            "(POST /webhooks/{id}/recover).\n",
            None,
            owners,
        )
    except (OSError, SMTPException) as error:
        log.warning("mail_failed", cause=type(error).__name__)
        return False
    return True
