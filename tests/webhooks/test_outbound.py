"""No call leaves for where none may go: shown by what is looked up and dialled, which is nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octostore.lib import dialling
from octostore.lib.outbound import Answer, Failure, FailureReason, Policy, Refusal, Refused, check, post
from tests.webhooks.hostile import LITERALS, TEXTS, Network
from tests.webhooks.receivers import answering, receiving

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")

PUBLIC = Policy()
PRIVATE = Policy(allow_private=True)
PUBLIC4, PUBLIC6 = "93.184.216.34", "2606:2800:220:1::1"


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """A network that takes down what is asked of it and connects to nothing."""
    network = Network()
    monkeypatch.setattr(socket, "getaddrinfo", network.getaddrinfo)
    monkeypatch.setattr(socket, "gethostbyname", network.getaddrinfo)
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, lambda _, address: network.dial(address))
    monkeypatch.setattr(socket.socket, "sendto", lambda _, *data: network.dial(data[-1]))
    return network


def call(url: str, policy: Policy = PUBLIC, seconds: float = 5) -> Answer | Failure:
    return post(url, body=b"{}", headers={"Content-Type": "application/json"}, policy=policy, seconds=seconds)


def refusal(url: str, policy: Policy = PUBLIC) -> Refusal:
    with pytest.raises(Refused) as caught:
        check(url, policy)
    return caught.value.reason


def assert_fails(answer: Answer | Failure, reason: FailureReason) -> None:
    assert isinstance(answer, Failure)
    assert answer.reason is reason


class TestAHostileURL:
    @pytest.mark.parametrize(("url", "reason"), TEXTS.items(), ids=map(ascii, TEXTS))
    def test_is_refused_without_a_look_up(self, network: Network, url: str, reason: Refusal) -> None:
        assert refusal(url) is reason
        assert network.look_ups == []

    @pytest.mark.parametrize("url", TEXTS, ids=ascii)
    def test_is_neither_looked_up_nor_dialled(self, network: Network, url: str) -> None:
        assert_fails(call(url), FailureReason.URL_REFUSED)
        assert (network.look_ups, network.dials) == ([], [])

    @given(text=st.text() | st.text().map("https://".__add__) | st.text().map("https://{}/".format))
    def test_of_any_text_is_refused_or_ends_at_a_name(self, text: str) -> None:
        try:
            destination = check(text, PUBLIC)
        except Refused:
            return
        assert destination.address is None or destination.address.is_global
        assert destination.url.isascii()
        assert check(destination.url, PUBLIC) == destination


class TestAGoodURL:
    @pytest.mark.parametrize(
        ("url", "written"),
        [
            ("https://example.com", "https://example.com/"),
            ("HTTPS://Example.COM./A?b=C%20d", "https://example.com/A?b=C%20d"),
            ("https://example.com?x", "https://example.com/?x"),
            ("https://example.com:443/", "https://example.com/"),
            ("https://example.com:/", "https://example.com/"),
            ("https://example.com:8443/", "https://example.com:8443/"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            (f"https://{PUBLIC4}/", f"https://{PUBLIC4}/"),
            (f"https://[{PUBLIC6}]:8443/", f"https://[{PUBLIC6}]:8443/"),
            ("https://[64:ff9b::8.8.8.8]/", "https://[64:ff9b::808:808]/"),
            ("https://hooks_1.example.com/", "https://hooks_1.example.com/"),
        ],
    )
    def test_is_written_one_way(self, network: Network, url: str, written: str) -> None:
        assert check(url, PUBLIC).url == written
        assert network.look_ups == []

    def test_may_have_2048_characters(self) -> None:
        url = "https://example.com/" + "a" * 2028
        assert check(url, PUBLIC).url == url


class TestAName:
    @pytest.mark.parametrize("address", [PUBLIC4, PUBLIC6, "64:ff9b::808:808"])
    def test_is_looked_up_once_and_dialled_where_it_was_judged(self, network: Network, address: str) -> None:
        network.names["example.com"] = [[address], ["127.0.0.1"]]
        assert_fails(call("https://example.com/"), FailureReason.UNREACHABLE)
        assert network.look_ups == ["example.com"]
        assert [dialled[:2] for dialled in network.dials] == [(address, 443)]

    def test_that_changes_its_answer_is_judged_each_time(self, network: Network) -> None:
        network.names["example.com"] = [[PUBLIC4], ["127.0.0.1"]]
        call("https://example.com/")
        assert_fails(call("https://example.com/"), FailureReason.NO_ADDRESS)
        assert network.dials == [(PUBLIC4, 443)]

    @pytest.mark.parametrize("literal", [text for text in LITERALS if text.isascii()])
    def test_that_leads_inside_is_not_dialled(self, network: Network, literal: str) -> None:
        inside = literal.strip("[]").removesuffix(".")
        inside = inside if ":" in inside else socket.inet_ntoa(socket.inet_aton(inside))
        network.names["example.com"] = [[inside]]
        assert_fails(call("https://example.com/"), FailureReason.NO_ADDRESS)
        assert network.dials == []

    @pytest.mark.parametrize("inside", ["127.0.0.1", "10.0.0.1", "::1", "fd00::1", "64:ff9b::a9fe:a9fe"])
    @pytest.mark.parametrize("is_first", [True, False])
    def test_with_one_address_inside_is_not_dialled(self, network: Network, inside: str, is_first: bool) -> None:
        outside = [PUBLIC4, PUBLIC6]
        network.names["example.com"] = [[inside, *outside] if is_first else [*outside, inside]]
        assert_fails(call("https://example.com/"), FailureReason.NO_ADDRESS)
        assert network.dials == []

    def test_is_dialled_at_its_next_address_when_one_does_not_answer(self, network: Network) -> None:
        network.names["example.com"] = [[PUBLIC6, PUBLIC4]]
        call("https://example.com/")
        assert [dialled[0] for dialled in network.dials] == [PUBLIC6, PUBLIC4]

    def test_of_a_thousand_addresses_is_dialled_at_few(self, network: Network) -> None:
        network.names["example.com"] = [[f"8.8.{number // 250}.{number % 250}" for number in range(1000)]]
        call("https://example.com/")
        assert len(network.dials) == dialling.DIALS_MAX

    def test_that_is_unknown_fails_as_one_that_leads_inside(self, network: Network) -> None:
        network.names["inside.example.com"] = [["10.0.0.1"]]
        unknown, inside = call("https://unknown.example.com/"), call("https://inside.example.com/")
        assert_fails(unknown, FailureReason.NO_ADDRESS)
        assert_fails(inside, FailureReason.NO_ADDRESS)

    def test_reveals_no_address(self, network: Network) -> None:
        network.names["example.com"] = [["10.11.12.13"]]
        failure = call("https://example.com/")
        assert "10.11" not in repr(failure)
        assert isinstance(failure, Failure)
        assert "10.11" not in failure.reason.text


class TestASlowResolver:
    @pytest.fixture
    def hanging(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
        """A resolver that never answers; gives what was asked."""
        over, asked = threading.Event(), list[str]()

        def getaddrinfo(host: str, *_: Any, **__: Any) -> list[Any]:
            asked.append(host)
            over.wait(10)
            return []

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield asked
        over.set()

    def test_counts_against_the_time(self, hanging: list[str]) -> None:
        failure = call("https://example.com/", seconds=0.2)
        assert_fails(failure, FailureReason.TIMEOUT)
        assert timedelta(seconds=0.2) <= failure.took < timedelta(seconds=2)

    def test_is_asked_by_so_many_threads_at_once(self, hanging: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(dialling, "_look_ups", threading.BoundedSemaphore(2))
        for _ in range(5):
            assert_fails(call("https://example.com/", seconds=0.05), FailureReason.TIMEOUT)
        assert len(hanging) == 2


class TestPrivateNetworks:
    @pytest.mark.parametrize(
        "url",
        ["http://10.0.0.1/", "http://192.168.1.1:8080/", "https://[fd00::1]:22/", "http://127.0.0.1:1/"],
    )
    def test_are_dialled_once_they_are_allowed(self, network: Network, url: str) -> None:
        assert_fails(call(url, PRIVATE), FailureReason.UNREACHABLE)
        assert [(dialled[0], dialled[1]) for dialled in network.dials] == [
            (check(url, PRIVATE).host, check(url, PRIVATE).port)
        ]

    def test_may_be_named_by_one_word(self, network: Network) -> None:
        network.names["receiver"] = [["10.0.0.7"]]
        call("http://receiver:8080/", PRIVATE)
        assert network.dials == [("10.0.0.7", 8080)]

    @pytest.mark.parametrize(
        "address",
        [
            "169.254.169.254",
            "169.254.170.2",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "2002:a9fe:a9fe::",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::a9fe:a9fe",
            "2001:0:a9fe:a9fe::",
            "fd00::5efe:169.254.169.254",
            "fe80::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "168.63.129.16",
            "100.100.100.200",
            "192.0.0.192",
            "0.0.0.0",
            "::",
            "224.0.0.1",
            "ff02::1",
            "255.255.255.255",
        ],
    )
    def test_do_not_open_metadata(self, network: Network, address: str) -> None:
        literal = f"http://[{address}]/" if ":" in address else f"http://{address}/"
        assert refusal(literal, PRIVATE) is Refusal.FORBIDDEN
        network.names["receiver"] = [[address]]
        assert_fails(call("http://receiver/", PRIVATE), FailureReason.NO_ADDRESS)
        assert network.dials == []


class TestTheServicesOwnDatabase:
    HERE = Policy(allow_private=True, own=frozenset({("localhost", 5432)}))
    THERE = Policy(allow_private=True, own=frozenset({("db.corp", 5432)}))

    @pytest.mark.parametrize(
        "host",
        ["localhost", "LOCALHOST.", "127.0.0.1", "127.1", "0x7f000001", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]"],
    )
    def test_is_refused_under_all_its_names(self, network: Network, host: str) -> None:
        assert refusal(f"http://{host}:5432/", self.HERE) is Refusal.OWN_SERVICE
        assert_fails(call(f"http://{host}:5432/", self.HERE), FailureReason.URL_REFUSED)
        assert network.dials == []

    def test_is_refused_under_each_address_of_this_machine(self, network: Network) -> None:
        families = {socket.AF_INET, socket.AF_INET6}
        ours = {
            address.address.partition("%")[0]
            for addresses in psutil.net_if_addrs().values()
            for address in addresses
            if address.family in families
        }
        assert "127.0.0.1" in ours
        for address in ours:
            url = f"http://[{address}]:5432/" if ":" in address else f"http://{address}:5432/"
            assert refusal(url, self.HERE) in (Refusal.OWN_SERVICE, Refusal.FORBIDDEN)

    def test_is_refused_under_a_name_of_somebody_elses(self, network: Network) -> None:
        network.names |= {"innocent.example": [["127.0.0.1"]], "localhost": [["127.0.0.1"]]}
        assert_fails(call("http://innocent.example:5432/", self.HERE), FailureReason.NO_ADDRESS)
        assert network.dials == []

    def test_leaves_other_ports_of_its_host_open(self, network: Network) -> None:
        call("http://localhost:5433/", self.HERE)
        call("http://127.0.0.1:5433/", self.HERE)
        assert network.dials == [("127.0.0.1", 5433)]

    @pytest.mark.parametrize("url", ["http://10.0.0.5:5432/", "http://[::ffff:10.0.0.5]:5432/", "http://10.5:5432/"])
    def test_elsewhere_is_refused_at_its_addresses(self, network: Network, url: str) -> None:
        network.names["db.corp"] = [["10.0.0.4", "10.0.0.5"]]
        assert_fails(call(url, self.THERE), FailureReason.NO_ADDRESS)
        assert network.dials == []

    def test_elsewhere_is_refused_by_its_name_without_a_look_up(self, network: Network) -> None:
        assert refusal("http://DB.corp.:5432/", self.THERE) is Refusal.OWN_SERVICE
        assert network.look_ups == []

    def test_that_cannot_be_looked_up_keeps_its_port_closed(self, network: Network) -> None:
        assert_fails(call("http://10.0.0.5:5432/", self.THERE), FailureReason.NO_ADDRESS)
        assert network.dials == []

    def test_leaves_its_port_open_elsewhere(self, network: Network) -> None:
        network.names["db.corp"] = [["10.0.0.4"]]
        call("http://10.0.0.5:5432/", self.THERE)
        assert network.dials == [("10.0.0.5", 5432)]


class TestARedirectInward:
    @pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
    def test_is_a_failure_and_not_followed(self, status: str) -> None:
        with receiving(answering()) as inside, receiving(answering(status, f"Location: {inside.url()}")) as outside:
            failure = call(outside.url(), PRIVATE)
            assert_fails(failure, FailureReason.REDIRECT)
            assert isinstance(failure, Failure)
            assert failure.status == int(status[:3])
            assert (inside.connections, outside.connections) == (0, 1)


class TestTheEnvironment:
    def test_proxies_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with receiving(answering()) as proxy, receiving(answering(body=b"straight")) as receiver:
            for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
                monkeypatch.setenv(name, proxy.url())
                monkeypatch.setenv(name.lower(), proxy.url())
            monkeypatch.delenv("NO_PROXY", raising=False)
            monkeypatch.delenv("no_proxy", raising=False)
            answer = call(receiver.url(), PRIVATE)
            assert isinstance(answer, Answer)
            assert (answer.text, proxy.connections) == ("straight", 0)

    def test_lends_no_credentials(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
        netrc = tmp_path / "netrc"
        netrc.write_text("machine 127.0.0.1 login canary password canary\ndefault login canary password canary\n")
        netrc.chmod(0o600)
        monkeypatch.setenv("NETRC", str(netrc))
        with receiving(answering()) as receiver:
            call(receiver.url(), PRIVATE)
            assert b"authorization" not in receiver.requests[0].lower()
