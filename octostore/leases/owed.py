"""Events owed to whoever follows a space: kept from the commit of the change until they were handed over.

No cursor goes over them: a sequence commits out of order, and what commits late would be passed by.
"""

from __future__ import annotations

from collections.abc import Callable

from octostore.leases.models import FollowedSpace, OwedEvent
from octostore.teams.writing import changing, reading

# Sized for a transaction well under 200 ms, where each event is owed to ten.
BATCH = 50


def follow(space: str, *, renewals: bool) -> None:
    """From the commit on, every event of the space is owed; with `renewals` they are too."""
    FollowedSpace.objects.update_or_create(space=space, defaults={"renewals": renewals})


def unfollow(space: str) -> None:
    """Nothing more of the space is owed to anybody; what is owed already is still handed over."""
    FollowedSpace.objects.filter(space=space).delete()


def is_anything_followed() -> bool:
    return reading(lambda: FollowedSpace.objects.exists())


def hand_over(take: Callable[[list[OwedEvent]], None]) -> int:
    """Give the next events owed to `take`, in the transaction that forgets them; how many they were.

    In the order in which each name's happened. Several may hand over at once: each takes what no
    other has.
    """
    if not reading(lambda: OwedEvent.objects.exists()):
        return 0
    with changing(in_background=True):
        owed = list(OwedEvent.objects.select_for_update(skip_locked=True).order_by("id")[:BATCH])
        if owed:
            take(owed)
            OwedEvent.objects.filter(pk__in=[event.pk for event in owed]).delete()
        return len(owed)
