"""One web process: uvicorn around the bridge around Django's WSGI handler."""

from __future__ import annotations

import gc
import resource
import signal
import socket
from functools import partial

import structlog
import uvicorn
from django.conf import settings

import octostore.celery  # noqa: F401  where tasks that a request brings about are sent
from octostore.api.handler import get_application
from octostore.live.hub import hub
from octostore.server import sockets
from octostore.server.bridge import Bridge
from octostore.server.protocol import Protocol

# Longer than a leader pauses between renewals, so that it need not connect for each.
KEEP_ALIVE_SECONDS = 75
GRACEFUL_SECONDS = 5
OPEN_FILES_MAX = 65_536

log = structlog.get_logger("octostore.web")


def serve(listener: socket.socket) -> None:
    """Serve on `listener` until SIGTERM or SIGINT, then finish what is under way within GRACEFUL_SECONDS."""
    _raise_open_files()
    server = Server(
        config(
            Bridge(
                get_application(),
                threads=settings.WEB_THREADS,
                keep_threads=settings.KEEP_THREADS,
                live_threads=settings.LIVE_THREADS,
                wait_seconds=settings.STORAGE_WAIT_SECONDS,
                body_max_bytes=settings.BODY_MAX_BYTES,
                body_timeout_seconds=settings.BODY_TIMEOUT_SECONDS,
            ),
            header_seconds=settings.HEADER_TIMEOUT_SECONDS,
            header_max_bytes=settings.HEADER_MAX_BYTES,
        )
    )
    # What was made up to here stays. Walking through it in search of garbage took 0.1 s, with every thread halted.
    gc.collect()
    gc.freeze()
    log.info("listening", address=sockets.url(*listener.getsockname()[:2]))
    try:
        server.run([listener])
    except KeyboardInterrupt:
        # As uvicorn ends on SIGTERM: at once, not after threads that may wait for storage.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)


class Server(uvicorn.Server):
    """uvicorn, which would wait for streams and waits until their clients go."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        hub.stop()
        await super().shutdown(sockets)


def config(bridge: Bridge, *, header_seconds: float, header_max_bytes: int) -> uvicorn.Config:
    """uvicorn without what others do here: logging, proxies' headers, WebSockets."""
    return uvicorn.Config(
        bridge,
        http=partial(Protocol, header_seconds=header_seconds, header_max_bytes=header_max_bytes),  # type: ignore[arg-type]
        loop="uvloop",
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACEFUL_SECONDS,
        backlog=sockets.BACKLOG,
    )


def _raise_open_files() -> None:
    """Many systems give a process 1,024 open files unless it asks for more; every client is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES_MAX)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
