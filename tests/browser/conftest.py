"""A real browser against a real server, under the policy that is served."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from octostore.teams.models import User
from tests.browser.site import Site, serving
from tests.browser.window import CHROMIUM, Window
from tests.http import Client
from tests.pages.browser import somebody
from tests.processes import Web

OpenWindow = Callable[..., Window]
OpenPage = Callable[..., Page]

# What holds, waits or is due in the scene does so throughout the run.
LASTING = {
    "OCTOSTORE_ELECTION_TTL_MAX_SECONDS": "3600",
    "OCTOSTORE_SESSION_TTL_MAX_SECONDS": "3600",
    "OCTOSTORE_LOCK_DELAY_MAX_SECONDS": "3600",
}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """For one module: Playwright's event loop runs in this thread until it is stopped."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    # Django would refuse its own database on a thread with a loop, which nothing here shares with it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            yield browser
            browser.close()
    finally:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def web(database: str, two_webs: list[Web]) -> Web:
    return two_webs[0]


@pytest.fixture
def open_window(chromium: Browser, web: Web) -> Iterator[OpenWindow]:
    """Opens a window; after the test none may have a fault that was not expected."""
    windows: list[Window] = []

    def open_one(at: Web | None = None, **options: Any) -> Window:
        windows.append(Window(chromium, at or web, **options))
        return windows[-1]

    yield open_one
    assert [fault for window in windows for fault in window.close()] == []


@pytest.fixture
def client(web: Web) -> Iterator[Client]:
    with web.client() as client:
        yield client


@pytest.fixture
def room() -> str:
    return f"room-{uuid4().hex[:20]}"


@pytest.fixture
def user(database: str) -> User:
    return somebody()


@pytest.fixture
def staff(database: str) -> User:
    return somebody(is_staff=True)


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service with a scene in it. What tests change, they change where no other test looks."""
    with serving(tmp_path_factory.mktemp("site"), **LASTING) as one:
        yield one


@pytest.fixture
def open_page(chromium: Browser, site: Site) -> Iterator[OpenPage]:
    """Opens a window of somebody in the scene; `expected` are patterns of the faults it may have."""
    windows: list[Window] = []

    def open_one(
        person: str = "owner", *, expected: tuple[str, ...] = (), at: Web | None = None, **options: Any
    ) -> Page:
        window = Window(chromium, at or site.web, **options)
        windows.append(window)
        window.context.add_cookies(site.cookies(person))
        for pattern in expected:
            window.expect(pattern)
        return window.page

    yield open_one
    assert [fault for window in windows for fault in window.close()] == []


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """The window of an owner of the team, who is staff too."""
    return open_page()


@pytest.fixture
def start(site: Site) -> Iterator[Callable[[dict[str, str]], Web]]:
    """Starts one more web process of the site, with another environment."""
    with ExitStack() as stack:
        yield lambda environment: stack.enter_context(Web(site.directory, environment))
