"""What comes before a body has a deadline and a size; what is no HTTP is closed."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from octostore.server import sockets
from tests.server.serving import Serving, serving

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(scope="module")
def hasty() -> Iterator[Serving]:
    with serving(header_seconds=0.4) as running:
        yield running


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving(header_max_bytes=4096) as running:
        yield running


def _seconds_until_closed(server: Serving, *pieces: bytes, pause: float = 0) -> float:
    with server.connect() as wire:
        began = time.monotonic()
        with suppress(ConnectionError):
            wire.send(*pieces, pause=pause)
        wire.rest()
        return time.monotonic() - began


class TestDeadline:
    def test_connection_without_a_request_is_closed(self, hasty: Serving) -> None:
        assert 0.3 < _seconds_until_closed(hasty) < 1

    def test_one_header_byte_at_a_time_buys_no_time(self, hasty: Serving) -> None:
        assert _seconds_until_closed(hasty, *(REQUEST[n : n + 1] for n in range(20)), pause=0.1) < 1.5

    def test_blank_lines_buy_no_time(self, hasty: Serving) -> None:
        assert _seconds_until_closed(hasty, *[b"\r\n"] * 20, pause=0.1) < 1.5

    def test_next_request_on_a_connection_has_the_same_deadline(self, hasty: Serving) -> None:
        for first_bytes in (b"GET / HT", b"\r\n"):
            with hasty.connect() as wire:
                assert wire.get("/").status == 200
                began = time.monotonic()
                wire.send(first_bytes)
                assert wire.rest() == b""
                assert 0.3 < time.monotonic() - began < 1

    def test_idle_connection_outlives_it_between_requests(self, hasty: Serving) -> None:
        with hasty.connect() as wire:
            assert wire.get("/").status == 200
            time.sleep(0.6)
            assert wire.get("/").status == 200

    def test_slow_answer_is_none_of_its_business(self) -> None:
        with serving(header_seconds=0.2) as server, server.connect() as wire:
            wire.send(b"GET /block HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(0.5)
            server.stage.let_go.set()
            assert wire.response().status == 200

    def test_requests_sent_ahead_are_not_judged_while_they_wait(self) -> None:
        with serving(header_seconds=0.2) as server, server.connect() as wire:
            wire.send(b"GET /block HTTP/1.1\r\nHost: x\r\n\r\n" + REQUEST + REQUEST[:10])
            time.sleep(0.5)
            server.stage.let_go.set()
            wire.send(REQUEST[10:])
            assert [wire.response().status for _ in range(3)] == [200, 200, 200]

    def test_many_that_say_nothing_delay_nobody(self, hasty: Serving) -> None:
        with ExitStack() as stack:
            for _ in range(300):
                stack.enter_context(hasty.connect()).send(b"G")
            with hasty.connect() as wire:
                began = time.monotonic()
                assert wire.get("/").status == 200
                assert time.monotonic() - began < 0.5


class TestSize:
    @pytest.mark.parametrize(
        "request_bytes",
        [
            b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 5000 + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
            b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET / HTTP/1.1\r\nX-Unfinished: " + b"x" * 5000,
        ],
    )
    def test_too_much_is_refused(self, server: Serving, request_bytes: bytes) -> None:
        with server.connect() as wire:
            wire.send(request_bytes)
            response = wire.response()
            assert response.status == 431
            assert json.loads(response.body)["code"] == "invalid_input"
            assert wire.rest() == b""

    def test_size_counts_anew_for_each_request(self, server: Serving) -> None:
        with server.connect() as wire:
            for _ in range(4):
                assert wire.get("/", headers=f"X-Long: {'x' * 3000}\r\n").status == 200

    def test_body_does_not_count(self, server: Serving) -> None:
        with server.connect() as wire:
            wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n", *[b"x" * 1000] * 60)
            assert len(json.loads(wire.response().body)["body"]) == 60_000

    def test_what_surrounds_chunks_counts(self, server: Serving) -> None:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        for endless in (b"1;", b"0\r\nX-Trailer: "):
            with server.connect() as wire:
                wire.send(head, endless, *[b"x" * 1000] * 5, pause=0.02)
                assert wire.response().status == 431


class TestUnsound:
    @pytest.mark.parametrize(
        "said", [b"\x16\x03\x01\x02\x00\x01\x00", b"HELO example.org\r\n", b"\x00" * 100, b"SSH-2.0-x\r\n"]
    )
    def test_what_is_not_http_is_closed_without_a_word(self, server: Serving, said: bytes) -> None:
        with server.connect() as wire:
            wire.send(said)
            assert wire.rest() == b""

    @pytest.mark.parametrize(
        "request_bytes",
        [
            b"GET / HTTP/1.1\r\nHost: x\r\nX-Nul: a\x00b\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\nBad Name: a\r\n\r\n",
            b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
            b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n\r\n",
            b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nX-Host: x\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
            b"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n",
            b"FOO / HTTP/9.9\r\nHost: x\r\n\r\n",
            b"FOO /a b HTTP/1.1\r\nHost: x\r\n\r\n",
            b"F@O / HTTP/1.1\r\nHost: x\r\n\r\n",
            b"F" * 33 + b" / HTTP/1.1\r\nHost: x\r\n\r\n",
        ],
    )
    def test_broken_http_gets_the_error_envelope(self, server: Serving, request_bytes: bytes) -> None:
        with server.connect() as wire:
            wire.send(request_bytes)
            response = wire.response()
            body = json.loads(response.body)
            assert (response.status, body["code"]) == (400, "invalid_input")
            assert re.fullmatch("req_[0-9a-f]{32}", body["request_id"])
            assert response.headers["x-request-id"] == body["request_id"]
            assert response.headers["x-content-type-options"] == "nosniff"
            assert wire.rest() == b""

    def test_refusal_of_a_head_has_no_body(self, server: Serving) -> None:
        with server.connect() as wire:
            wire.send(b"HEAD / HTTP/1.1\r\n\r\n")
            assert wire.response(has_body=False).status == 400
            assert wire.rest() == b""

    def test_of_http_1_0_no_host_is_asked(self, server: Serving) -> None:
        with server.connect() as wire:
            wire.send(b"GET / HTTP/1.0\r\n\r\n")
            assert wire.response().status == 200

    @pytest.mark.parametrize("coding", ["chunked", "Chunked", " chunked  "])
    def test_chunks_are_read_however_they_are_announced(self, server: Serving, coding: str) -> None:
        with server.connect() as wire:
            wire.send(
                f"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:{coding}\r\n\r\n".encode(), b"1\r\na\r\n0\r\n\r\n"
            )
            assert json.loads(wire.response().body)["body"] == "a"

    def test_client_that_leaves_requests_behind_is_no_error(self, caplog: pytest.LogCaptureFixture) -> None:
        with serving() as server:
            with server.connect() as wire:
                wire.send(b"GET /block HTTP/1.1\r\nHost: x\r\n\r\n" + REQUEST)
                assert server.stage.blocked.acquire(timeout=5)
            time.sleep(0.1)
            server.stage.let_go.set()
            with server.connect() as wire:
                assert wire.get("/").status == 200
        assert [record for record in caplog.records if record.levelname == "ERROR"] == []

    def test_answer_under_way_is_not_lost_to_garbage_behind_it(self) -> None:
        with serving() as server, server.connect() as wire:
            wire.send(b"GET /block HTTP/1.1\r\nHost: x\r\n\r\n" + b"\x00garbage")
            assert server.stage.blocked.acquire(timeout=5)
            server.stage.let_go.set()
            assert wire.response().status == 200
            assert wire.rest() == b""


class TestOtherMethods:
    """The parser would end the connection over them; the application refuses them like any other."""

    @pytest.mark.parametrize(
        "method", ["FOO", "get", "Post", "BREW", "TRACE", "PROPFIND", "CONNECT", "SETUP", "PRI", "M-x!", "F" * 32]
    )
    def test_application_sees_one_that_is_not_its_own(self, server: Serving, method: str) -> None:
        with server.connect() as wire:
            for _ in range(2):
                wire.send(f"{method} /pot?a=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok".encode())
                seen = json.loads(wire.response().body)
                assert (seen["REQUEST_METHOD"], seen["RAW_URI"], seen["body"]) == ("OTHER", "/pot?a=1", "ok")
            assert json.loads(wire.get("/after").body)["REQUEST_METHOD"] == "GET"

    def test_however_it_is_cut(self, server: Serving) -> None:
        request = b"\r\nbrew /pot HTTP/1.1\r\nHost: x\r\n\r\n"
        for cut in range(1, len(request)):
            with server.connect() as wire:
                wire.send(request[:cut], request[cut:], pause=0.002)
                assert json.loads(wire.response().body)["REQUEST_METHOD"] == "OTHER"

    def test_between_requests_sent_ahead(self) -> None:
        with serving() as server, server.connect() as wire:
            wire.send(b"GET /block HTTP/1.1\r\nHost: x\r\n\r\n")
            assert server.stage.blocked.acquire(timeout=5)
            wire.send(b"BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(0.05)
            wire.send(REQUEST)
            server.stage.let_go.set()
            assert [json.loads(wire.response().body)["REQUEST_METHOD"] for _ in range(3)] == ["GET", "OTHER", "GET"]

    def test_first_line_has_the_deadline_of_headers(self, hasty: Serving) -> None:
        for begun in (b"BREW", b"BREW ", b"BREW /pot HTTP/1.1"):
            assert 0.3 < _seconds_until_closed(hasty, begun) < 1

    def test_first_line_has_the_size_of_headers(self, server: Serving) -> None:
        with server.connect() as wire:
            wire.send(b"BREW /" + b"x" * 5000)
            assert wire.response().status == 431


class TestHalfClosed:
    """A client that has said all it wanted may close its side and still read."""

    @pytest.mark.parametrize("path", ["/", "/large", "/empty"])
    def test_answer_comes(self, server: Serving, path: str) -> None:
        with server.connect() as wire:
            wire.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            wire.close_side()
            assert wire.response().status in {200, 204}
            assert wire.rest() == b""

    def test_answer_to_a_body_comes(self, server: Serving) -> None:
        with server.connect() as wire:
            wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok")
            wire.close_side()
            assert json.loads(wire.response().body)["body"] == "ok"
            assert wire.rest() == b""

    def test_slow_answer_comes(self) -> None:
        with serving() as server, server.connect() as wire:
            wire.send(b"GET /block HTTP/1.1\r\nHost: x\r\n\r\n")
            assert server.stage.blocked.acquire(timeout=5)
            wire.close_side()
            time.sleep(0.1)
            server.stage.let_go.set()
            response = wire.response()
            assert (response.status, response.headers["connection"]) == (200, "close")
            assert wire.rest() == b""

    def test_requests_sent_ahead_are_all_answered(self, server: Serving) -> None:
        with server.connect() as wire:
            wire.send(REQUEST * 5)
            wire.close_side()
            assert [wire.response().status for _ in range(5)] == [200] * 5
            assert wire.rest() == b""

    @pytest.mark.parametrize(
        "begun", [b"", b"GET / HT", b"BREW /", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab"]
    )
    def test_connection_without_a_whole_request_ends_at_once(self, server: Serving, begun: bytes) -> None:
        with server.connect() as wire:
            wire.send(begun)
            wire.close_side()
            began = time.monotonic()
            assert wire.rest() == b""
            assert time.monotonic() - began < 1


def test_accepted_connections_notice_vanished_peers() -> None:
    with sockets.listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 12_000
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
