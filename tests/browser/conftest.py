from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.site import Site, serving
from tests.browser.window import CHROMIUM, PATIENCE_MS, Faults, chromium, window

# What holds, waits or is due in the scene does so throughout the run.
LASTING = {
    "OCTOSTORE_ELECTION_TTL_MAX_SECONDS": "3600",
    "OCTOSTORE_SESSION_TTL_MAX_SECONDS": "3600",
    "OCTOSTORE_LOCK_DELAY_MAX_SECONDS": "3600",
}

OpenWindow = Callable[..., Page]


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service with a scene in it. What tests change, they change where no other test looks."""
    with serving(tmp_path_factory.mktemp("site"), **LASTING) as one:
        yield one


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright, chromium(playwright) as one:
        yield one


@pytest.fixture
def faults() -> Iterator[list[Faults]]:
    """What every window of the test complained of. There must be nothing in the end."""
    windows: list[Faults] = []
    yield windows
    assert [fault for one in windows for fault in one.unexpected()] == []


@pytest.fixture
def open_window(browser: Browser, site: Site, faults: list[Faults]) -> Iterator[OpenWindow]:
    """Opens a window of somebody's; the `faults` it may have are given as `expected` patterns."""
    with ExitStack() as stack:

        def open_(person: str = "owner", *, expected: tuple[str, ...] = (), **options: Any) -> Page:
            page, found = stack.enter_context(window(browser, site, person, **options))
            found.expect(*expected)
            faults.append(found)
            return page

        yield open_


@pytest.fixture
def page(open_window: OpenWindow) -> Page:
    """The window of an owner of the team, who is staff too."""
    return open_window()
