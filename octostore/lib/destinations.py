"""Where calls to customers' URLs may go: which URLs, and which addresses behind them.

No look-up is made here. A URL is judged by its text, and by its host where that is an address in
any of its written forms; what a name resolves to is judged before each call (`outbound.post`).
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import idna
from requests_hardened.ip_filter import EXTRA_BLOCKED_NET_RANGES

from octostore.lib.worded import Worded

Address = IPv4Address | IPv6Address
Service = tuple[str, int]  # a host, by name or by address, and its port

URL_MAX_CHARACTERS = 2048
PUBLIC_PORTS = frozenset({443, 8443})
DEFAULT_PORTS = {"https": 443, "http": 80}
# The one reading of a URL: what is called is put together from these parts again.
_URL = re.compile(
    r"(?P<scheme>[A-Za-z]+)://(?P<user>[^/?#\\]*@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^/?#\\@:\[\]]+)(?::(?P<port>[0-9]{0,5}))?"
    r"(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?P<fragment>#.*)?"
)
# RFC 3986's characters; whatever else a path holds must be percent-encoded.
_PATH = re.compile(r"[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]*")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# A host whose last label is a number is an IPv4 address, or nothing (WHATWG URL, "ends in a number").
_ENDS_IN_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
# Names that are never public (RFC 6761, RFC 6762, RFC 8375, ICANN's .internal).
_PRIVATE_NAMES = re.compile(r"[^.]+|.*\.(?:localhost|localdomain|local|internal|home\.arpa)")

# Where machines are told who they are and what they may do. Never called, whatever is allowed.
METADATA = tuple(
    map(
        ip_network,
        (
            "169.254.0.0/16",  # link-local, used by nearly all
            "fe80::/10",
            "fd00:ec2::/32",  # AWS
            "fd20:ce::254/128",  # Google
            "168.63.129.16/32",  # Azure, in public space
            "100.100.100.200/32",  # Alibaba
            "192.0.0.192/32",  # Oracle
        ),
    )
)
NOWHERE = tuple(map(ip_network, ("0.0.0.0/8", "240.0.0.0/4", "::/128")))
UNICAST6 = ip_network("2000::/3")
NAT64 = ip_network("64:ff9b::/96")
NAT64_LOCAL = ip_network("64:ff9b:1::/48")
COMPATIBLE = ip_network("::/96")
ISATAP = (0x00005EFE, 0x02005EFE)  # before the last 32 bits


class Refusal(Worded):
    """Why a URL may not be called. The value is for programs, `text` for people."""

    MALFORMED = "malformed", "It is not a valid URL; what is not ASCII must be percent-encoded"
    TOO_LONG = "too_long", f"It is longer than {URL_MAX_CHARACTERS} characters"
    NOT_HTTPS = "not_https", "It must begin with https://"
    USER_INFO = "user_info", "It must hold no user name and no password"
    FRAGMENT = "fragment", "It must have no #fragment, which is never sent"
    PORT = "port", "Its port must be 443 or 8443"
    NOT_PUBLIC = "not_public", "Its host must have a public address"
    FORBIDDEN = "forbidden", "Its host is an address that is never called"
    OWN_SERVICE = "own_service", "It leads to this service's own database or broker"


class Refused(Exception):
    """This URL may not be called; `reason` says why."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason.text)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may be called. `own` are the database and the broker of this service, never called."""

    allow_private: bool = False
    own: frozenset[Service] = frozenset()


