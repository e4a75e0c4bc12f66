"""What settings that name places must look like; each raises ValueError with what was expected."""

from __future__ import annotations

import ipaddress
import re
from email.errors import MessageError
from email.headerregistry import Address
from email.utils import getaddresses
from urllib.parse import urlsplit

import redis

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*\.?")


def host(text: str) -> None:
    """To listen on: a name or an address, without a port."""
    if not _HOST.fullmatch(text):
        try:
            ipaddress.ip_address(text)
        except ValueError:
            raise ValueError("a host name or an address, without a port") from None


def host_pattern(text: str) -> str:
    """As Django knows them in ALLOWED_HOSTS."""
    is_ipv6 = text.startswith("[") and text.endswith("]")
    try:
        if text != "*":
            host(text[1:-1] if is_ipv6 else text.removeprefix("."))
    except ValueError:
        raise ValueError("host names without scheme and port, like octostore.example.org, .example.org or *") from None
    return text.lower()


def network(text: str) -> Network:
    """One address is a network too."""
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        raise ValueError("addresses, or networks like 10.0.0.0/8") from None


def origin(text: str) -> str:
    """As browsers send them: scheme and host, and a port that is not the scheme's own."""
    if not _is_origin(text):
        raise ValueError("web origins like https://app.example.org")
    return text.lower()


def web_address(text: str) -> None:
    """Of a service, to call it."""
    if not text.startswith(("http://", "https://")) or not _is_origin(text):
        raise ValueError("the address of a service, without a path, like http://127.0.0.1:8000")


def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
        host(parts.hostname or "")
        is_whole = text == f"{parts.scheme}://{parts.netloc}" and "@" not in text
        return bool(parts.scheme) and is_whole and parts.port != 0
    except ValueError:
        return False


def redis_address(text: str) -> None:
    """Understood alike by redis-py and Celery."""
    try:
        parts = urlsplit(text)
        if parts.scheme not in {"redis", "rediss"} or not parts.hostname or parts.port == 0:
            raise ValueError
        if not re.fullmatch("/?[0-9]*", parts.path):
            raise ValueError
        # Options behind a question mark are judged by who takes them.
        redis.ConnectionPool.from_url(text).make_connection()
    except (ValueError, TypeError, redis.RedisError):
        raise ValueError("the address of a Redis like redis://:password@127.0.0.1:6379/0") from None


def sender(text: str) -> None:
    """Whom mails come from, with or without a name."""
    try:
        ((_, address),) = getaddresses([text])
        Address(addr_spec=address)
    except (ValueError, IndexError, MessageError):
        raise ValueError("a mail address like octostore@example.org") from None
