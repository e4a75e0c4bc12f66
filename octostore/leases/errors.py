"""What the engine raises of its own."""

from __future__ import annotations

from octostore.leases.models import Ending
from octostore.lib.errors import LeaseNotCurrent

# How an ending is called in an answer (contract, `lease_not_current`).
ENDED = {Ending.RELEASED: "released", Ending.EXPIRED: "expired", Ending.REVOKED: "removed"}


class NotCurrent(LeaseNotCurrent):
    """A capability that holds nothing. `ending` is told to who has the last, ended term's right one."""

    def __init__(self, ending: Ending | None = None) -> None:
        super().__init__()
        self.ending = ending
        if ending:
            self.extra["ended"] = ENDED[ending]
