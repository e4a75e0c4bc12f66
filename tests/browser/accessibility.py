"""What is asked of every page, as it is seen by whoever looks at it."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize

WIDE, NARROW, NARROWEST = (ViewportSize(width=width, height=900) for width in (1280, 390, 320))
AXE = Axe()
# Without `preload` it writes no styles of its own, which the CSP would refuse.
OPTIONS = {"resultTypes": ["violations"], "preload": False}
_OVERFLOWING = """
() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  const wide = [...document.querySelectorAll("body *")].filter(
    (node) => node.getBoundingClientRect().right > clientWidth + 1 && !node.closest(".scroll-x, pre, .results"));
  return [`${scrollWidth} > ${clientWidth}`, ...wide.slice(-3).map((node) => node.outerHTML.slice(0, 160))];
}
"""


def complaints(page: Page) -> list[str]:
    """Of axe, light, dark and on a phone; and what makes a phone scroll sideways. The page is left as it came."""
    found = _of_axe(page, "light")
    page.emulate_media(color_scheme="dark")
    found += _of_axe(page, "dark")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(NARROW)
    found += _of_axe(page, "narrow") + _overflowing(page, "390")
    page.set_viewport_size(NARROWEST)
    found += _overflowing(page, "320")
    page.set_viewport_size(WIDE)
    return found


def _of_axe(page: Page, view: str) -> list[str]:
    # A colour on its way to another one is neither.
    page.evaluate("document.getAnimations().forEach((one) => one.finish())")
    violations: list[dict[str, Any]] = AXE.run(page, options=OPTIONS).response["violations"]
    return [f"{view}: {one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}" for one in violations]


def _overflowing(page: Page, view: str) -> list[str]:
    found: list[str] = page.evaluate(_OVERFLOWING)
    return [f"{view}: {', '.join(found)}"] if found else []
