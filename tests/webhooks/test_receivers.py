"""What becomes of a call: each kind of receiver, good and bad, real and on loopback, is a value in time."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import trustme
from hypothesis import given, settings
from hypothesis import strategies as st

from octostore import __version__
from octostore.lib import dialling, outbound
from octostore.lib.outbound import Answer, Failure, FailureReason, Policy, post
from tests.webhooks.hostile import Network
from tests.webhooks.receivers import (
    Behaviour,
    answering,
    deaf,
    dripping,
    flooding,
    receiving,
    resetting,
    saying,
    silent,
)

PRIVATE = Policy(allow_private=True)
SOON = timedelta(seconds=2)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"


def call(url: str, *, body: bytes = b"{}", seconds: float = 5) -> Answer | Failure:
    return post(url, body=body, headers={"Content-Type": "application/json"}, policy=PRIVATE, seconds=seconds)


def answer(behaviour: Behaviour, seconds: float = 5) -> Answer:
    with receiving(behaviour) as receiver:
        answered = call(receiver.url(), seconds=seconds)
    assert isinstance(answered, Answer)
    return answered


def failure(behaviour: Behaviour, seconds: float = 5) -> FailureReason:
    with receiving(behaviour) as receiver:
        answered = call(receiver.url(), seconds=seconds)
    assert isinstance(answered, Failure)
    return answered.reason


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


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

    def test_that_comes_before_the_body_was_read_counts(self) -> None:
        refusing = saying(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        with receiving(refusing, reads=False) as receiver:
            answered = call(receiver.url(), body=b"x" * 4_000_000)
        assert isinstance(answered, Answer)
        assert answered.status == 413

    def test_that_is_compressed_is_not_unpacked(self) -> None:
        bomb = gzip.compress(b"\0" * 50_000_000)
        answered = answer(answering("200 OK", "Content-Encoding: gzip", body=bomb))
        assert (answered.status, answered.text) == (200, "")


class TestAGigabyte:
    @pytest.mark.parametrize(
        "head",
        [
            b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40000000\r\n",
        ],
    )
    def test_is_not_read_and_its_status_counts(self, head: bytes) -> None:
        sent: list[int] = []
        answered = answer(flooding(head, sent))
        assert (answered.status, answered.text) == (200, "x" * 4096)
        assert answered.took < SOON
        # What the sockets' buffers hold is sent, and not read.
        assert sent[0] < 64 * 1024 * 1024

    @pytest.mark.parametrize("status", [b"302 Found", b"500 Oops"])
    def test_of_a_redirect_or_an_error_is_not_read_either(self, status: bytes) -> None:
        sent: list[int] = []
        head = b"HTTP/1.1 " + status + b"\r\nLocation: /\r\nContent-Encoding: gzip\r\n\r\n"
        with receiving(flooding(head, sent)) as receiver:
            answered = call(receiver.url())
        assert answered.status == int(status[:3])
        assert answered.took < SOON
        assert sent[0] < 64 * 1024 * 1024

    @pytest.mark.parametrize(
        "head", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nA: ", b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 90]
    )
    def test_of_headers_is_too_large(self, head: bytes) -> None:
        assert failure(flooding(head, [])) in (FailureReason.TOO_LARGE, FailureReason.PROTOCOL)

    def test_of_interim_answers_is_too_large(self) -> None:
        assert failure(saying(b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000)) is FailureReason.TOO_LARGE


class TestTime:
    def test_is_15_seconds(self) -> None:
        assert outbound.SECONDS == 15

    @pytest.mark.parametrize(
        ("head", "drop"),
        [
            (b"", b"H"),
            (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n"),
            (b"HTTP/1.1 200 OK\r\nA: ", b"b"),
            (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
            (HEAD, b"x"),
            (b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n"),
            (b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 1000000\r\n\r\n", b"x"),
        ],
    )
    def test_is_all_that_one_who_drips_gets(self, head: bytes, drop: bytes) -> None:
        with receiving(dripping(head, drop, 0.05)) as receiver:
            answered = call(receiver.url(), seconds=0.5)
        assert isinstance(answered, Failure)
        assert answered.reason is FailureReason.TIMEOUT
        assert timedelta(seconds=0.5) <= answered.took < timedelta(seconds=1)

    def test_is_all_that_one_who_is_silent_gets(self) -> None:
        assert failure(silent, seconds=0.3) is FailureReason.TIMEOUT

    def test_is_all_that_one_who_does_not_read_gets(self) -> None:
        over = threading.Event()
        with receiving(deaf(over), reads=False) as receiver:
            answered = call(receiver.url(), body=b"x" * 20_000_000, seconds=0.3)
            over.set()
        assert isinstance(answered, Failure)
        assert answered.reason is FailureReason.TIMEOUT
        assert answered.took < SOON

    def test_is_all_that_one_who_does_not_accept_gets(self) -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            waiting = [socket.socket() for _ in range(3)]
            for connection in waiting:
                connection.setblocking(False)
                connection.connect_ex(full.getsockname())
            answered = call(f"http://127.0.0.1:{full.getsockname()[1]}/", seconds=0.3)
            for connection in waiting:
                connection.close()
        assert isinstance(answered, Failure)
        assert answered.reason is FailureReason.TIMEOUT
        assert answered.took < SOON

    def test_is_all_that_a_handshake_gets(self) -> None:
        with receiving(dripping(b"\x16\x03\x03\x40\x00", b"\x00", 0.05)) as receiver:
            answered = call(receiver.url(scheme="https"), seconds=0.4)
        assert isinstance(answered, Failure)
        assert answered.reason is FailureReason.TIMEOUT
        assert answered.took < timedelta(seconds=1)


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
    @pytest.fixture
    def network(
        self, authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[None]:
        """Where receiver.example is this machine, and the system trusts that authority."""
        certificates = tmp_path_factory.mktemp("authority") / "ca.pem"
        authority.cert_pem.write_to_path(str(certificates))
        monkeypatch.setenv("SSL_CERT_FILE", str(certificates))
        names = Network({"receiver.example": [["127.0.0.1"]]})
        monkeypatch.setattr(socket, "getaddrinfo", names.getaddrinfo)
        dialling.trust.cache_clear()
        yield
        dialling.trust.cache_clear()

    @pytest.mark.usefixtures("network")
    def test_is_spoken_with_the_name_though_the_address_is_dialled(self, authority: trustme.CA) -> None:
        certificate = authority.issue_cert("receiver.example")
        with receiving(answering(body=b"safe"), tls=certificate) as receiver:
            answered = call(receiver.url(host="receiver.example", scheme="https"))
            assert isinstance(answered, Answer)
            assert answered.text == "safe"
            assert receiver.names == ["receiver.example"]
            assert f"Host: receiver.example:{receiver.port}".encode() in receiver.requests[0]

    @pytest.mark.usefixtures("network")
    def test_may_be_for_an_address(self, authority: trustme.CA) -> None:
        with receiving(answering(), tls=authority.issue_cert("127.0.0.1")) as receiver:
            assert isinstance(call(receiver.url(scheme="https")), Answer)

    @pytest.mark.usefixtures("network")
    def test_for_another_name_is_not_trusted(self, authority: trustme.CA) -> None:
        with receiving(answering(), tls=authority.issue_cert("other.example")) as receiver:
            answered = call(receiver.url(host="receiver.example", scheme="https"))
            assert isinstance(answered, Failure)
            assert answered.reason is FailureReason.TLS
            assert receiver.requests == []

    @pytest.mark.usefixtures("network")
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

    @pytest.mark.usefixtures("network")
    def test_keeps_to_the_time_too(self, authority: trustme.CA) -> None:
        with receiving(dripping(HEAD, b"x", 0.05), tls=authority.issue_cert("receiver.example")) as receiver:
            began = time.monotonic()
            answered = call(receiver.url(host="receiver.example", scheme="https"), seconds=0.8)
        assert isinstance(answered, Failure)
        assert answered.reason is FailureReason.TIMEOUT
        assert time.monotonic() - began < 2

    @pytest.mark.usefixtures("network")
    def test_keeps_to_the_size_too(self, authority: trustme.CA) -> None:
        sent: list[int] = []
        with receiving(flooding(HEAD, sent), tls=authority.issue_cert("receiver.example")) as receiver:
            answered = call(receiver.url(host="receiver.example", scheme="https"))
        assert isinstance(answered, Answer)
        assert answered.text == "x" * 4096
