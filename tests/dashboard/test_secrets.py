"""No capability, key, session, invitation or password in any page, part, export or mail: every page is walked to."""

from __future__ import annotations

from typing import Any

import pytest

from octostore.teams.models import Role, Team
from tests.dashboard.canaries import crawl, plant
from tests.dashboard.cast import Person, text_of
from tests.pages.browser import somebody
from tests.teams.cast import join

# Pages that a walk must have come by, as ends of their addresses.
SCREENS = (
    "/locks",
    "/locks?status=expiring",
    "/locks/repo/a",
    "/locks/repo/d",
    "/locks/repo/a/revoke",
    "/sessions",
    "/sessions?status=ended",
    "/terminate",
    "/keys",
    "/keys?show=over",
    "/keys/new",
    "/rotate",
    "/members",
    "/remove",
    "/usage",
    "/audit",
    "/ops/rooms",
    "/ops/rooms/figures",
    "/ops/rooms/room-canary-1",
    "/ops/rooms/room-canary-1/vacate",
)


@pytest.fixture
def everything(team: Team) -> Person:
    """An owner who is staff too, so that every page opens."""
    person = Person(somebody(is_staff=True))
    person.member = join(team, Role.OWNER, person.user)
    return person


def found_in(secrets: dict[str, str], pages: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (what, address)
        for address, page in pages.items()
        for what, secret in secrets.items()
        if secret in text_of(page) or secret in str(dict(page.items()))
    ]


def test_no_page_tells_a_secret(everything: Person, team: Team) -> None:
    planted = plant(team)
    pages = crawl(everything, f"/t/{team.slug}", "/ops/rooms")
    missed = [end for end in SCREENS if not any(address.endswith(end) for address in pages)]
    assert missed == []
    assert {page.status_code for page in pages.values()} == {200}
    assert found_in(planted.secrets, pages) == []
    # The walk can see: what may be told is told.
    assert any("worker-7" in text_of(page) for page in pages.values())


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_no_export_tells_a_secret(everything: Person, team: Team, kind: str) -> None:
    planted = plant(team)
    form = everything.get(f"/t/{team.slug}/audit")
    answer = everything.fill(form, f"/t/{team.slug}/audit/export", format=kind)
    text = b"".join(answer.streaming_content).decode()
    assert "key_created" in text
    assert [what for what, secret in planted.secrets.items() if secret in text] == []


def test_no_link_leads_nowhere_and_no_page_of_a_viewer_leads_where_they_may_not(team: Team) -> None:
    plant(team)
    viewer = Person.of(team, Role.VIEWER)
    pages = crawl(viewer, f"/t/{team.slug}")
    assert {address: page.status_code for address, page in pages.items() if page.status_code != 200} == {}
