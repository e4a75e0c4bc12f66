"""People of a team in every role at their browsers, and what they see."""

from __future__ import annotations

import re
from typing import Any

from octostore.teams.models import Membership, Role, Team, User
from tests.pages.browser import PASSWORD, Browser, somebody, text_of
from tests.teams.cast import ACT, join
from webhooks import endpoints
from webhooks.endpoints import Manager
from webhooks.models import Endpoint

__all__ = ["PASSWORD", "ROLES", "Person", "alike", "endpoint", "errors_in", "rows", "seen", "text_of"]

ROLES = (Role.OWNER, Role.ADMIN, Role.MEMBER, Role.VIEWER)
# What differs between two pages that say the same: the request, its instant, and the address that was asked for.
_VARYING = re.compile(
    r'req_[0-9a-f]{32}|<time datetime="[^"]*">[^<]*</time>|name="next" value="[^"]*"|csrfmiddlewaretoken" value="[^"]*"'
)


class Person(Browser):
    """A browser in which somebody is signed in, lately."""

    def __init__(self, user: User) -> None:
        super().__init__()
        self.user = user
        answer = self.sign_in(user)
        assert answer.status_code == 302, text_of(answer)

    @classmethod
    def of(cls, team: Team, role: Role) -> Person:
        person = cls(somebody())
        person.member = join(team, role, person.user)
        return person

    member: Membership

    def part(self, path: str, **query: Any) -> Any:
        """What htmx gets."""
        return self.get(path, query, headers={"HX-Request": "true", "HX-Request-Type": "partial"})


def endpoint(team: Team, *, url: str = "https://example.com/hook?key=canary", **fields: Any) -> Endpoint:
    """A webhook of the team, for all events of all its locks."""
    by = Manager(team_id=team.pk, team_uuid=str(team.uuid), act=ACT)
    made = endpoints.create(by=by, url=url, events=["*"], lock_pattern="*", secret=None)
    Endpoint.objects.filter(pk=made.pk).update(**fields)
    made.refresh_from_db()
    return made


def seen(page: Any) -> str:
    """What a person reads of the page's main part, its markup left out."""
    main = text_of(page).partition("<main")[2].partition("</main>")[0].partition(">")[2]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", main)).strip()


def rows(page: Any) -> list[str]:
    """The rows of the page's table, as a person reads them."""
    body = text_of(page).partition("<tbody")[2].partition(">")[2].partition("</tbody>")[0]
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)).strip() for row in body.split("</tr>")[:-1]]


def errors_in(page: Any) -> list[str]:
    """What the summary above a form says, field by field."""
    summary = text_of(page).partition('id="errors"')[2].partition("</div>")[0]
    return [re.sub(r"<[^>]+>", "", item) for item in re.findall(r"<li>(.*?)</li>", summary)]


def alike(page: Any) -> tuple[int, str, dict[str, str]]:
    """All that an answer says but for what differs with each request."""
    headers = {name: value for name, value in page.items() if name not in {"X-Request-Id", "Content-Length"}}
    return page.status_code, _VARYING.sub("…", page.content.decode()), headers
