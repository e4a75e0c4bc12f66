"""The documents agree with what they speak of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from octostore.api.schema import openapi
from tests.house.sources import ROOT

_LINK = re.compile(r"(?<!!)\[[^]]+\]\(([^)#\s]+)?(?:#([^)]+))?\)")
_ENDPOINT = re.compile(r"^### ([A-Z]+ /\S*)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SETTING = re.compile(r"\b(?:OCTOSTORE_[A-Z_]+|PUBLIC_ELECTIONS)\b")
NOT_SETTINGS = {"OCTOSTORE_TEST_STRICT", "OCTOSTORE_TEST_POSTGRES_BIN"}


def documents() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(path: Path) -> set[str]:
    """The names under which a page's headings can be linked to."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", documents(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            dead.append(f"{target}#{anchor}")
    assert dead == []


def test_the_reference_names_every_endpoint_and_every_status() -> None:
    sections = dict(_ENDPOINT.findall((ROOT / "docs" / "api.md").read_text(encoding="utf-8")))
    written = {
        endpoint: {
            status for line in re.findall(r"^Statuses: (.+)$", text, re.MULTILINE) for status in line.split(" · ")
        }
        for endpoint, text in sections.items()
    }
    served = {
        f"{method.upper()} {path}": set(operation["responses"])
        for path, operations in openapi()["paths"].items()
        for method, operation in operations.items()
    }
    assert written == served


@pytest.mark.parametrize("snippet", sorted((ROOT / "docs" / "webhooks").iterdir()), ids=lambda snippet: snippet.name)
def test_snippets_are_printed_as_they_are_tested(snippet: Path) -> None:
    printed = _BLOCK.findall((ROOT / "docs" / "webhooks.md").read_text(encoding="utf-8"))
    assert snippet.read_text(encoding="utf-8") in printed


def test_documents_name_only_settings_that_are_read() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "octostore").glob("*.py")))
    unknown = {
        f"{page.relative_to(ROOT)}: {name}"
        for page in documents()
        for name in _SETTING.findall(page.read_text(encoding="utf-8"))
        if name not in NOT_SETTINGS and f'"{name.removesuffix("_FILE")}"' not in source
    }
    assert unknown == set()


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))
