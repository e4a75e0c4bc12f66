"""A screen of a team as a page, or the part of it that htmx asks for; and what others with it open are told."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from octostore.live.hub import hub
from octostore.pages.fragments import asks_for_part, page_or_fragment
from octostore.teams import roles
from octostore.teams.models import Membership


def show(
    request: HttpRequest,
    by: Membership,
    page: str,
    context: dict[str, Any],
    *,
    fragment: str | None = None,
    status: int = 200,
) -> HttpResponse:
    """`page` below `templates/dashboard`, or `fragment` of it where a part is asked for.

    For templates: `team`, `by`, `section`, `is_part` and, as `may`, what the member's role permits.
    """
    section = page.partition("/")[0]
    everywhere = {"by": by, "team": by.team, "may": roles.PERMITTED[by.role], "section": section}
    context = everywhere | {"is_part": asks_for_part(request)} | context
    if fragment is None:
        return render(request, f"dashboard/{page}", context, status=status)
    return page_or_fragment(request, f"dashboard/{page}", f"dashboard/{fragment}", context, status=status)


def tell(by: Membership, what: str) -> None:
    """Hint at a change of `keys`, `members` or `sessions` to the team's open pages, after its commit."""
    hub.tell((f"team/{by.team.uuid}", what))
