"""Every address a page has, as the URLconf tells: a new one is among them the day it is routed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from octostore.pages.middleware import PREFIXES, SHARED, SINGLE
from tests.browser.scene import Scene

_PART = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)")
_OF_STAFF = re.compile(r"staff/(\w+)/(\w+)/")
# Parts that no row stands behind.
FIXED = {"form": "svg", "app_label": "teams", "url": "nowhere", "content_type_id": "1", "object_id": "1"}


def routes() -> list[str]:
    """The routes of pages as they are written, each once; `""` is the landing page."""
    found = [route for route in _walk(get_resolver().url_patterns) if _is_page(route)]
    return list(dict.fromkeys(found))


def address(route: str, scene: Scene) -> str:
    """The route with the scene's parts in its gaps. A part it does not know fails: give the scene one."""
    of_staff = _OF_STAFF.match(route)
    parts = FIXED | scene.parts[""] | (scene.parts.get("_".join(of_staff.groups()), {}) if of_staff else {})
    filled = _PART.sub(lambda match: str(parts[match[1] or match[2]]), route)
    return "/" + re.sub(r"[\^$]", "", filled)


def _walk(patterns: list[Any], before: str = "") -> Iterator[str]:
    for one in patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLPattern):
            yield route
        elif isinstance(one, URLResolver):
            yield from _walk(one.url_patterns, route)


def _is_page(route: str) -> bool:
    path = f"/{route}"
    return path.startswith(PREFIXES) or path in SINGLE | SHARED
