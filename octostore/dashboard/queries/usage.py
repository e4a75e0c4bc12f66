"""How much of its limits a team uses: the numbers of `GET /usage`, and what happens where they end."""

from __future__ import annotations

from dataclasses import dataclass

from octostore.api.team import used_by
from octostore.teams.models import Membership

# An amount of this share of its cap is nearly all of it.
NEAR = 0.8
AT_THE_CAP = {
    "locks": ("Locks held", "acquire answers 403 lock_limit_exceeded until one ends; what is held goes on"),
    "sessions": ("Sessions alive", "beginning one answers 429 rate_limited with Retry-After; the others go on"),
    "streams": ("Streams open", "watching answers 429 rate_limited with Retry-After; open streams go on"),
    "waits": ("Waits open", "waiting answers 429 rate_limited with Retry-After; asking without a wait goes on"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    name: str
    title: str
    used: int
    cap: int
    at_the_cap: str

    @property
    def share(self) -> float:
        """Of the cap, 1 for all of it; a cap of nothing is used up."""
        return self.used / self.cap if self.cap else 1.0

    @property
    def percent(self) -> int:
        return round(self.share * 100)

    @property
    def is_near(self) -> bool:
        return self.share >= NEAR


def usage(by: Membership) -> list[Used]:
    """Of each limit; streams and waits are those of this process."""
    used = used_by(by, str(by.team.uuid))
    return [
        Used(name=name, title=title, used=getattr(used, name).used, cap=getattr(used, name).cap, at_the_cap=what)
        for name, (title, what) in AT_THE_CAP.items()
    ]
