"""The listening socket: made in one place, so that whoever starts the service learns of a port in use."""

from __future__ import annotations

import errno
import os
import re
import socket
from argparse import ArgumentTypeError

from django.core.exceptions import ImproperlyConfigured

PORT_MAX = 65_535
BACKLOG = 2048
# A peer that vanished without a word is noticed after this long, be there data under way or not.
USER_TIMEOUT_MS = 12_000
IDLE_SECONDS = 10
PROBE_SECONDS = 2

_CAUSES = {
    errno.EADDRINUSE: "port {port} on {host} is in use: stop what listens there, or name another with PORT.",
    errno.EADDRNOTAVAIL: "HOST names {host}, which is no address of this machine.",
    errno.EACCES: "this user may not listen on port {port}: name one above 1023 with PORT.",
}


def listen(host: str, port: int) -> socket.socket:
    """A TCP socket listening on the first address of `host`; port 0 takes a free one.

    Raises ImproperlyConfigured with the cause. What is set here holds for accepted connections too.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise ImproperlyConfigured(f"HOST names {host!r}, which cannot be resolved.") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option, value in (
            ("TCP_KEEPIDLE", IDLE_SECONDS),
            ("TCP_KEEPINTVL", PROBE_SECONDS),
            ("TCP_USER_TIMEOUT", USER_TIMEOUT_MS),
        ):
            if number := getattr(socket, option, None):  # not every system has all three
                listener.setsockopt(socket.IPPROTO_TCP, number, value)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        cause = _CAUSES.get(error.errno or 0, "port {port} on {host} cannot be opened: {reason}.")
        text = cause.format(host=host, port=port, reason=os.strerror(error.errno or 0))
        raise ImproperlyConfigured(text) from error
    return listener


def inherited(descriptor: int) -> socket.socket:
    """The socket on which whoever started this process has it listen; ImproperlyConfigured where it is none."""
    try:
        listener = socket.socket(fileno=descriptor)
        if not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            raise OSError
    except (OSError, ValueError) as error:
        raise ImproperlyConfigured(f"descriptor {descriptor} is no listening socket.") from error
    return listener


def port(text: str) -> int:
    """A port as an argument; raises ArgumentTypeError."""
    if not re.fullmatch("[0-9]{1,5}", text) or int(text) > PORT_MAX:
        raise ArgumentTypeError(f"a port is a whole number from 0 to {PORT_MAX}, not {text!r}")
    return int(text)


def reachable(listener: socket.socket) -> tuple[str, int]:
    """Host and port under which this machine reaches `listener`: the loopback address where it takes any."""
    host, port = listener.getsockname()[:2]
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port


def url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
