"""The one door to customers' URLs: a guarded POST, whose every end is a value.

A name is looked up once; all addresses that come back are judged, and one of those is dialled.
Proxies and credentials of the environment are not used, redirects not followed, cookies not kept.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from socket import AF_INET, AF_INET6, socket
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests_hardened import Config, HTTPSession
from urllib3.connection import HTTPConnection

from octostore import __version__
from octostore.lib.destinations import (
    DEFAULT_PORTS,
    Address,
    Destination,
    Policy,
    Refusal,
    Refused,
    check,
    leads_to_own_service,
    may_call,
)
from octostore.lib.dialling import Allowance, Broken, FailureReason, Place, dial, look_up

__all__ = ["Answer", "Failure", "FailureReason", "Policy", "Refusal", "Refused", "check", "post"]

SECONDS = 15
READ_MAX_BYTES = 64 * 1024
TEXT_BYTES = 4096
RETRY_AFTER_MAX_CHARACTERS = 64
USER_AGENT = f"OctoStore-Webhooks/{__version__}"

# It would write down whole URLs, which may be secrets of those who gave them.
logging.getLogger("urllib3").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The receiver answered, with any status but 3xx.

    `retry_after` is the header as sent (at most 64 characters); `text` the first 4 KiB of the body,
    for people; `took` the length of the whole call.
    """

    status: int
    retry_after: str | None
    text: str
    took: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """No answer that counts; `status` is there with a redirect alone."""

    reason: FailureReason
    took: timedelta
    status: int | None = None


def post(
    url: str, *, body: bytes, headers: Mapping[str, str], policy: Policy, seconds: float = SECONDS
) -> Answer | Failure:
    """POST `body` to `url`, as `policy` allows; it takes at most `seconds`, and reads at most 64 KiB."""
    began = time.monotonic()
    status = None
    try:
        status, retry_after, text = _call(check(url, policy), body, headers, policy, Allowance(seconds, READ_MAX_BYTES))
        if not 300 <= status < 400:
            return Answer(status=status, retry_after=retry_after, text=text, took=_since(began))
        reason = FailureReason.REDIRECT
    except Refused:
        reason = FailureReason.URL_REFUSED
    except Broken as broken:
        reason = broken.reason
    except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError):
        # ValueError is what a chunk below zero bytes becomes.
        reason = FailureReason.PROTOCOL
    return Failure(reason=reason, took=_since(began), status=status)


class _Session(HTTPSession):  # type: ignore[misc]
    def get_redirect_target(self, resp: requests.Response) -> None:
        """None: to know the next request, requests would read and unpack the whole body of a redirect."""


class _Connection(HTTPConnection):
    """A connection whose socket `dial` makes: to an address that was judged, TLS and all."""

    is_verified = True

    def __init__(
        self, host: str, port: int, *, dial: partial[socket], default_port: int, timeout: Any = None, **_: Any
    ) -> None:
        super().__init__(host, port, timeout=timeout)
        self.default_port = default_port  # type: ignore[misc]
        self._dial = dial

    def _new_conn(self) -> socket:
        return self._dial()


class _Adapter(HTTPAdapter):
    def __init__(self, connection: partial[_Connection]) -> None:
        super().__init__()
        self._connection = connection

    def get_connection_with_tls_context(self, *args: Any, **named: Any) -> urllib3.HTTPConnectionPool:
        pool = super().get_connection_with_tls_context(*args, **named)
        pool.ConnectionCls = self._connection  # type: ignore[assignment]
        return pool


def _call(
    destination: Destination, body: bytes, headers: Mapping[str, str], policy: Policy, allowance: Allowance
) -> tuple[int, str | None, str]:
    """Status, `Retry-After` and text of the answer."""
    line = partial(dial, destination, _places(destination, policy, allowance), allowance)
    connection = partial(_Connection, dial=line, default_port=DEFAULT_PORTS[destination.scheme])
    config = Config(
        ip_filter_enable=False,  # its own adapter, which judges one address of many
        ip_filter_allow_loopback_ips=False,
        never_redirect=True,
        default_timeout=(SECONDS, SECONDS),
        user_agent_override=USER_AGENT,
    )
    ours = {"Accept-Encoding": "identity", "Connection": "close"}
    with _Session(config) as session:
        session.trust_env = False
        session.mount(f"{destination.scheme}://", _Adapter(connection))
        with session.post(destination.url, data=body, headers={**headers, **ours}, stream=True) as response:
            retry_after = response.headers.get("Retry-After")
            return response.status_code, retry_after and retry_after[:RETRY_AFTER_MAX_CHARACTERS], _text(response)


def _places(destination: Destination, policy: Policy, allowance: Allowance) -> list[Place]:
    """Where to dial: all of the destination's addresses, if every one may be called."""
    if destination.address is not None:
        family = AF_INET if destination.address.version == 4 else AF_INET6
        places = [Place(destination.address, family, (destination.host, destination.port))]
    else:
        places = look_up(destination.host, destination.port, allowance)

    def addresses_of(host: str) -> set[Address]:
        return {place.address for place in look_up(host, destination.port, allowance)}

    addresses = {place.address for place in places}
    if not all(may_call(address, policy) for address in addresses) or leads_to_own_service(
        destination, addresses, policy, addresses_of
    ):
        raise Broken(FailureReason.NO_ADDRESS)
    return places


def _text(response: requests.Response) -> str:
    """The body's beginning; reads on to its end or to the allowance's, so that a cut answer shows."""
    raw = b""
    try:
        raw = response.raw.read(TEXT_BYTES, decode_content=False)
        while response.raw.read(TEXT_BYTES, decode_content=False):
            pass
    except Broken as broken:
        if broken.reason is not FailureReason.TOO_LARGE:
            raise
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        return ""
    text = raw.decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() or letter in "\n\t" else " " for letter in text)


def _since(began: float) -> timedelta:
    return timedelta(seconds=time.monotonic() - began)
