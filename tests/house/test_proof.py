"""The suite itself: nothing is skipped, and every promise names the tests that hold it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.house.sources import ROOT, place, suite, tree

GUARANTEES = ROOT / "docs" / "guarantees.md"
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+(?:::\w+)?)`")


def _promises() -> dict[str, str]:
    """The text of each promise under its number."""
    parts = re.split(r"^## (G\d+)\b", GUARANTEES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _defined(path: Path) -> set[str]:
    names = set()
    for node in tree(path).body:
        if isinstance(node, ast.ClassDef):
            names |= {node.name} | {
                f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)
            }
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize("promise", [f"G{number}" for number in range(1, 11)])
def test_every_promise_names_a_test_that_exists(promise: str) -> None:
    named = _TEST.findall(_promises()[promise])
    missing = [
        f"{path}::{name}" for path, name in named if not (ROOT / path).exists() or name not in _defined(ROOT / path)
    ]
    assert named, f"{promise} names no test"
    assert missing == []


def test_no_test_is_put_aside() -> None:
    """A test may say that this machine cannot run it (that fails under OCTOSTORE_TEST_STRICT=1), nothing else."""
    aside = [
        place(path, node)
        for path in suite()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and ast.unparse(node) in {"pytest.mark.skip", "pytest.mark.xfail", "pytest.xfail"}
    ]
    assert aside == []
