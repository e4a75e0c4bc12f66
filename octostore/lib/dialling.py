"""Connections to checked addresses, within one allowance of time and bytes for the whole call.

The libraries' timeouts are for each read, so that a receiver which drips a byte a second holds its
caller for ever. Here every wait, from the look-up to the last byte, is for what is left of the call.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import certifi

from octostore.lib.destinations import Address, Destination
from octostore.lib.worded import Worded

# The system's resolver may take longer than a call, and a thread that waits for it cannot be ended.
LOOK_UPS_MAX = 128
DIALS_MAX = 4

_look_ups = threading.BoundedSemaphore(LOOK_UPS_MAX)


class FailureReason(Worded):
    """Why no answer came, or none that counts. The value is for programs, `text` for people.

    Whether a name is unknown or leads inside is one reason, as the difference would map the inside.
    """

    URL_REFUSED = "url_refused", "The URL is not one that may be called"
    NO_ADDRESS = "no_address", "The host has no address that may be called: it is unknown, or not public"
    REFUSED = "refused", "The receiver refused the connection"
    UNREACHABLE = "unreachable", "The receiver's network could not be reached"
    RESET = "reset", "The receiver broke the connection off before it had answered"
    TLS = "tls", "No trusted TLS connection: the certificate is not valid for the host, or TLS is not spoken"
    TIMEOUT = "timeout", "The call was not over in time"
    REDIRECT = "redirect", "The receiver answered with a redirect, which is never followed"
    TOO_LARGE = "too_large", "The answer's headers were too large"
    PROTOCOL = "protocol", "The answer was not HTTP, or not whole"


class Broken(Exception):
    """The call cannot go on. No OSError, so that no library on the way takes it for one of its own."""

    def __init__(self, reason: FailureReason) -> None:
        super().__init__(reason.text)
        self.reason = reason


class Allowance:
    """What one call may still take: seconds, and bytes of the answer, its headers among them."""

    def __init__(self, seconds: float, size: int) -> None:
        self._ends_at = time.monotonic() + seconds
        self._room = size
        self.has_received = False

    def seconds(self) -> float:
        """Above zero; Broken when the time is up."""
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise Broken(FailureReason.TIMEOUT)
        return left

    def room(self) -> int:
        """Above zero; Broken when so much was read."""
        if self._room <= 0:
            raise Broken(FailureReason.TOO_LARGE)
        return self._room

    def take(self, size: int) -> None:
        self._room -= size
        self.has_received = True


@dataclass(frozen=True, slots=True)
class Place:
    """One address of a destination, as the socket takes it."""

    address: Address
    family: int
    socket_address: tuple[Any, ...]


if TYPE_CHECKING:
    _Socket = socket.socket
else:
    _Socket = object


class _Measured(_Socket):
    """What a socket reads and writes, within the allowance."""

    allowance: Allowance

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        view = memoryview(buffer).cast("B")[: self.allowance.room()]
        self.settimeout(self.allowance.seconds())
        try:
            size = super().recv_into(view, len(view), flags)
        except OSError as error:
            raise Broken(_reason(error)) from error
        if size == 0 and not self.allowance.has_received:
            raise Broken(FailureReason.RESET)
        self.allowance.take(size)
        return size

    def sendall(self, data: Any, flags: int = 0) -> None:
        self.settimeout(self.allowance.seconds())
        try:
            super().sendall(data, flags)
        except BrokenPipeError:
            # Who does not read on may have answered already, and urllib3 looks for that.
            raise
        except OSError as error:
            raise Broken(_reason(error)) from error


class _Line(_Measured, socket.socket):
    pass


class _SecureLine(_Measured, ssl.SSLSocket):
    pass


@cache
def trust() -> ssl.SSLContext:
    """Mozilla's authorities and the system's, where an operator adds his own. Shared; nothing changes it."""
    context = ssl.create_default_context(cafile=certifi.where())
    context.load_default_certs()
    context.set_alpn_protocols(["http/1.1"])
    context.sslsocket_class = _SecureLine
    return context


def look_up(host: str, port: int, allowance: Allowance) -> list[Place]:
    """All addresses of a name, one or more, from one look-up; Broken where there is none in time."""
    slots = _look_ups
    if not slots.acquire(timeout=allowance.seconds()):
        raise Broken(FailureReason.TIMEOUT)
    found: SimpleQueue[list[Place] | OSError] = SimpleQueue()

    def ask() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.put([Place(ip_address(where[0]), family, where) for family, _, _, _, where in answers])
        except OSError as error:
            found.put(error)
        finally:
            slots.release()

    try:
        threading.Thread(target=ask, name="look-up", daemon=True).start()
    except RuntimeError:  # no more threads
        slots.release()
        raise
    try:
        places = found.get(timeout=allowance.seconds())
    except Empty:
        raise Broken(FailureReason.TIMEOUT) from None
    if isinstance(places, OSError) or not places:
        raise Broken(FailureReason.NO_ADDRESS)
    return places


def dial(destination: Destination, places: Sequence[Place], allowance: Allowance) -> socket.socket:
    """A connection to the first of `places` that takes one, with TLS for the destination's name where it is https."""
    line = _connect(places[:DIALS_MAX], allowance)
    try:
        line.settimeout(allowance.seconds())
        if destination.scheme == "https":
            line = trust().wrap_socket(line, server_hostname=destination.host)  # type: ignore[assignment]
    except Broken:
        line.close()
        raise
    except OSError as error:
        line.close()
        raise Broken(_reason(error)) from error
    line.allowance = allowance
    return line


def _connect(places: Sequence[Place], allowance: Allowance) -> _Line:
    reason = FailureReason.NO_ADDRESS
    for left, place in zip(range(len(places), 0, -1), places, strict=True):
        seconds = allowance.seconds() / left
        try:
            line = _Line(place.family, socket.SOCK_STREAM)
            try:
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                line.settimeout(seconds)
                line.connect(place.socket_address)
            except OSError:
                line.close()
                raise
        except OSError as error:
            reason = _reason(error)
        else:
            return line
    raise Broken(reason)


def _reason(error: OSError) -> FailureReason:
    match error:
        case TimeoutError():
            return FailureReason.TIMEOUT
        case ssl.SSLError():
            return FailureReason.TLS
        case ConnectionRefusedError():
            return FailureReason.REFUSED
        case ConnectionResetError() | BrokenPipeError() | ConnectionAbortedError():
            return FailureReason.RESET
        case _:
            return FailureReason.UNREACHABLE
