"""Debian's Chromium, and windows in it that let no fault pass unseen."""

from __future__ import annotations

import re
import shutil
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

from octostore.teams.models import User
from tests.pages.browser import Browser as Client
from tests.processes import Web

CHROMIUM = shutil.which("chromium")
WIDTHS = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 390, "height": 844}}
Scheme = Literal["light", "dark"]

_TELL_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`));
"""


class Window:
    """A context of its own with one page; `faults` gathers errors, failed and foreign requests, violations.

    What a test brings about on purpose it names by `expect`, a pattern.
    """

    def __init__(
        self,
        browser: Browser,
        web: Web,
        *,
        scheme: Scheme = "light",
        width: str = "wide",
        scripts: bool = True,
        user: User | None = None,
        **options: Any,
    ) -> None:
        self.web = web
        self.faults: list[str] = []
        self._expected: list[str] = []
        self.context: BrowserContext = browser.new_context(
            base_url=web.url,
            color_scheme=scheme,
            viewport=WIDTHS[width],  # type: ignore[arg-type]
            java_script_enabled=scripts,
            reduced_motion="reduce",
            **options,
        )
        self.context.set_default_timeout(10_000)
        if user:
            self._sign_in(user)
        self.context.add_init_script(_TELL_VIOLATIONS)
        self.page: Page = self.open()

    def open(self) -> Page:
        """One more tab."""
        page = self.context.new_page()
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("requestfailed", self._on_failed)
        page.on("request", self._on_request)
        return page

    def expect(self, pattern: str) -> None:
        self._expected.append(pattern)

    def close(self) -> list[str]:
        """The faults nobody expected."""
        self.context.close()
        return [fault for fault in self.faults if not any(re.search(one, fault) for one in self._expected)]

    def goes_live(self, page: Page | None = None) -> None:
        (page or self.page).wait_for_selector("html[data-live=live]")

    def _sign_in(self, user: User) -> None:
        client = Client()
        client.force_login(user, "allauth.account.auth_backends.AuthenticationBackend")
        self.context.add_cookies(
            [{"name": name, "value": one.value, "url": self.web.url} for name, one in client.cookies.items()]
        )

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.faults.append(f"{message.type}: {message.text} {message.location.get('url', '')}")

    def _on_failed(self, request: Request) -> None:
        # Going to another page ends what this one waited for.
        if request.failure != "net::ERR_ABORTED":
            self.faults.append(f"failed: {request.url} {request.failure}")

    def _on_request(self, request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.web.url).netloc and not request.url.startswith("data:"):
            self.faults.append(f"foreign: {request.url}")
