"""`.env.example` says what can be set, all of it, with the defaults the code has."""

from __future__ import annotations

import ast
import re
from inspect import isfunction
from itertools import pairwise

import pytest

from octostore import env
from tests.house.sources import ROOT, product, tree

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")

READERS = {"text", "flag", "integer", "listing", "choice", "secret", "directory", "shared_directory"}
# Its default is given as a path beside the code.
COMPUTED = {"OCTOSTORE_DATA": "./var"}


def _read_settings() -> dict[str, str]:
    """Each name the code reads through `octostore.env`, and its default as it would be written."""
    found: dict[str, str] = {}
    for path in product():
        for node in ast.walk(tree(path)):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="env"), attr=reader),
                    args=[ast.Constant(value=str(name)), *rest],
                ) if reader in READERS:
                    default = COMPUTED[name] if name in COMPUTED else ast.literal_eval(rest[0]) if rest else ""
                    found[name] = str(default).lower() if isinstance(default, bool) else str(default)
    return found


def example_settings() -> dict[str, str]:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    return dict(re.findall(r"^#([A-Z_]+)=(.*)$", text, re.MULTILINE))


def test_every_reader_of_the_environment_is_known_here() -> None:
    public = {name for name, value in vars(env).items() if isfunction(value) and value.__module__ == env.__name__}
    assert {name for name in public if not name.startswith("_")} == READERS


def test_example_lists_every_setting_with_its_default() -> None:
    settings = _read_settings()
    assert len(settings) > 20
    assert example_settings() == settings


def test_every_setting_is_explained_by_a_sentence() -> None:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    unexplained = [
        line for before, line in pairwise(lines) if re.match(r"#[A-Z_]+=", line) and not re.fullmatch(r"# .+\.", before)
    ]
    assert unexplained == []


def test_nobody_reads_the_environment_past_the_strict_readers() -> None:
    # Those name Django's settings, hand an environment on, or ask for what is prometheus_client's to read.
    allowed = {"octostore/env.py", "manage.py", "octostore/celery.py", "octostore/server", "octostore/api/metrics.py"}
    readers = [
        str(path.relative_to(ROOT))
        for path in product()
        if re.search(r"os\.(environ|getenv)", path.read_text(encoding="utf-8"))
    ]
    assert [name for name in readers if not any(name.startswith(place) for place in allowed)] == []
