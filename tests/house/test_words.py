"""Names are the glossary's: no rummage modules, no bare `token`, no silent handlers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.sources import place, product, suite, tree

RUMMAGE = {"utils", "helpers", "common", "base", "core", "misc"}
# Django loads a database backend from a module of this name.
REQUIRED = {"octostore/leases/postgresql/base.py", "octostore/leases/sqlite/base.py"}


def _names(module: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in ast.walk(module):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(asname=str(name)):
                yield name, node
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node
            case ast.keyword(arg=str(name)):
                yield name, node


def test_no_module_is_a_rummage_drawer() -> None:
    drawers = [
        place(path)
        for path in [*product(), *suite()]
        if RUMMAGE & {path.stem, *(part.lower() for part in Path(place(path)).parts[:-1])}
        and place(path) not in REQUIRED
    ]
    assert drawers == []


def test_bare_token_is_no_identifier() -> None:
    used = [place(path, node) for path in product() for name, node in _names(tree(path)) if name.lower() == "token"]
    assert used == []


def test_no_handler_swallows_everything() -> None:
    broad = [
        place(path, node)
        for path in product()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or any(f"'{name}'" in ast.dump(node.type) for name in ("Exception", "BaseException")))
        and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
    ]
    assert broad == []
