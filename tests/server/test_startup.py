"""Whatever keeps the service from starting is told in one sentence that names the cause."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from octostore.lib import secrets
from tests.orphans import free_port
from tests.server.service import Service, manage


@pytest.fixture
def taken_port() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield str(other.getsockname()[1])


def _refusal(run: CompletedProcess[str]) -> str:
    """The one line on standard error; the exit code and standard output are as they must be."""
    assert run.returncode == 1, run
    lines = run.stderr.strip().splitlines()
    assert len(lines) == 1, run.stderr
    assert lines[0].startswith("OctoStore cannot start: ")
    assert lines[0].endswith(".")
    return lines[0]


class TestSettings:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("PORT", "eighty"),
            ("PORT", "65536"),
            ("PUBLIC_ELECTIONS", "maybe"),
            ("OCTOSTORE_WEB_THREADS", "0"),
            ("OCTOSTORE_SERVER_KEY", "short"),
            ("DATABASE_URL", "mysql://x/y"),
            ("DATABASE_URL_FILE", "/nowhere"),
        ],
    )
    def test_impossible_setting_is_named(self, tmp_path: Path, name: str, value: str) -> None:
        assert name in _refusal(manage("serve", OCTOSTORE_DATA=str(tmp_path), **{name: value}))

    def test_foreign_host_is_named(self, tmp_path: Path) -> None:
        for host, cause in (("192.0.2.1", "no address of this machine"), ("no.such.invalid", "cannot be resolved")):
            said = _refusal(manage("serve", OCTOSTORE_DATA=str(tmp_path), HOST=host, PORT="0"))
            assert f"HOST names {host}" in said.replace("'", "")
            assert cause in said


class TestPlace:
    def test_taken_port_is_named(self, tmp_path: Path, taken_port: str) -> None:
        manage("migrate", OCTOSTORE_DATA=str(tmp_path))
        for command in ("serve", "web"):
            run = manage(command, OCTOSTORE_DATA=str(tmp_path), PORT=taken_port)
            assert f"port {taken_port} on 127.0.0.1 is in use" in _refusal(run)

    def test_data_directory_that_cannot_be_written_is_named(self, tmp_path: Path) -> None:
        occupied = tmp_path / "file"
        occupied.touch()
        for data, key in ((occupied, ""), (occupied / "below", ""), (occupied, secrets.encode(secrets.mint(32)))):
            said = _refusal(manage("serve", OCTOSTORE_DATA=str(data), OCTOSTORE_SERVER_KEY=key, PORT="0"))
            assert str(data) in said

    def test_second_service_on_the_same_data_is_refused(self, tmp_path: Path) -> None:
        with Service(tmp_path / "data") as first:
            said = _refusal(manage("serve", OCTOSTORE_DATA=str(first.data), PORT="0"))
            assert f"another OctoStore serves from {first.data}" in said
            assert first.exit_code is None


class TestDatabase:
    def test_web_process_asks_for_migrations(self, tmp_path: Path) -> None:
        assert "manage.py migrate" in _refusal(manage("web", OCTOSTORE_DATA=str(tmp_path), PORT="0"))

    def test_unknown_server_key_is_refused(self, tmp_path: Path) -> None:
        first, other = (secrets.encode(secrets.mint(32)) for _ in range(2))
        with Service(tmp_path / "data", OCTOSTORE_SERVER_KEY=first):
            pass
        for command in ("serve", "web"):
            run = manage(command, OCTOSTORE_DATA=str(tmp_path / "data"), OCTOSTORE_SERVER_KEY=other, PORT="0")
            assert "does not know the server key" in _refusal(run)
            assert other not in run.stderr

    def test_absent_database_is_told_without_its_password(self, tmp_path: Path) -> None:
        url = f"postgres://octostore:hunter2@127.0.0.1:{free_port()}/octostore"
        for command in ("serve", "web"):
            said = _refusal(manage(command, OCTOSTORE_DATA=str(tmp_path), PORT="0", DATABASE_URL=url))
            assert "the database cannot be used" in said
            assert "hunter2" not in said

    def test_what_is_no_database_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "octostore.sqlite3").write_bytes(b"something else entirely" * 100)
        assert "the database cannot be used" in _refusal(manage("serve", OCTOSTORE_DATA=str(tmp_path), PORT="0"))