@dataclass(frozen=True, slots=True)
class Destination:
    """A URL that may be called.

    `host` is lower-case ASCII without a dot at its end, `address` what it is where it is no name,
    `path` holds the query too.
    """

    scheme: str
    host: str
    address: Address | None
    port: int
    path: str

    @property
    def url(self) -> str:
        """The URL, written the one way."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"


def check(url: str, policy: Policy) -> Destination:
    """`url` taken apart, as far as it can be judged without a look-up; Refused where it may not be called."""
    if len(url) > URL_MAX_CHARACTERS:
        raise Refused(Refusal.TOO_LONG)
    scheme, host, port, path = _take_apart(url)
    if scheme != "https" and not (policy.allow_private and scheme == "http"):
        raise Refused(Refusal.NOT_HTTPS)
    if not policy.allow_private and port not in PUBLIC_PORTS:
        raise Refused(Refusal.PORT)
    address = written_address(host)
    if address is None and not policy.allow_private and _PRIVATE_NAMES.fullmatch(host):
        raise Refused(Refusal.NOT_PUBLIC)
    destination = Destination(scheme, host if address is None else str(address), address, port, path)
    if address is not None and not may_call(address, policy):
        raise Refused(Refusal.FORBIDDEN if policy.allow_private else Refusal.NOT_PUBLIC)
    if leads_to_own_service(destination, {address} if address else _known(host), policy, _known):
        raise Refused(Refusal.OWN_SERVICE)
    return destination


def may_call(address: Address, policy: Policy) -> bool:
    """Whether this address may be dialled, judged with every address that is embedded in it."""
    everywhere = forms(address)
    if any(form.is_multicast or _within(form, METADATA + NOWHERE) for form in everywhere):
        return False
    return policy.allow_private or _is_public(address)


def leads_to_own_service(
    destination: Destination,
    addresses: Collection[Address],
    policy: Policy,
    look_up: Callable[[str], Collection[Address]],
) -> bool:
    """Whether that is a port of the service's own database or broker, under whatever address.

    `look_up` gives the addresses of the host of such a service.
    """
    reached = {form for address in addresses for form in forms(address)}
    for host, port in policy.own:
        if port != destination.port:
            continue
        own = set(look_up(host))
        if host == destination.host or own & reached or (any(map(_is_here, own)) and any(map(_is_here, reached))):
            return True
    return False


def written_address(host: str) -> Address | None:
    """The address that `host` writes out, in any form a resolver takes for one; None for a name.

    Raises Refused for what is neither.
    """
    try:
        if ":" in host:
            return IPv6Address(host)
        if _ENDS_IN_NUMBER.fullmatch(host):
            return IPv4Address(socket.inet_aton(host))
    except (ValueError, OSError):
        raise Refused(Refusal.MALFORMED) from None
    if len(host) > 253 or not all(map(_LABEL.fullmatch, host.split("."))):
        raise Refused(Refusal.MALFORMED)
    return None


def forms(address: Address) -> set[Address]:
    """The address and every IPv4 address that a machine on the way might take it for."""
    found: set[Address] = {address}
    if isinstance(address, IPv6Address) and not address.is_loopback:
        number = int(address)
        found |= {form for form in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())) if form}
        if (number >> 32) & 0xFFFFFFFF in ISATAP or _within(address, (COMPATIBLE, NAT64, NAT64_LOCAL)):
            found.add(IPv4Address(number & 0xFFFFFFFF))
    return found


def _is_public(address: Address) -> bool:
    # NAT64 is what DNS64 makes of a public IPv4 address on a network without IPv4.
    is_global = address in NAT64 or (
        (address.version == 4 or address in UNICAST6)
        and address.is_global
        and not _within(address, EXTRA_BLOCKED_NET_RANGES)
    )
    return is_global and all(_is_public(form) for form in forms(address) - {address})


def _take_apart(url: str) -> tuple[str, str, int, str]:
    """Scheme, ASCII host without brackets and without a dot at its end, port, path with query."""
    match = _URL.fullmatch(url)
    if match is None:
        raise Refused(Refusal.MALFORMED)
    scheme, path = match["scheme"].lower(), (match["path"] or "/") + (match["query"] or "")
    if scheme not in DEFAULT_PORTS:
        raise Refused(Refusal.NOT_HTTPS)
    if match["user"]:
        raise Refused(Refusal.USER_INFO)
    if match["fragment"]:
        raise Refused(Refusal.FRAGMENT)
    port = int(match["port"] or DEFAULT_PORTS[scheme])
    if not 0 < port < 65536 or not _PATH.fullmatch(path):
        raise Refused(Refusal.MALFORMED)
    return scheme, _in_ascii(match["host"]), port, path


def _in_ascii(host: str) -> str:
    """A host in any script, in lower-case ASCII (UTS 46)."""
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except idna.IDNAError:
            raise Refused(Refusal.MALFORMED) from None
    return host.lower().strip("[]").removesuffix(".")


def _known(host: str) -> Collection[Address]:
    """The addresses of a host that are known without a look-up."""
    if host == "localhost" or host.endswith(".localhost"):
        return {ip_address("127.0.0.1"), ip_address("::1")}
    with suppress(Refused):
        if (address := written_address(host)) is not None:
            return {address}
    return set()


def _is_here(address: Address) -> bool:
    """Whether it is one of this machine's own addresses: those alone can be bound."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True


def _within(address: Address, networks: Collection[object]) -> bool:
    return any(address in network for network in networks)  # type: ignore[operator]
