"""Django's PostgreSQL backend, with waits that end and commits that are heard out.

A statement is never cancelled: a cancelled wait for the synchronous standby reports success with
a WARNING (guarantees, G1). At the bound the connection is closed instead, and a warning that comes
with a commit makes its outcome unknown. Both surface as `OutcomeUnknown`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg import errors

# Connection exceptions; the server shuts down, crashed, or closed an idle session; it only reads by now.
_LOST = ("08", "57P01", "57P02", "57P05", "25006")


class OutcomeUnknown(psycopg.OperationalError):
    """A statement was sent, and whether it took effect cannot be told."""


def was_lost(error: Exception) -> bool:
    """Whether the server went away under a connection, so that another one may find it back."""
    cause = error.__cause__ or error
    if not isinstance(cause, psycopg.Error) or isinstance(cause, OutcomeUnknown | errors.ConnectionTimeout):
        return False
    return cause.sqlstate is None or cause.sqlstate.startswith(_LOST)


class DatabaseWrapper(base.DatabaseWrapper):
    """One connection; `bounded` limits what runs inside it, in seconds for each statement.

    What runs inside is also prepared on the server, which Django's own queries are not: it would
    send their numbers as 32 bits wherever a field is not named.
    """

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        self._warnings: list[str] = []
        connection.add_notice_handler(self._note)
        # From its second use on a bounded statement is prepared: planning it anew costs more than running it.
        connection.prepare_threshold = 1
        return connection

    def _note(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self._warnings.append(notice.message_primary or "")

    @contextmanager
    def bounded(self, seconds: float) -> Iterator[None]:
        """Run statements that must be committed for certain, each within `seconds`.

        Raises OutcomeUnknown, with the connection closed, when a statement takes longer
        or the server warns: what it did is unknown then.
        """
        self.ensure_connection()
        link = self.connection
        unbounded, unprepared = link.wait, link.cursor_factory

        def wait(gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            try:
                return unbounded(gen, interval=interval, timeout=seconds)
            except errors._WaitTimeout as error:
                link.pgconn.finish()
                raise OutcomeUnknown("no answer within the bounded wait") from error

        self._warnings.clear()
        link.wait, link.cursor_factory = wait, base.ServerBindingCursor
        try:
            yield
        finally:
            del link.wait
            link.cursor_factory = unprepared
        if self._warnings:
            link.pgconn.finish()
            with self.wrap_database_errors:
                raise OutcomeUnknown("the server warned: the outcome of the commit is unknown")
