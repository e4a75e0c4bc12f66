"""Whatever keeps the service from starting is told in one sentence that names the cause."""

from __future__ import annotations

import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from django.core.management import get_commands

from octostore.lib import secrets
from tests.orphans import free_port
from tests.server.service import Service, manage

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")


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
    """All of them are in test_impossible_settings; here is what their user sees of it."""

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("PORT", "65536"),
            ("HOST", "no.such.invalid"),
            ("HOST", "192.0.2.1"),
            ("OCTOSTORE_CORS_ORIGINS", "example.com"),
            ("OCTOSTORE_ELECTION_TTL_MIN_SECONDS", "400"),
            ("PROMETHEUS_MULTIPROC_DIR", "/nowhere"),
            ("REDIS_URL", "redis://127.0.0.1:99999/0"),
            ("DATABASE_URL_FILE", "/nowhere"),
        ],
    )
    @pytest.mark.parametrize("command", ["serve", "web"])
    def test_impossible_setting_is_named_before_anything_is_made(
        self, tmp_path: Path, command: str, name: str, value: str
    ) -> None:
        run = manage(command, **{"OCTOSTORE_DATA": str(tmp_path / "data"), "PORT": "0", name: value})
        assert name in _refusal(run)
        assert run.stdout == ""
        assert [*tmp_path.iterdir()] == []

    def test_foreign_host_is_told_apart_from_an_unknown_one(self, tmp_path: Path) -> None:
        for host, cause in (("192.0.2.1", "no address of this machine"), ("no.such.invalid", "cannot be resolved")):
            assert cause in _refusal(manage("serve", OCTOSTORE_DATA=str(tmp_path), HOST=host, PORT="0"))


class TestArguments:
    @pytest.mark.parametrize("port", ["99999", "65536", "-5", "eighty", "8e3", "0x50", ""])
    def test_impossible_port_is_told(self, tmp_path: Path, port: str) -> None:
        run = manage("web", "--port", port, OCTOSTORE_DATA=str(tmp_path / "data"))
        assert run.returncode == 2
        assert f"argument --port: a port is a whole number from 0 to 65535, not '{port}'" in run.stderr
        assert [*tmp_path.iterdir()] == []

    @pytest.mark.parametrize("descriptor", ["77", "-1", "1"])
    def test_descriptor_that_is_no_socket_is_told(self, tmp_path: Path, descriptor: str) -> None:
        run = manage("web", "--fd", descriptor, OCTOSTORE_DATA=str(tmp_path / "data"))
        assert f"descriptor {descriptor} is no listening socket" in _refusal(run)
        assert [*tmp_path.iterdir()] == []


class TestPlace:
    def test_taken_port_is_named(self, tmp_path: Path, taken_port: str) -> None:
        manage("migrate", OCTOSTORE_DATA=str(tmp_path))
        for command in ("serve", "web"):
            run = manage(command, OCTOSTORE_DATA=str(tmp_path), PORT=taken_port)
            assert f"port {taken_port} on 127.0.0.1 is in use" in _refusal(run)

    @pytest.mark.parametrize(
        ("place", "key"),
        [
            *((place, "") for place in ("", "below", "server.key/", "serve.lock/", "octostore.sqlite3/", "valkey")),
            *((place, "A" * 43) for place in ("", "below")),
        ],
    )
    def test_data_directory_that_cannot_be_used_is_named(self, tmp_path: Path, place: str, key: str) -> None:
        """It is a file, is below a file, or has a directory where a file belongs, or the reverse."""
        data = tmp_path / "data"
        if place in {"", "below"}:
            data.touch()
            data = data / place
        elif place.endswith("/"):
            data.mkdir()
            (data / place).mkdir(mode=0o700)
        else:
            data.mkdir()
            (data / place).touch()
        run = manage("serve", OCTOSTORE_DATA=str(data), OCTOSTORE_SERVER_KEY=key, PORT="0")
        assert "OCTOSTORE_DATA" in _refusal(run)
        assert "password" not in run.stdout

    def test_second_service_on_the_same_data_is_refused(self, tmp_path: Path) -> None:
        with Service(tmp_path / "data") as first:
            said = _refusal(manage("serve", OCTOSTORE_DATA=str(first.data), PORT="0"))
            assert f"another OctoStore serves from {first.data}" in said
            assert first.exit_code is None


