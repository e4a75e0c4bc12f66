"""`manage.py web`: one web process, for a process manager; `serve` starts one with all it needs."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from octostore.server import sockets, web
from octostore.server.startup import require_database


class Command(BaseCommand):
    help = "Serve HTTP with one process; refuses to start where the database is not ready for it."
    # Also the warm-up: the checks import every URL's view.
    requires_system_checks = "__all__"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=settings.HOST)
        parser.add_argument("--port", type=sockets.port, default=settings.PORT)
        parser.add_argument("--fd", type=int, help="an inherited listening socket, instead of host and port")

    def handle(self, *, host: str, port: int, fd: int | None, **_: Any) -> None:
        listener = sockets.listen(host, port) if fd is None else sockets.inherited(fd)
        require_database()
        web.serve(listener)
