"""The Python files of the repository, as the house's rules see them."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("octostore", "elections", "locks", "webhooks")


def files(*directories: str) -> list[Path]:
    """Every Python file below the named directories of the repository, generated ones left out."""
    found = [path for directory in directories for path in sorted((ROOT / directory).rglob("*.py"))]
    return [path for path in found if "migrations" not in path.parts]


def product() -> list[Path]:
    return [ROOT / "manage.py", *files(*PACKAGES)]


def suite() -> list[Path]:
    return files("tests")


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def place(path: Path, node: ast.AST | None = None) -> str:
    line = getattr(node, "lineno", None)
    return f"{path.relative_to(ROOT)}{f':{line}' if line else ''}"
