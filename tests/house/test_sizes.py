"""Files stay small enough to be read at once."""

from __future__ import annotations

import ast

from tests.house.sources import ROOT, place, product, suite, tree

PYTHON_LINES = 400
TEMPLATE_LINES = 120


def test_python_files_are_capped() -> None:
    sizes = {place(path): len(path.read_text(encoding="utf-8").splitlines()) for path in [*product(), *suite()]}
    assert {name: lines for name, lines in sizes.items() if lines > PYTHON_LINES} == {}


def test_templates_are_capped() -> None:
    sizes = {place(path): len(path.read_text().splitlines()) for path in (ROOT / "templates").rglob("*.html")}
    assert {name: lines for name, lines in sizes.items() if lines > TEMPLATE_LINES} == {}


def test_every_module_says_what_it_is_for() -> None:
    modules = [path for path in product() if path.name != "apps.py" and path.read_text(encoding="utf-8").strip()]
    assert [place(path) for path in modules if not ast.get_docstring(tree(path))] == []
