"""Whether the service works, by what was measured from outside of it; never green by default."""

from __future__ import annotations

import time

import msgspec
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from octostore.api.service import StatusView
from octostore.pages import probing
from octostore.pages.fragments import cached
from octostore.pages.middleware import asks_for_html
from octostore.pages.probing import Component, Measured

STALE_MS = 120_000
AGAIN_MS = 15_000

_api = StatusView.as_view()


class Standing(msgspec.Struct, kw_only=True, frozen=True):
    """How the service stands: `status` is `ok`, `slow`, `down` or, without a fresh measurement, `unknown`."""

    status: str
    sentence: str
    now: int
    measured: Measured | None

    @property
    def look_at(self) -> int:
        """When a page that shows this should ask again."""
        return self.now + AGAIN_MS


def status(request: HttpRequest) -> HttpResponse:
    """The page for who wants HTML, the API's counters for everybody else."""
    answer = _page(request) if asks_for_html(request) else _api(request)
    patch_vary_headers(answer, ["Accept"])
    return answer


def standing() -> Standing:
    now = time.time_ns() // 1_000_000
    measured = probing.kept()
    if measured is None or now - measured.at > STALE_MS:
        return Standing(status="unknown", sentence="Cannot measure now: nothing is known", now=now, measured=measured)
    bad = [one for one in measured.components if one.state != "ok"]
    return Standing(status=_worst(bad), sentence=_sentence(bad), now=now, measured=measured)


@require_safe
def components(request: HttpRequest) -> HttpResponse:
    """The same as data: 503 while anything is down or nothing is known."""
    found = standing()
    body = {"status": found.status, "sentence": found.sentence, "measured": found.measured}
    code = 200 if found.status in {"ok", "slow"} else 503
    return cached(
        HttpResponse(msgspec.json.encode(body), status=code, content_type="application/json"), "public, max-age=10"
    )


def _page(request: HttpRequest) -> HttpResponse:
    context = {"standing": standing()}
    return cached(render(request, "pages/status.html", context), "private, no-cache")


def _worst(bad: list[Component]) -> str:
    states = {one.state for one in bad}
    return "down" if "down" in states else "slow" if "slow" in states else "ok"


def _sentence(bad: list[Component]) -> str:
    if not bad:
        return "All systems work"
    down = [one.title for one in bad if one.state == "down"]
    slow = [one.title for one in bad if one.state == "slow"]
    parts = [f"{', '.join(names)} {word}" for names, word in ((down, "down"), (slow, "slow")) if names]
    return "; ".join(parts)
