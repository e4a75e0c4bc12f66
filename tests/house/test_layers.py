"""Imports go down, as the contracts in pyproject.toml say."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from tests.house.sources import ROOT, place, product, tree

WRITTEN_BY_THE_ENGINE = ("'Lease'", "'LeaseEvent'", "'FollowedSpace'", "'OwedEvent'", "'Clock'", "'KnownKey'")


def test_import_contracts_are_kept() -> None:
    linter = Path(sys.executable).parent / "lint-imports"
    run = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_only_the_engine_writes_the_lease_tables() -> None:
    writes = {"create", "get_or_create", "update", "update_or_create", "bulk_create", "bulk_update", "delete", "save"}
    outside = [
        place(path, node)
        for path in product()
        if (ROOT / "octostore" / "leases") not in path.parents
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and node.attr in writes
        and "objects" in ast.dump(node)
        and any(model in ast.dump(node) for model in WRITTEN_BY_THE_ENGINE)
    ]
    assert outside == []
