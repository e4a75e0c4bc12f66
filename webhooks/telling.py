"""Mail to the owners of a team whose endpoint was switched off."""

from __future__ import annotations

import time
from datetime import timedelta
from smtplib import SMTPException

import structlog
from django.core.mail import send_mail
from django.db.models import Q, QuerySet
from django.utils import timezone

from octostore.teams.models import Role
from octostore.teams.writing import changing, reading
from webhooks import endpoints, schedule
from webhooks.models import Endpoint

log = structlog.get_logger(__name__)

# Longer than a mail takes; a failed one is tried again after it.
TELLING = timedelta(minutes=5)
WHY = {
    Endpoint.Off.GONE: "it answered 410 Gone",
    Endpoint.Off.FAILING: f"no call to it succeeded for {schedule.FAILING_MAX.days} days",
}


def tell_owners(*, seconds: float = 30.0) -> int:
    """Mail the owners of each endpoint that was switched off and of which they do not know; how many endpoints.

    At least once: who is killed after the mail and before the row says so mails again. The next call goes
    on where time runs out, as a mail server that hangs would otherwise hold one worker thread after the other.
    """
    began_at, told = time.monotonic(), 0
    for endpoint in reading(lambda: list(_untold().select_related("team").order_by("off_at")[:100])):
        with changing():
            endpoints.hold(endpoint.team_id)
            is_ours = _untold().filter(pk=endpoint.pk).update(telling_until=timezone.now() + TELLING)
        if is_ours and _mail(endpoint):
            with changing():
                endpoints.hold(endpoint.team_id)
                present = Endpoint.objects.filter(pk=endpoint.pk, off_at=endpoint.off_at)
                present.update(owners_told_at=timezone.now(), telling_until=None)
            told += 1
        if time.monotonic() - began_at > seconds:
            break
    return told


def _untold() -> QuerySet[Endpoint]:
    """What was switched off, whose owners do not know, and which nobody else is telling them of."""
    is_free = Q(telling_until=None) | Q(telling_until__lte=timezone.now())
    return Endpoint.objects.filter(is_free, off__in=WHY, owners_told_at=None, deleted_at=None)


def _mail(endpoint: Endpoint) -> bool:
    owners = [member.user.email for member in endpoint.team.memberships.filter(role=Role.OWNER).select_related("user")]
    try:
        send_mail(
            f"A webhook of {endpoint.team} was switched off",
            f"Calls to {endpoints.shown(endpoint.url)} have stopped: {WHY[Endpoint.Off(endpoint.off)]}.\n\n"
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
