"""From events owed to a team's space to deliveries owed to its endpoints."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable

from octostore.leases import owed
from octostore.leases.models import OwedEvent
from octostore.teams.principals import team_uuid_of
from webhooks import messages
from webhooks.messages import Message
from webhooks.models import Delivery, Endpoint

# A worker's threads do other work, too: one of them takes over, and once more if meanwhile another would.
_asked = threading.Event()
_taking_over = threading.Lock()


def fan_out(*, seconds: float = 5.0) -> int:
    """Take over what is owed, in short transactions; how many events. The next call goes on where time runs out.

    While another thread of this process is at it, that one does it all.
    """
    began_at, total = time.monotonic(), 0
    _asked.set()
    while _asked.is_set() and _taking_over.acquire(blocking=False):
        try:
            _asked.clear()
            while taken := owed.hand_over(_owe):
                total += taken
                if taken < owed.BATCH or time.monotonic() - began_at > seconds:
                    break
        finally:
            _taking_over.release()
    return total


def _owe(events: list[OwedEvent]) -> None:
    """Write a delivery for each event and endpoint that asks for it; one that is there already stays as it is."""
    asking = _asking({event.space for event in events})
    owing = []
    for event in events:
        message = Message.of(event)
        owing += [
            Delivery(endpoint=endpoint, message_id=message.id, kind=message.kind, lock=message.lock, body=message.body)
            for endpoint in asking[event.space]
            if messages.asks_for(endpoint.events, endpoint.lock_pattern, kind=message.kind, lock=message.lock)
        ]
    Delivery.objects.bulk_create(owing, ignore_conflicts=True)


def _asking(spaces: Iterable[str]) -> dict[str, list[Endpoint]]:
    """The active endpoints of each space."""
    space_of = {team_uuid: space for space in spaces if (team_uuid := team_uuid_of(space))}
    found = Endpoint.objects.filter(team__uuid__in=space_of, off="", deleted_at=None).select_related("team")
    asking: dict[str, list[Endpoint]] = defaultdict(list)
    for endpoint in found:
        asking[space_of[str(endpoint.team.uuid)]].append(endpoint)
    return asking
