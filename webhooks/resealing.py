"""After a change of the server key: what an earlier one sealed is sealed under the present one."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Q

from octostore.lib.errors import Unavailable
from octostore.teams.writing import changing, reading
from webhooks import endpoints, sealing
from webhooks.models import Endpoint


def reseal() -> int:
    """Seal all signing secrets under the present server key, so that its predecessors can go; how many endpoints.

    Raises, once all others are sealed anew, Unavailable where this process lacks a predecessor that is
    needed still, and ValueError where what was sealed was changed.
    """
    present = f"{settings.SERVER_KEYS[0].id}."
    is_done = Q(secret__startswith=present) & (Q(previous_secret="") | Q(previous_secret__startswith=present))
    old = Endpoint.objects.filter(~is_done, deleted_at=None)
    count, failure = 0, None
    for endpoint_id, team_id in reading(lambda: list(old.values_list("pk", "team_id"))):
        with changing():
            endpoints.hold(team_id)
            endpoint = old.filter(pk=endpoint_id).first()
            if endpoint is None:
                continue
            try:
                _reseal(endpoint)
            except (Unavailable, ValueError) as error:
                failure = error
            else:
                endpoint.save(update_fields=["secret", "previous_secret"])
                count += 1
    if failure is not None:
        raise failure
    return count


def _reseal(endpoint: Endpoint) -> None:
    endpoint.secret = sealing.seal(endpoint, sealing.secret_of(endpoint))
    if endpoint.previous_secret:
        endpoint.previous_secret = sealing.seal(endpoint, sealing.unseal(endpoint, endpoint.previous_secret))
