"""Logs: one JSON object a line on standard error, ours and every library's, secrets redacted.

Lines are written straight to file descriptor 2, each in one call, so that the lines of several
processes never mix and a reader that went away fails no request.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from typing import Any

import msgspec
import structlog

from octostore.lib.redaction import redact

EXCEPTION_LINE_MAX = 300

# Below these levels the libraries write paths, addresses, statements or bodies of customers.
_LIBRARIES = {
    "django.request": logging.CRITICAL,
    "django.server": logging.CRITICAL,
    "uvicorn.access": logging.CRITICAL,
    "django.security": logging.ERROR,
    "django.db.backends": logging.WARNING,
    "django": logging.INFO,
    "uvicorn": logging.INFO,
    "celery": logging.INFO,
    "kombu": logging.INFO,
    "amqp": logging.INFO,
    "asyncio": logging.INFO,
}


class StandardError:
    """File descriptor 2 as a text stream; a line that cannot be written is lost, not raised."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            os.write(2, text.encode("utf-8", "backslashreplace"))
        return len(text)

    def flush(self) -> None:
        pass


def configure(level: str) -> None:
    """Send structlog's and the standard library's records of `level` and above through one redacting chain."""
    number = logging.getLevelNamesMapping()[level]
    stamps: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    render: list[structlog.typing.Processor] = [
        structlog.processors.ExceptionRenderer(_exception_text),
        _redact,
        _encode,
    ]
    stream = StandardError()
    structlog.configure(
        processors=[*stamps, *render],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(file=stream),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *stamps],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    logging.basicConfig(handlers=[handler], level=number, force=True)
    # The standard library would print a record it cannot format as it is, arguments and all.
    logging.raiseExceptions = False
    for name, floor in _LIBRARIES.items():
        logging.getLogger(name).setLevel(max(number, floor))


def _exception_text(exc_info: structlog.typing.ExcInfo) -> str:
    """Where it happened and the first line of what it said: never local variables, nor the rows databases add."""
    return "\n".join(_chain(exc_info[1]))


def _chain(error: BaseException) -> Iterator[str]:
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        yield from _chain(cause)
        yield "which led to:"
    for frame in traceback.extract_tb(error.__traceback__):
        yield f"  {frame.filename}:{frame.lineno} in {frame.name}"
    said = next(iter(str(error).splitlines()), "")
    yield f"{type(error).__module__}.{type(error).__qualname__}: {said[:EXCEPTION_LINE_MAX]}"


def _redact(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    clean: dict[str, Any] = redact(dict(event))
    return clean


def _encode(_: Any, __: str, event: MutableMapping[str, Any]) -> str:
    return msgspec.json.encode(event).decode()
