"""What becomes of a call: each kind of receiver, good and bad, real and on loopback, is a value in time."""

from __future__ import annotations

import gzip
import logging
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import trustme
from hypothesis import given, settings
from hypothesis import strategies as st

from octostore import __version__
from octostore.lib import dialling
from octostore.lib.outbound import Answer, Failure, FailureReason
from tests.webhooks.calls import HEAD, SOON, answer, call, failure, point
from tests.webhooks.hostile import Network
from tests.webhooks.receivers import (
    Behaviour,
    answering,
    dripping,
    flooding,
    receiving,
    refusing,
    resetting,
    saying,
)

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[trustme.CA]:
    """An authority that the system trusts."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    dialling.trust.cache_clear()
    yield authority
    dialling.trust.cache_clear()


class TestTheRequest:
    def test_is_a_post_of_exactly_that(self) -> None:
        body = b'{"lock": "\xc3\xbc",  "n":1}\n'
        with receiving(answering()) as receiver:
            call(receiver.url("/hooks/1?team=a%20b"), body=body)
            head, _, sent = receiver.requests[0].partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        assert lines[0] == "POST /hooks/1?team=a%20b HTTP/1.1"
        assert sorted(line.lower() for line in lines[1:]) == [
            "accept-encoding: identity",
            "accept: */*",
            "connection: close",
            f"content-length: {len(body)}",
            "content-type: application/json",
            f"host: 127.0.0.1:{receiver.port}",
            f"user-agent: octostore-webhooks/{__version__}",
        ]
        assert sent == body

    def test_carries_no_cookie_of_an_earlier_answer(self) -> None:
        with receiving(answering("200 OK", "Set-Cookie: canary=1; Path=/")) as receiver:
            call(receiver.url())
            call(receiver.url())
            assert not any(b"cookie" in request.lower() for request in receiver.requests)

    def test_goes_to_ipv6_too(self) -> None:
        with receiving(answering(body=b"six"), host="::1") as receiver:
            answered = call(receiver.url(host="[::1]"))
            assert isinstance(answered, Answer)
            assert answered.text == "six"
            assert f"Host: [::1]:{receiver.port}".encode() in receiver.requests[0]

    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_names_no_port_that_goes_without_saying(
        self, scheme: str, trusted: trustme.CA, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        certificate = trusted.issue_cert("receiver.example") if scheme == "https" else None
        with receiving(answering(), tls=certificate) as receiver:
            point(monkeypatch, ("127.0.0.1", receiver.port))
            call(f"{scheme}://receiver.example/")
            assert b"\r\nHost: receiver.example\r\n" in receiver.requests[0]

    def test_leaves_nothing_of_the_url_in_the_logs(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        # The second line is no header, which urllib3 would say of that URL.
        with receiving(saying(b"HTTP/1.1 200 OK\r\nno header\r\n\r\n")) as receiver:
            call(receiver.url("/canary"))
        assert "canary" not in caplog.text

    def test_of_64_threads_each_gets_its_own_answer(self) -> None:
        def echo(connection: socket.socket, request: bytes) -> None:
            answering(body=request.partition(b"\r\n\r\n")[2])(connection, request)

        def ask(number: int) -> str:
            answered = call(receiver.url(), body=str(number).encode(), seconds=15)
            assert isinstance(answered, Answer)
            return answered.text

        with receiving(echo) as receiver, ThreadPoolExecutor(64) as pool:
            assert list(pool.map(ask, range(256))) == [str(number) for number in range(256)]


class TestAnAnswer:
    @pytest.mark.parametrize("status", [200, 201, 204, 400, 404, 410, 413, 429, 500, 503, 599, 999])
    def test_gives_its_status(self, status: int) -> None:
        assert answer(saying(f"HTTP/1.1 {status} Whatever\r\n\r\n".encode())).status == status

    @pytest.mark.parametrize("text", ["30", "Mon, 30 Nov 2026 12:00:00 GMT"])
    def test_gives_retry_after_as_sent(self, text: str) -> None:
        assert answer(answering("503 Busy", f"Retry-After: {text}")).retry_after == text

    def test_gives_a_bounded_retry_after(self) -> None:
        assert answer(answering("503 Busy", "Retry-After: " + "9" * 5000)).retry_after == "9" * 64

    def test_without_retry_after_gives_none(self) -> None:
        assert answer(answering()).retry_after is None

    def test_gives_the_first_4_kib_of_its_text(self) -> None:
        assert answer(answering(body=b"a" * 4096 + b"b" * 9000)).text == "a" * 4096

    def test_gives_text_that_can_be_kept_and_shown(self) -> None:
        text = answer(answering(body="größer\n\x00\x1b[2J\r\x9b\u202e".encode() + b"\xff")).text
        assert text == "größer\n  [2J   \ufffd"

    def test_in_chunks_is_put_together(self) -> None:
        raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        assert answer(saying(raw)).text == "abcde"

    def test_without_a_length_ends_with_the_connection(self) -> None:
        assert answer(saying(b"HTTP/1.0 200 OK\r\n\r\nold")).text == "old"

    def test_after_interim_ones_counts(self) -> None:
        raw = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
        assert answer(saying(raw)).text == "hi"

    @pytest.mark.parametrize("ending", [saying, refusing])
    def test_that_comes_before_the_body_was_read_counts(self, ending: Callable[[bytes], Behaviour]) -> None:
        with receiving(ending(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"), reads=False) as receiver:
            answered = call(receiver.url(), body=b"x" * 20_000_000)
        assert isinstance(answered, Answer)
        assert answered.status == 413

    def test_that_is_compressed_is_not_unpacked(self) -> None:
        bomb = gzip.compress(b"\0" * 50_000_000)
        answered = answer(answering("200 OK", "Content-Encoding: gzip", body=bomb))
        assert (answered.status, answered.text) == (200, "")


class TestABrokenReceiver:
    def test_that_resets_after_reading_is_a_reset(self) -> None:
        assert failure(resetting) is FailureReason.RESET

    def test_that_closes_without_a_word_is_a_reset(self) -> None:
        assert failure(saying(b"")) is FailureReason.RESET

    def test_that_is_not_there_refuses(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            answered = call(f"http://127.0.0.1:{free.getsockname()[1]}/")
        assert isinstance(answered, Failure)
        assert answered.reason is FailureReason.REFUSED

    @pytest.mark.parametrize(
        "raw",
        [
            b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\nhalf",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\nhalf",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnot a number\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
            b"SSH-2.0-OpenSSH_9.2\r\n",
            b"220 mail.example ESMTP\r\n",
            b"HTTP/1.1 abc OK\r\n\r\n",
            b"HTTP/1.1 99999 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n",
            b"\x00" * 100,
        ],
    )
    def test_that_speaks_no_whole_http_breaks_the_protocol(self, raw: bytes) -> None:
        assert failure(saying(raw)) is FailureReason.PROTOCOL

    @settings(max_examples=60, deadline=None)
    @given(
        raw=st.binary(max_size=200)
        | st.binary(max_size=200).map(b"HTTP/1.1 200 OK\r\n".__add__)
        | st.builds(
            lambda name, value: b"HTTP/1.1 200 OK\r\n" + name + b": " + value + b"\r\n\r\n",
            st.sampled_from(
                [b"Set-Cookie", b"Content-Type", b"Content-Length", b"Transfer-Encoding", b"Content-Encoding", b"Date"]
            ),
            st.binary(max_size=80),
        )
    )
    def test_is_a_value_whatever_it_says(self, raw: bytes) -> None:
        with receiving(saying(raw)) as receiver:
            assert isinstance(call(receiver.url()), Answer | Failure)


class TestTLS:
    @pytest.fixture(autouse=True)
    def names(self, trusted: trustme.CA, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where receiver.example is this machine."""
        network = Network({"receiver.example": [["127.0.0.1"]]})
        monkeypatch.setattr(socket, "getaddrinfo", network.getaddrinfo)

    def test_is_spoken_with_the_name_though_the_address_is_dialled(self, authority: trustme.CA) -> None:
        certificate = authority.issue_cert("receiver.example")
        with receiving(answering(body=b"safe"), tls=certificate) as receiver:
            answered = call(receiver.url(host="receiver.example", scheme="https"))
            assert isinstance(answered, Answer)
            assert answered.text == "safe"
            assert receiver.names == ["receiver.example"]
            assert f"Host: receiver.example:{receiver.port}".encode() in receiver.requests[0]

    def test_may_be_for_an_address(self, authority: trustme.CA) -> None:
        with receiving(answering(), tls=authority.issue_cert("127.0.0.1")) as receiver:
            assert isinstance(call(receiver.url(scheme="https")), Answer)

    def test_for_another_name_is_not_trusted(self, authority: trustme.CA) -> None:
        with receiving(answering(), tls=authority.issue_cert("other.example")) as receiver:
            answered = call(receiver.url(host="receiver.example", scheme="https"))
            assert isinstance(answered, Failure)
            assert answered.reason is FailureReason.TLS
            assert receiver.requests == []

    def test_of_another_authority_is_not_trusted(self) -> None:
        with receiving(answering(), tls=trustme.CA().issue_cert("receiver.example")) as receiver:
            answered = call(receiver.url(host="receiver.example", scheme="https"))
            assert isinstance(answered, Failure)
            assert answered.reason is FailureReason.TLS
            assert receiver.requests == []

    def test_is_not_spoken_by_plain_http(self) -> None:
        with receiving(saying(b"HTTP/1.1 400 Bad\r\n\r\n"), reads=False) as receiver:
            answered = call(receiver.url(scheme="https"))
        assert isinstance(answered, Failure)
        assert answered.reason is FailureReason.TLS

    def test_keeps_to_the_time_too(self, authority: trustme.CA) -> None:
        with receiving(dripping(HEAD, b"x", 0.05), tls=authority.issue_cert("receiver.example")) as receiver:
            answered = call(receiver.url(host="receiver.example", scheme="https"), seconds=0.8)
        assert isinstance(answered, Failure)
        assert answered.reason is FailureReason.TIMEOUT
        assert answered.took < SOON

    def test_keeps_to_the_size_too(self, authority: trustme.CA) -> None:
        sent: list[int] = []
        with receiving(flooding(HEAD, sent), tls=authority.issue_cert("receiver.example")) as receiver:
            answered = call(receiver.url(host="receiver.example", scheme="https"))
        assert isinstance(answered, Answer)
        assert answered.text == "x" * 4096
