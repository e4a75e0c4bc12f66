"""Who is asking, as far as an anonymous request tells: the address budgets and capacities count by."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from octostore.lib import secrets

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

UNKNOWN = "unknown"
IPV6_PREFIX = 64
ADDRESS_MAX = 64  # characters; also what keeps the caches below small

# Some proxies write the port too.
_WITH_PORT = re.compile(r"\[([^]]+)\](?::\d*)?|(\d+\.\d+\.\d+\.\d+):\d*")
# What proxies add beside X-Forwarded-*.
_TRACES = ("HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP", "HTTP_X_CLIENT_IP", "HTTP_TRUE_CLIENT_IP", "HTTP_CF_")


def client_of(request: HttpRequest | Request) -> str:
    """The client a request comes from: an IPv4 address, or the /64 of an IPv6 one.

    It is the socket's peer, or what the trusted proxies said of it. One who connects without an
    address, through a Unix socket, and one of whom the proxies told none that can be read, are
    `unknown`: who cannot be told apart shares one budget, and not that of the proxy.
    """
    return _client(_address_text(request))


@lru_cache(maxsize=8192)
def client_digest(client: str) -> str:
    """A pseudonym of 22 characters for storing: without the server's key nobody finds the address from it."""
    return secrets.encode(settings.SERVER_KEYS[0].derive("client", client.encode("utf-8"))[:16])


def certain_address_of(request: HttpRequest | Request) -> Address | None:
    """The full address of a client that is surely the one who asks; v4-mapped ones as the IPv4 they carry.

    None where the request may have passed a proxy that is not one of the trusted, whose address it
    would be.
    """
    told = _told(request)
    if told and len(told) != settings.TRUSTED_PROXY_HOPS:
        return None
    traces = _TRACES if told else (*_TRACES, "HTTP_X_FORWARDED")
    if any(name.startswith(traces) for name in request.META):
        return None
    return _parse(_address_text(request))


def _told(request: HttpRequest | Request) -> list[str]:
    """The entries of X-Forwarded-For: each proxy appended whom it heard from."""
    header: str | None = request.META.get("HTTP_X_FORWARDED_FOR")
    return [] if header is None else header.split(",")


def _address_text(request: HttpRequest | Request) -> str:
    hops: int = settings.TRUSTED_PROXY_HOPS
    told = _told(request)
    if not hops or not told:
        peer: str = request.META.get("REMOTE_ADDR", "")
        return peer
    # What stands further left than the trusted proxies reach anybody can write.
    claimed = told[-hops].strip() if len(told) >= hops else ""
    if len(claimed) > ADDRESS_MAX:
        return ""
    with_port = _WITH_PORT.fullmatch(claimed)
    return (with_port[1] or with_port[2]) if with_port else claimed


@lru_cache(maxsize=8192)
def _client(text: str) -> str:
    address = _parse(text)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((int(address), IPV6_PREFIX), strict=False))
    return str(address) if address else UNKNOWN


@lru_cache(maxsize=8192)
def _parse(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
