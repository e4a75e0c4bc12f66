"""Takes the pictures in docs/screenshots: `python -m tests.browser.screenshots`, or `make screenshots`.

Each page in light and dark, 1280 pixels wide, of the very scene that the tests look at.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import django
from playwright.sync_api import Page, sync_playwright

from tests.orphans import own_directory

DIRECTORY = own_directory("screenshots")
os.environ |= {"DJANGO_SETTINGS_MODULE": "octostore.settings", "OCTOSTORE_DATA": str(DIRECTORY)}
django.setup()

from tests.browser.scene import LOCK, ROOM  # noqa: E402
from tests.browser.site import Site, serving  # noqa: E402
from tests.browser.window import CHROMIUM, Scheme, Window  # noqa: E402
from tests.processes import ROOT  # noqa: E402

PICTURES = ROOT / "docs" / "screenshots"
# As somebody sees them who is not signed in.
OPEN = ("landing", "room")
SCHEMES: tuple[Scheme, ...] = ("light", "dark")


def addresses(site: Site) -> dict[str, str]:
    return {
        "landing": "/",
        "room": f"/r/{ROOM}",
        "rooms": "/ops/rooms",
        "lock": f"/t/harbour/locks/{LOCK}",
        "deliveries": f"/t/harbour/webhooks/{site.scene.parts['']['webhook']}",
        "keys": "/t/harbour/keys",
    }


def main() -> None:
    if CHROMIUM is None:
        sys.exit("Chromium is not installed: apt-get install chromium")
    PICTURES.mkdir(exist_ok=True)
    with serving(DIRECTORY) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for scheme in SCHEMES:
            window = Window(browser, site.web, scheme=scheme)
            for name, address in addresses(site).items():
                if name not in OPEN:
                    window.context.add_cookies(site.cookies("owner"))
                window.page.goto(address)
                if name == "landing":
                    window.page.get_by_role("button", name="Run two candidates").click()
                    window.page.get_by_text("Held").wait_for()
                take(window.page, PICTURES / f"{name}-{scheme}.png")
            if faults := window.close():
                sys.exit("\n".join(faults))
        browser.close()
    shutil.rmtree(DIRECTORY)


def take(page: Page, picture: Path) -> None:
    if page.locator("body[data-live-url]").count():
        page.wait_for_selector("html[data-live=live]")
    page.screenshot(path=picture, animations="disabled")
    print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
