"""Every setting that is impossible is refused in one sentence that names it, before anything is made."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from octostore import logs
from tests.house.sources import ROOT
from tests.server.test_settings import example_settings

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")

KEY = "A" * 43
SETTINGS = example_settings()
SECRETS = {
    "DATABASE_URL",
    "REDIS_URL",
    "OCTOSTORE_SERVER_KEY",
    "OCTOSTORE_METRICS_BEARER",
    "EMAIL_URL",
    "GITHUB_CLIENT_SECRET",
}

# Of those that are no number and no flag.
IMPOSSIBLE: dict[str, list[str]] = {
    "HOST": ["a b", "http://127.0.0.1", "127.0.0.1:80", "[::1]", "-x.example.org", "x" * 254],
    "OCTOSTORE_PROBE_URL": [
        "127.0.0.1:8000",
        "ftp://127.0.0.1",
        "http://127.0.0.1:99999",
        "http://127.0.0.1/health",
        "http://",
    ],
    "OCTOSTORE_DATA": ["/dev/null", "/" + "x" * 5000],
    "DATABASE_URL": [
        "nonsense-7f3a",
        "mysql://x/name-7f3a",
        "postgres://user:pass-7f3a@host",
        "postgres://user:pass-7f3a@host:99999/name",
        "postgres://user:pass-7f3a@host/name?colour=blue",
        "sqlite://:memory:?7f3a",
        "sqlite:///",
        "sqlite:////dev/null/7f3a.sqlite3",
        "sqlite:////tmp",
        "sqlite:////tmp/7f3a.sqlite3?timeout=5",
    ],
    "REDIS_URL": [
        "nonsense-7f3a",
        "redis://",
        "redis:///7f3a",
        "unix:///7f3a",
        "http://127.0.0.1:6379/7f3a",
        "redis://:pass-7f3a@127.0.0.1:99999/0",
        "redis://:pass-7f3a@127.0.0.1:0/0",
        "redis://:pass-7f3a@127.0.0.1/zero",
        "redis://:pass-7f3a@127.0.0.1/0?colour=blue",
        "redis://:pass-7f3a@127.0.0.1/0?socket_timeout=long",
    ],
    "OCTOSTORE_ALLOWED_HOSTS": ["https://example.org", "example.org:8000", "example.org, a b", "[::1", "*.example.org"],
    "OCTOSTORE_SERVER_KEY": ["short-7f3a", "A" * 42, "A" * 45, f"{KEY},7f3a", "+" * 43, ","],
    "SIGNUP": ["ajar"],
    "EMAIL_URL": ["nonsense-7f3a", "smtp://", "smtp://user:pass-7f3a@host:99999", "http://host-7f3a"],
    "OCTOSTORE_EMAIL_FROM": ["nobody", "@example.org", "a@", "a@example.org, b@example.org"],
    "GITHUB_CLIENT_ID": ["without-its-secret"],
    "GITHUB_CLIENT_SECRET": ["without-its-id-7f3a"],
    "OCTOSTORE_METRICS_BEARER": [],  # any text is one
    "OCTOSTORE_METRICS_ADDRESSES": ["foo", "127.0.0.1,foo", "10.0.0.1/8", "300.0.0.1", "127.0.0.1 ::1"],
    "PROMETHEUS_MULTIPROC_DIR": ["/nowhere", "/dev/null", "x" * 5000],
    "OCTOSTORE_CORS_ORIGINS": [
        "example.org",
        "https://example.org/",
        "https://example.org/app",
        "https://user@example.org",
        "https://example.org:99999",
        "https://",
        "*",
        "null",
        "https://a.example,b.example",
    ],
    "OCTOSTORE_LOG_LEVEL": ["LOUD"],
}

# With all else at its default.
CONTRADICTIONS = [
    ("OCTOSTORE_ELECTION_TTL_MIN_SECONDS", "400"),
    ("OCTOSTORE_ELECTION_TTL_MAX_SECONDS", "29"),
    ("OCTOSTORE_ELECTION_TTL_DEFAULT_SECONDS", "4"),
    ("OCTOSTORE_ELECTION_TTL_DEFAULT_SECONDS", "301"),
    ("OCTOSTORE_LOCK_TTL_MIN_SECONDS", "61"),
    ("OCTOSTORE_LOCK_TTL_MAX_SECONDS", "59"),
    ("OCTOSTORE_LOCK_TTL_DEFAULT_SECONDS", "3601"),
    ("OCTOSTORE_SESSION_TTL_MIN_SECONDS", "61"),
    ("OCTOSTORE_SESSION_TTL_MAX_SECONDS", "59"),
    ("OCTOSTORE_SESSION_TTL_DEFAULT_SECONDS", "9"),
]


def cases() -> Iterator[tuple[str, str]]:
    """Each setting of the example with each value that is impossible for it."""
    for name, default in SETTINGS.items():
        if default.isdecimal():
            yield from ((name, value) for value in ("many", "-1", "9" * 19))
        elif default in {"true", "false"}:
            yield name, "maybe"
        else:
            # KeyError: what is impossible for a new setting belongs into the table.
            yield from ((name, value) for value in IMPOSSIBLE[name])
    yield from (("PORT", value) for value in ("1.5", "1_0", "0x50", "9" * 5000, "65536"))
    yield from CONTRADICTIONS
    for name in sorted(SECRETS):
        yield from ((f"{name}_FILE", path) for path in ("/nowhere", "/tmp", sys.executable))


def shown(case: tuple[str, str]) -> str:
    return f"{case[0]}={case[1][:50]}"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory that is not there yet, in an environment where every setting has its default."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)
    monkeypatch.setattr(logs, "configure", lambda level: None)  # once is enough for this process
    directory = tmp_path / "data"
    monkeypatch.setenv("OCTOSTORE_DATA", str(directory))
    return directory


def load_settings() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "octostore" / "settings.py"))


def test_every_secret_is_known_here() -> None:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert text.count("(secret") - 1 == len(SECRETS)


@pytest.mark.parametrize("case", [*cases()], ids=shown)
def test_impossible_value_is_refused_with_the_name(
    data: Path, monkeypatch: pytest.MonkeyPatch, case: tuple[str, str]
) -> None:
    name, value = case
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as refused:
        load_settings()
    sentence = str(refused.value)
    assert name in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert name not in SECRETS or "7f3a" not in sentence
    assert not data.exists()


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_secret_that_comes_twice_is_refused(data: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "x")
    monkeypatch.setenv(f"{name}_FILE", "/x")
    with pytest.raises(ImproperlyConfigured, match=f"Set {name} or {name}_FILE, not both"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(case for case in SETTINGS.items() if case[0] != "OCTOSTORE_DATA"),
        ("HOST", "::1"),
        ("HOST", "localhost"),
        ("HOST", "_sip.example.org."),
        ("OCTOSTORE_PROBE_URL", "https://octostore.example.org"),
        ("OCTOSTORE_PROBE_URL", "http://[::1]:8000"),
        ("DATABASE_URL", "postgres://user:p%40ss@host:5432/name?sslmode=require"),
        ("DATABASE_URL", "postgres:///name?host=/run/postgresql"),
        ("DATABASE_URL", "sqlite:////tmp/octostore.sqlite3"),
        ("REDIS_URL", "redis://:p%40ss@127.0.0.1:6379/0"),
        ("REDIS_URL", "rediss://user:pass@[::1]/15?ssl_cert_reqs=required"),
        ("OCTOSTORE_ALLOWED_HOSTS", "example.org, .example.com, [::1], 10.0.0.1"),
        ("OCTOSTORE_SERVER_KEY", f"{KEY},{'B' * 43}="),
        ("EMAIL_URL", "smtps://user:pass@mail.example.org:465"),
        ("OCTOSTORE_EMAIL_FROM", "OctoStore <octostore@example.org>"),
        ("OCTOSTORE_METRICS_ADDRESSES", "10.0.0.0/8, 2001:db8::/32,127.0.0.1"),
        ("OCTOSTORE_CORS_ORIGINS", "https://app.example.org, http://localhost:3000"),
        ("PROMETHEUS_MULTIPROC_DIR", "/tmp"),
    ],
)
def test_possible_value_is_taken_and_nothing_is_made(
    data: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    load_settings()
    assert not data.exists()


class TestLists:
    @pytest.mark.parametrize(
        ("name", "constant"),
        [
            ("OCTOSTORE_METRICS_ADDRESSES", "METRICS_ADDRESSES"),
            ("OCTOSTORE_CORS_ORIGINS", "CORS_ALLOWED_ORIGINS"),
            ("OCTOSTORE_ALLOWED_HOSTS", "ALLOWED_HOSTS"),
        ],
    )
    @pytest.mark.parametrize("nothing", ["", " ", ","])
    def test_set_to_nothing_is_empty(
        self, data: Path, monkeypatch: pytest.MonkeyPatch, name: str, constant: str, nothing: str
    ) -> None:
        monkeypatch.setenv(name, nothing)
        assert load_settings()[constant] == []

    def test_unset_has_its_default(self, data: Path) -> None:
        loaded = load_settings()
        assert [str(network) for network in loaded["METRICS_ADDRESSES"]] == ["127.0.0.1/32", "::1/128"]
        assert loaded["ALLOWED_HOSTS"] == ["*"]


@pytest.mark.parametrize("value", ["", " "])
def test_no_directory_for_metrics_is_none_for_their_library_too(tmp_path: Path, value: str) -> None:
    """It takes a variable that is set to nothing for the working directory."""
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "import django; django.setup()\n"
        "from django.test import Client\n"
        "print(Client().get('/health').status_code)\n"
    )
    environ = os.environ | {"PROMETHEUS_MULTIPROC_DIR": value}
    run = subprocess.run([sys.executable, "-c", program], env=environ, cwd=tmp_path, capture_output=True, text=True)
    assert (run.stdout.strip(), run.stderr, [*tmp_path.iterdir()]) == ("200", "", [])
