"""The client: the socket's peer, or what as many proxies as are trusted said of it."""

from __future__ import annotations

import ipaddress

import pytest
from django.test import RequestFactory
from pytest_django.fixtures import Settings

from octostore.api.client import certain_address_of, client_digest, client_of
from octostore.lib.secrets import ServerKey

PEER = "203.0.113.9"


def client(peer: str = PEER, forwarded: str | None = None) -> str:
    headers = {"X-Forwarded-For": forwarded} if forwarded is not None else {}
    return client_of(RequestFactory().get("/", headers=headers, REMOTE_ADDR=peer))


class TestPeers:
    def test_ipv4_client_is_its_address(self) -> None:
        assert client("198.51.100.7") == "198.51.100.7"

    def test_ipv6_client_is_its_64(self) -> None:
        assert client("2001:db8:1:2:3:4:5:6") == client("2001:db8:1:2::9") == "2001:db8:1:2::/64"
        assert client("2001:db8:1:3::9") != client("2001:db8:1:2::9")

    def test_mapped_address_is_its_ipv4(self) -> None:
        assert client("::ffff:198.51.100.7") == "198.51.100.7"

    def test_zone_makes_no_other_client(self) -> None:
        assert client("fe80::1%eth0") == client("fe80::2") == "fe80::/64"

    @pytest.mark.parametrize("peer", ["", "unix:", "not an address"])
    def test_peer_without_an_address_is_unknown(self, peer: str) -> None:
        assert client(peer) == "unknown"


class TestProxies:
    def test_nobody_is_believed_without_trusted_hops(self) -> None:
        assert client(forwarded="198.51.100.7") == PEER

    @pytest.mark.parametrize(
        ("hops", "forwarded", "expected"),
        [
            (1, "198.51.100.7", "198.51.100.7"),
            (1, "6.6.6.6, 198.51.100.7", "198.51.100.7"),
            (1, "6.6.6.6,198.51.100.7", "198.51.100.7"),
            (2, "6.6.6.6, 198.51.100.7, 10.0.0.1", "198.51.100.7"),
            (1, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            (1, "::ffff:198.51.100.7", "198.51.100.7"),
            (1, "198.51.100.7:4711", "198.51.100.7"),
            (1, "[2001:db8:1:2:3:4:5:6]:4711", "2001:db8:1:2::/64"),
            (1, "[2001:db8:1:2:3:4:5:6]", "2001:db8:1:2::/64"),
            (2, "6.6.6.6, 198.51.100.7:4711, 10.0.0.1:4712", "198.51.100.7"),
        ],
    )
    def test_hops_count_from_the_right(self, settings: Settings, hops: int, forwarded: str, expected: str) -> None:
        settings.TRUSTED_PROXY_HOPS = hops
        assert client(forwarded=forwarded) == expected

    @pytest.mark.parametrize(
        "forwarded",
        [
            "",
            " ",
            "unknown",
            "_hidden",
            "198.51.100.7, nonsense",
            "198.51.100.7,",
            "1.2.3.4:x",
            "[1.2.3.4",
            "[::1]x",
            "1.2.3",
            "x" * 9000,
        ],
    )
    def test_one_of_whom_no_address_was_told_is_unknown_and_not_the_proxy(
        self, settings: Settings, forwarded: str
    ) -> None:
        settings.TRUSTED_PROXY_HOPS = 1
        assert client(forwarded=forwarded) == "unknown"

    def test_header_shorter_than_the_hops_tells_of_nobody(self, settings: Settings) -> None:
        settings.TRUSTED_PROXY_HOPS = 2
        assert client(forwarded="198.51.100.7") == "unknown"

    def test_absent_header_is_the_peer(self, settings: Settings) -> None:
        settings.TRUSTED_PROXY_HOPS = 1
        assert client() == PEER


class TestPseudonyms:
    def test_digest_is_stable_short_and_tells_nothing(self) -> None:
        assert client_digest(PEER) == client_digest(PEER)
        assert client_digest(PEER) != client_digest("203.0.113.8")
        assert len(client_digest(PEER)) == 22
        assert PEER not in client_digest(PEER)

    def test_digest_depends_on_the_servers_key(self, settings: Settings) -> None:
        before = client_digest(PEER)
        settings.SERVER_KEYS = [ServerKey(id="other", secret=b"o" * 32)]
        client_digest.cache_clear()
        after = client_digest(PEER)
        client_digest.cache_clear()
        assert after != before


def test_full_address_is_kept_for_lists_of_addresses() -> None:
    request = RequestFactory().get("/", REMOTE_ADDR="2001:db8::7")
    assert certain_address_of(request) == ipaddress.ip_address("2001:db8::7")
