"""`manage.py serve`: the whole service from one command, as `make run` starts it."""

from __future__ import annotations

import fcntl
import http.client
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from octostore import __version__, datadir
from octostore.pages.first_run import create_owner
from octostore.server import sockets, valkey
from octostore.server.parent import die_with
from octostore.server.startup import require_database
from octostore.server.supervise import Child, Supervisor, say

STARTED = """
OctoStore {version} serves on {url} (ready after {seconds:.1f} s). Ctrl-C stops it.
Elect a leader, from another terminal:

  ROOM=$(curl -s -X POST {url}/elections | jq -r .election_id)
  curl -s -X POST "{url}/elections/$ROOM/campaign" -H "Content-Type: application/json" \
-d '{{"candidate_id":"agent-atlas","ttl_seconds":30}}'
"""

# Workers have no others to look for, to talk with or to be missed by.
ALONE = ["--without-mingle", "--without-gossip", "--without-heartbeat"]
# Celery's commands beside the web process. Calls to customers wait for customers, and nothing else waits with them.
BACKGROUND = {
    "worker": ["worker", "--beat", "--queues", "sweep,default", *ALONE],
    "worker of deliveries": ["worker", "--queues", "deliveries", *ALONE],
}

# The one time that this password is told.
OWNED = """
This service is yours now. Sign in at {url}/accounts/login/ as {owner.email} with the password

  {owner.password}

It is shown this once; `manage.py changepassword {owner.email}` sets another. You own the team {owner.team}:
`manage.py create_key --team {owner.team} --name worker` prints an API key of it.
"""


class Command(BaseCommand):
    help = "Migrate, then run the web process, the workers with their schedule and, without REDIS_URL, a Valkey."
    requires_system_checks = ()  # the web process makes them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--with-parent", action="store_true", help="stop when the process that started this ends")

    def handle(self, *, with_parent: bool, **_: Any) -> None:
        if with_parent:
            die_with(os.getppid(), signal.SIGTERM)
        began = time.monotonic()
        # First, as nothing is to be made for an address that cannot be had.
        listener = sockets.listen(settings.HOST, settings.PORT)
        with only_one_in(settings.DATA_DIR), Supervisor() as supervisor:
            code = run(supervisor, listener, began)
        sys.exit(code)


def run(supervisor: Supervisor, listener: socket.socket, began: float) -> int:
    """Start everything, announce it once it is ready, and watch it to its end."""
    say(f"Data is in {settings.DATA_DIR}" + ("." if settings.DATABASE_URL else ", in SQLite."))
    broker = {} if settings.REDIS_URL else {"REDIS_URL": start_valkey(supervisor)}
    call_command("migrate", interactive=False, verbosity=0)
    require_database()
    say("The database is up to date; starting the web process and the workers.")
    address = sockets.reachable(listener)
    if not settings.DATABASE_URL and (owner := create_owner()):
        say(OWNED.format(owner=owner, url=sockets.url(*address)))
    start_services(supervisor, listener, broker)
    listener.close()
    ready = False

    def announce_once_ready() -> None:
        nonlocal ready
        if not ready and is_ready(*address):
            ready = True
            say(STARTED.format(version=__version__, url=sockets.url(*address), seconds=time.monotonic() - began))

    code = supervisor.watch(announce_once_ready)
    say("Stopping.")
    return code


def start_valkey(supervisor: Supervisor) -> str:
    with datadir.using(settings.DATA_DIR):
        return valkey.start(supervisor, settings.DATA_DIR / "valkey")


def start_services(supervisor: Supervisor, listener: socket.socket, broker: dict[str, str]) -> None:
    """The web process, with which all of it ends, and the background work, which comes back."""
    environment = broker | {
        "OCTOSTORE_DATA": str(settings.DATA_DIR),
        "OCTOSTORE_PROBE_URL": os.environ.get("OCTOSTORE_PROBE_URL") or sockets.url(*sockets.reachable(listener)),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(settings.BASE_DIR), os.environ.get("PYTHONPATH")])),
    }
    descriptor = listener.fileno()
    web = [sys.executable, str(settings.BASE_DIR / "manage.py"), "web", "--fd", str(descriptor)]
    supervisor.start(Child(name="web process", command=web, environment=environment, inherits=[descriptor]))
    celery = [sys.executable, "-m", "celery", "--quiet", "--app", "octostore"]
    for name, arguments in BACKGROUND.items():
        command = [*celery, *arguments]
        supervisor.start(Child(name=name, command=command, environment=environment, comes_back=True))


def is_ready(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=1)
    try:
        connection.request("GET", "/ready")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextmanager
def only_one_in(directory: Path) -> Iterator[None]:
    """Hold the data directory for this process; the kernel lets go of it however the process ends."""
    with datadir.using(directory):
        lock = (directory / "serve.lock").open("wb")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ImproperlyConfigured(
                f"another OctoStore serves from {directory}: stop it, or name another directory with OCTOSTORE_DATA."
            ) from error
        yield
