"""No capability, key, session or secret is in any page, part or stream that a browser gets."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Error

from tests.browser.addresses import address, routes
from tests.browser.conftest import OpenPage
from tests.browser.site import Site
from tests.locks.cast import Worker

pytestmark = pytest.mark.only("sqlite")

# Pages whose very address is the secret, and the one that shows a URL to whoever may change it.
TELL = {"accounts/invitations/<str:text>/": "invitation"}


def found_in(text: str, secrets: dict[str, str]) -> set[str]:
    return {what for what, secret in secrets.items() if secret in text}


def headers_of(answer: httpx.Response) -> str:
    """But for the cookies that a browser is given."""
    return str([(name, value) for name, value in answer.headers.multi_items() if name != "set-cookie"])


@pytest.mark.parametrize("who", ["owner", "second", ""])
def test_no_address_answers_with_one(site: Site, who: str) -> None:
    assert len(site.scene.secrets) >= 10
    assert all(len(secret) >= 8 for secret in site.scene.secrets.values())
    told = {}
    for route in routes():
        if route == "live":
            continue
        for parts in ({}, {"HX-Request": "true", "HX-Request-Type": "partial"}):
            answer = site.get(address(route, site.scene), who, **parts)
            told[route] = found_in(answer.text + headers_of(answer), site.scene.secrets) - {TELL.get(route)}
    assert {route: what for route, what in told.items() if what} == {}


def test_none_is_in_a_page_as_it_stands_in_the_browser(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    told = {}
    for path in ("/t/harbour", "/t/harbour/locks", "/t/harbour/sessions", "/t/harbour/keys", "/ops/rooms"):
        page.goto(path)
        stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
        told[path] = found_in(page.content() + stored, site.scene.secrets)
    assert {path: what for path, what in told.items() if what} == {}


def test_none_is_in_a_stream(site: Site) -> None:
    topics = "team:harbour,ops,room:canary-room-1234"
    cookies = site.scene.cookies["owner"]
    secrets = dict(site.scene.secrets)
    with (
        httpx.stream("GET", f"{site.url}/live?topics={topics}", cookies=cookies, trust_env=False, timeout=15) as stream,
        site.worker() as worker,
    ):
        lines = stream.iter_lines()
        next(lines)
        secrets |= act(worker)
        seen = ""
        while not ("data: team:harbour" in seen and "data: room:canary" in seen):
            seen += f"{next(lines)}\n"
    assert found_in(seen, secrets) == set()


def test_what_was_shown_once_is_gone_when_one_comes_back(open_page: OpenPage) -> None:
    page = open_page(expected=("ERR_CACHE_MISS",))
    page.goto("/t/harbour/keys/new")
    page.get_by_label("Name").fill("comes-back")
    page.get_by_role("button", name="Make the key").click()
    shown = page.locator("input[data-once]").input_value()
    assert shown.startswith("osk_")
    page.get_by_role("link", name="I have stored it").click()
    page.wait_for_url("**/keys")
    # The browser kept nothing of it, and does not send the form again unasked.
    with pytest.raises(Error, match="ERR_CACHE_MISS"):
        page.go_back()


def act(worker: Worker) -> dict[str, str]:
    """What came of things that the stream hints at."""
    held = worker.hold("canary/stream")
    worker.release("canary/stream", held["lease_id"])
    led = worker.post("/elections/canary-room-1234/campaign", json={"candidate_id": "atlas"}).json()
    return {"streamed lease": held["lease_id"], "streamed leader": led["leader_token"]}
