"""A real server on a loopback port around a small WSGI application that shows what reached it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from octostore.server import sockets, web
from octostore.server.bridge import Bridge
from tests.server.wire import Wire


class Stage:
    """The application: answers with the environment it got; `/block` waits for `let_go`; `/empty` is a 204."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.blocked = threading.Semaphore(0)
        self.calls: list[str] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        path, refusal = environ["PATH_INFO"], environ.get("octostore.refusal")
        self.calls.append(path)
        if refusal in {"overloaded", "stopping"}:
            return self._answer(start_response, "503 Service Unavailable", {"refusal": refusal})
        if path.startswith("/block"):
            self.blocked.release()
            self.let_go.wait(20)
        if path == "/empty":
            start_response("204 No Content", [])
            return [b""]
        if path == "/large":
            start_response("200 OK", [("Content-Type", "text/plain")])
            return [b"x" * 1024] * 1024
        seen = {key: value for key, value in environ.items() if isinstance(value, str | float)}
        seen |= {"body": environ["wsgi.input"].read().decode("latin-1"), "thread": threading.current_thread().name}
        return self._answer(start_response, "200 OK", seen)

    @staticmethod
    def _answer(start_response: Any, status: str, shown: dict[str, Any]) -> list[bytes]:
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps(shown).encode()]


@dataclass
class Serving:
    port: int
    server: uvicorn.Server
    stage: Stage = field(default_factory=Stage)

    def connect(self, *, seconds: float = 10) -> Wire:
        return Wire(self.port, seconds=seconds)


@contextmanager
def serving(
    *,
    threads: int = 2,
    keep_threads: int = 1,
    wait_seconds: float = 5,
    body_max_bytes: int = 65_536,
    body_timeout_seconds: float = 5,
    header_seconds: float = 5,
    header_max_bytes: int = 32_768,
) -> Iterator[Serving]:
    """The server as the web process makes it, with limits of the test's choice; stopped in the end."""
    stage = Stage()
    bridge = Bridge(
        stage,
        threads=threads,
        keep_threads=keep_threads,
        live_threads=1,
        wait_seconds=wait_seconds,
        body_max_bytes=body_max_bytes,
        body_timeout_seconds=body_timeout_seconds,
    )
    listener = sockets.listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server = web.Server(web.config(bridge, header_seconds=header_seconds, header_max_bytes=header_max_bytes))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield Serving(port, server, stage)
    finally:
        stage.let_go.set()
        server.should_exit = True
        thread.join(15)
        assert not thread.is_alive(), "the server did not stop"
