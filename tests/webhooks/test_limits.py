"""What a call may take, in time and in bytes, whatever its receiver does."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from octostore.lib import outbound
from octostore.lib.outbound import Answer, Failure, FailureReason
from tests.webhooks.calls import HEAD, SOON, answer, call, failure, point
from tests.webhooks.receivers import answering, deaf, dripping, flooding, full, receiving, saying, silent

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")


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
        assert timedelta(seconds=0.5) <= answered.took < SOON

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
        with full() as address:
            answered = call(f"http://127.0.0.1:{address[1]}/", seconds=0.3)
        assert isinstance(answered, Failure)
        assert answered.reason is FailureReason.TIMEOUT
        assert answered.took < SOON

    def test_is_shared_among_the_addresses_of_a_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with full() as deaf_one, receiving(answering()) as receiver:
            point(monkeypatch, deaf_one, ("127.0.0.1", receiver.port))
            assert isinstance(call("http://receiver.example/", seconds=1), Answer)

    def test_is_all_that_a_handshake_gets(self) -> None:
        with receiving(dripping(b"\x16\x03\x03\x40\x00", b"\x00", 0.05)) as receiver:
            answered = call(receiver.url(scheme="https"), seconds=0.4)
        assert isinstance(answered, Failure)
        assert answered.reason is FailureReason.TIMEOUT
        assert answered.took < SOON
