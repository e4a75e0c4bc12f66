"""Who is asking, as far as an anonymous request tells: the address budgets and capacities count by."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from octostore.lib import secrets

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

UNKNOWN = "unknown"
IPV6_PREFIX = 64
ADDRESS_MAX = 64  # characters; also what keeps the caches below small


def client_of(request: HttpRequest | Request) -> str:
    """The client a request comes from: an IPv4 address, or the /64 of an IPv6 one.

    It is the socket's peer, or what the trusted proxies said of it. One who connects without an
    address, through a Unix socket, is `unknown`.
    """
    return _client(_address_text(request))


@lru_cache(maxsize=8192)
def client_digest(client: str) -> str:
    """A pseudonym of 22 characters for storing: without the server's key nobody finds the address from it."""
    return secrets.encode(settings.SERVER_KEYS[0].derive("client", client.encode("utf-8"))[:16])


def address_of(request: HttpRequest | Request) -> Address | None:
    """The client's full address; v4-mapped addresses as the IPv4 address they carry."""
    return _parse(_address_text(request))


def _address_text(request: HttpRequest | Request) -> str:
    peer: str = request.META.get("REMOTE_ADDR", "")
    hops: int = settings.TRUSTED_PROXY_HOPS
    if not hops:
        return peer
    # Each trusted proxy appended whom it heard from; what stands further left anybody can write.
    told = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    claimed = told[-hops].strip() if len(told) >= hops else ""
    return claimed if len(claimed) <= ADDRESS_MAX and _parse(claimed) else peer


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
