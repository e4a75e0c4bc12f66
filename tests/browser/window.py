"""Windows of a real browser, in which nothing may go wrong unseen."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, Request, ViewportSize, expect

from tests.browser.site import Site

CHROMIUM = shutil.which("chromium")
SIZE = ViewportSize(width=1280, height=900)
# Two cores, and others on them.
PATIENCE_MS = 15_000
# Chromium writes each violation to the console too, but not of every kind.
_TELL_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""


@dataclass
class Faults:
    """What a browser complained of, but for what was expected: parts of messages, as regular expressions."""

    origin: str
    found: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def expect(self, *patterns: str) -> None:
        self.expected += patterns

    def watch(self, context: BrowserContext) -> None:
        context.add_init_script(_TELL_VIOLATIONS)
        context.on("console", self._console)
        context.on("weberror", lambda event: self.found.append(f"error: {event.error}"))
        context.on("request", self._request)
        context.on("requestfailed", self._failed)

    def unexpected(self) -> list[str]:
        return [fault for fault in self.found if not any(re.search(pattern, fault) for pattern in self.expected)]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.found.append(f"console: {message.text} {message.location['url']}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.origin}/", "data:", "blob:")):
            self.found.append(f"foreign: {request.url}")

    def _failed(self, request: Request) -> None:
        # Aborted is what was under way when its page was left or closed its stream.
        if request.failure != "net::ERR_ABORTED":
            self.found.append(f"failed: {request.method} {request.url} {request.failure}")


@contextmanager
def chromium(playwright: Playwright) -> Iterator[Browser]:
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
    try:
        yield browser
    finally:
        browser.close()


@contextmanager
def window(
    browser: Browser, site: Site, person: str = "", *, origin: str = "", **options: Any
) -> Iterator[tuple[Page, Faults]]:
    """A page of somebody's own: cookies, storage and all. `person` is one of the scene's, or nobody signed in."""
    origin = origin or site.url
    context = browser.new_context(base_url=origin, viewport=SIZE, **options)
    try:
        context.set_default_timeout(PATIENCE_MS)
        context.add_cookies(site.cookies(person))
        faults = Faults(origin)
        faults.watch(context)
        yield context.new_page(), faults
    finally:
        context.close()


def comes_alive(page: Page) -> None:
    """Wait until the page's stream is open and the server was heard of."""
    expect(page.locator("html")).to_have_attribute("data-live", "live", timeout=PATIENCE_MS)