# Found by every Python that has its directory in PYTHONPATH: Ctrl-C at the instant a module is first looked for.
INTERRUPTING = """
import os, signal, sys

class Interrupt:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            sys.meta_path.remove(Interrupt)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt)
"""


class TestInterrupt:
    @pytest.mark.parametrize(
        "module", ["django.core.management", "octostore.settings", "octostore.pages.first_run", "octostore.teams.audit"]
    )
    def test_while_it_is_loaded_is_no_failure(self, tmp_path: Path, module: str) -> None:
        (tmp_path / "sitecustomize.py").write_text(INTERRUPTING)
        data = tmp_path / "data"
        run = manage("serve", OCTOSTORE_DATA=str(data), PORT="0", PYTHONPATH=str(tmp_path), INTERRUPT_AT=module)
        assert (run.returncode, run.stdout, run.stderr) == (130, "", "")
        assert not data.exists()


class TestDatabase:
    def test_web_process_asks_for_migrations_and_leaves_nothing(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        assert "manage.py migrate" in _refusal(manage("web", OCTOSTORE_DATA=str(data), PORT="0"))
        assert [*tmp_path.iterdir()] == []
        # Also where there is a database, but an empty one.
        data.mkdir()
        (data / "octostore.sqlite3").touch()
        assert "manage.py migrate" in _refusal(manage("web", OCTOSTORE_DATA=str(data), PORT="0"))

    def test_migrations_make_the_data_directory(self, tmp_path: Path) -> None:
        data = tmp_path / "a" / "b"
        assert manage("migrate", OCTOSTORE_DATA=str(data)).returncode == 0
        assert {path.name for path in data.iterdir()} == {"octostore.sqlite3"}
        assert stat.S_IMODE(data.stat().st_mode) == 0o700

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
            assert "DATABASE_URL names it" in said
            assert "hunter2" not in said

    def test_what_is_no_database_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "octostore.sqlite3").write_bytes(b"something else entirely" * 100)
        assert "the database cannot be used" in _refusal(manage("serve", OCTOSTORE_DATA=str(tmp_path), PORT="0"))


# How each of our commands that works with tables is called.
COMMANDS = {
    "create_team": ["acme"],
    "create_key": ["--team", "acme", "--name", "ci"],
    "revoke_key": ["--team", "acme", "--name", "ci"],
    "set_quota": ["--team", "acme", "--locks", "5"],
    "invite": ["--team", "acme", "--email", "ann@example.org"],
    "adopt_server_key": ["--new"],
    "after_restore": [],
}
# They make the tables, or are shown above.
OTHERS = {"migrate", "serve", "web"}


class TestCommandsBeforeMigrations:
    def test_every_command_is_known_here(self) -> None:
        places = ("octostore.", "elections", "locks", "webhooks")
        ours = {name for name, app in get_commands().items() if str(app).startswith(places)}
        assert ours - OTHERS == COMMANDS.keys()

    @pytest.mark.parametrize("command", COMMANDS)
    def test_sentence_says_what_to_do_and_nothing_is_left(self, tmp_path: Path, command: str) -> None:
        run = manage(command, *COMMANDS[command], OCTOSTORE_DATA=str(tmp_path / "data"))
        assert (run.returncode, run.stdout) == (1, "")
        assert run.stderr == (
            "CommandError: This cannot be done: the database lacks migrations:"
            " run `manage.py migrate`, or `make run`, first.\n"
        )
        assert [*tmp_path.iterdir()] == []

    def test_so_it_is_where_the_tables_are_those_of_older_code(self, tmp_path: Path) -> None:
        manage("migrate", "teams", "0001", OCTOSTORE_DATA=str(tmp_path))
        run = manage("create_team", "acme", OCTOSTORE_DATA=str(tmp_path))
        assert "lacks migrations" in run.stderr
