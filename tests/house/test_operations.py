"""The commands of docs/operations.md do what stands there, again and again."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.elections.rooms import told, win
from tests.house.sources import ROOT
from tests.orphans import free_port
from tests.processes import Process, Web
from tests.valkey import Valkey

pytestmark = pytest.mark.only("sqlite")  # the databases of these are files of their own

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
ROOM = "operated-room"


def blocks(section: str) -> list[str]:
    """The commands of one section, in order."""
    found = re.search(rf"^## {section}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, section
    return re.findall(r"^```sh\n(.*?)^```$", found[1], re.MULTILINE | re.DOTALL)


class Installation:
    """A clone with its data directory, as far as commands see it: they run in `home`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / "var"
        (home / "manage.py").symlink_to(ROOT / "manage.py")
        self.environment = {"OCTOSTORE_DATA": str(self.data), "PYTHONPATH": str(ROOT)}
        # The database of the test run is none of this one's.
        self.environment |= {"DATABASE_URL": "", "REDIS_URL": "", "OCTOSTORE_LOG_LEVEL": "INFO"}

    def run(self, commands: str) -> str:
        """What `commands` print; fails where one of them does."""
        done = subprocess.run(
            ["bash", "-e", "-c", commands.replace(".venv/bin/python", sys.executable)],
            cwd=self.home,
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
        return done.stdout

    def web(self) -> Web:
        return Web(self.home, self.environment)

    def backups(self) -> list[Path]:
        return sorted(self.home.glob("*.sqlite3"))


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    made = Installation(tmp_path_factory.mktemp("installation"))
    made.run(".venv/bin/python manage.py migrate")
    return made


def test_backup_is_made_again_and_again_and_restored_behind_a_new_key(installation: Installation) -> None:
    backup, *_ = blocks("Backups and restoring")
    rotate, mint = blocks("The server key")
    with installation.web() as web, web.client() as client:
        won = win(client, ROOM, ttl_seconds=300)
        installation.run(backup)
        client.resign(ROOM, won["leader_token"])
        later = win(client, ROOM, ttl_seconds=300)
        installation.run(rotate)
        installation.run(backup)
    old, new = installation.backups()
    assert {stat.S_IMODE(one.stat().st_mode) for one in (old, new)} == {0o600}
    assert len(installation.run(mint).strip()) == 43

    for leftover in installation.data.glob("octostore.sqlite3-*"):
        leftover.unlink()
    old.replace(installation.data / "octostore.sqlite3")
    steps = re.findall(r"^\d\. Run `(\.venv/bin/python manage\.py \w+)`", PAGE, re.MULTILINE)
    assert [step.rpartition(" ")[2] for step in steps] == ["migrate", "adopt_server_key", "after_restore"]
    for step in steps:
        installation.run(step)
    with installation.web() as web, web.client() as client:
        assert client.room(ROOM).json()["status"] == "vacant"
        assert told(client.renew(ROOM, won["leader_token"])) == (404, "lease_not_current")
        assert win(client, ROOM)["leader"]["term"] > later["leader"]["term"]


def test_teams_are_made_as_printed(installation: Installation) -> None:
    (make,) = blocks("Teams and keys")
    assert re.fullmatch(r"osk_\w{12}_[\w-]{43}", installation.run(make).splitlines()[-1])
    for arguments in re.findall(r"^\| `((?:revoke_key|set_quota|invite) [^`]+)`", PAGE, re.MULTILINE):
        assert installation.run(f".venv/bin/python manage.py {arguments}")


def test_processes_start_as_printed(installation: Installation) -> None:
    (parts,) = blocks("Many processes behind a proxy")
    migrate, *services = parts.splitlines()
    installation.run(migrate)
    with ExitStack() as stack:
        valkey = stack.enter_context(Valkey(installation.home))
        environment = installation.environment | {"REDIS_URL": valkey.url}
        for number, line in enumerate(services):
            port = free_port()
            command = line.replace(".venv/bin/python", sys.executable).replace("8001", str(port))
            log = installation.home / f"{number}.log"
            stack.enter_context(Part(command.split(), environment, log))
    assert len(services) >= 2


class Part(Process):
    """Ready once it says so in its log."""

    def is_ready(self) -> bool:
        return bool(re.search(r"listening|worker_ready|\bready\b", self.output()))
