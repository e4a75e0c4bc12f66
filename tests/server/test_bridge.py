"""Requests reach the application whole, and answers reach the client as HTTP wants them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from tests.server.serving import Serving, serving

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving() as running:
        yield running


class TestRequest:
    def test_path_arrives_decoded_and_raw(self, server: Serving) -> None:
        with server.connect() as wire:
            seen = json.loads(wire.get("/a%2Fb/%C3%A9%FF?q=%20a&b").body)
        assert seen["PATH_INFO"].encode("latin-1") == b"/a/b/\xc3\xa9\xff"
        assert seen["octostore.raw_path"] == "/a%2Fb/%C3%A9%FF"
        assert seen["RAW_URI"] == "/a%2Fb/%C3%A9%FF?q=%20a&b"
        assert seen["QUERY_STRING"] == "q=%20a&b"

    def test_peer_and_arrival_are_told(self, server: Serving) -> None:
        before = time.monotonic()
        with server.connect() as wire:
            seen = json.loads(wire.get("/", headers="X-Forwarded-For: 9.9.9.9\r\n").body)
        assert seen["REMOTE_ADDR"] == "127.0.0.1"
        assert before <= seen["octostore.received_at"] <= time.monotonic()
        assert "octostore.refusal" not in seen

    def test_repeated_headers_are_joined(self, server: Serving) -> None:
        with server.connect() as wire:
            seen = json.loads(wire.get("/", headers="X-A: 1\r\nCookie: a=1\r\nx-a: \xe9\r\nCookie: b=2\r\n").body)
        assert seen["HTTP_X_A"] == "1, Ã©"
        assert seen["HTTP_COOKIE"] == "a=1; b=2"

    def test_blanks_around_a_value_are_none_of_it(self, server: Serving) -> None:
        with server.connect() as wire:
            seen = json.loads(wire.get("/", headers="X-A: \t a b \t \r\nX-B:c\r\nX-C: \r\n").body)
        assert (seen["HTTP_X_A"], seen["HTTP_X_B"], seen["HTTP_X_C"]) == ("a b", "c", "")

    def test_underscored_header_cannot_pose_as_another(self, server: Serving) -> None:
        with server.connect() as wire:
            seen = json.loads(wire.get("/", headers="X_Forwarded_For: 1.1.1.1\r\n").body)
        assert "HTTP_X_FORWARDED_FOR" not in seen

    def test_body_arrives_whole_with_its_length(self, server: Serving) -> None:
        with server.connect() as wire:
            wire.send(
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/x\r\nContent-Length: 6\r\n\r\nab",
                b"cd",
                b"ef",
                pause=0.05,
            )
            seen = json.loads(wire.response().body)
        assert (seen["body"], seen["CONTENT_LENGTH"], seen["CONTENT_TYPE"]) == ("abcdef", "6", "text/x")

    def test_chunked_body_arrives_with_its_length(self, server: Serving) -> None:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        with server.connect() as wire:
            wire.send(head, b"3\r\nabc\r\n", b"2\r\nde\r\n0\r\nX-Forwarded-For: 1.1.1.1\r\n\r\n", pause=0.02)
            seen = json.loads(wire.response().body)
        assert (seen["body"], seen["CONTENT_LENGTH"]) == ("abcde", "5")
        assert not {"HTTP_TRANSFER_ENCODING", "HTTP_X_FORWARDED_FOR"} & set(seen)

    def test_waiting_client_is_told_to_continue(self, server: Serving) -> None:
        with server.connect() as wire:
            wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            assert wire.response().status == 100
            wire.send(b"ok")
            assert json.loads(wire.response().body)["body"] == "ok"

    def test_offer_of_another_protocol_is_declined(self, server: Serving) -> None:
        for protocol in ("websocket", "h2c"):
            with server.connect() as wire:
                offer = f"Connection: Upgrade\r\nUpgrade: {protocol}\r\nSec-WebSocket-Key: eA==\r\n"
                assert wire.get("/offer", headers=offer).status == 200
                assert wire.get("/after").status == 200


class TestAnswer:
    def test_connection_serves_one_request_after_another(self, server: Serving) -> None:
        with server.connect() as wire:
            paths = [json.loads(wire.get(f"/{number}").body)["PATH_INFO"] for number in range(5)]
        assert paths == [f"/{number}" for number in range(5)]

    def test_requests_sent_ahead_are_answered_in_order(self, server: Serving) -> None:
        with server.connect() as wire:
            wire.send(b"".join(f"GET /{number} HTTP/1.1\r\nHost: x\r\n\r\n".encode() for number in range(50)))
            paths = [json.loads(wire.response().body)["PATH_INFO"] for _ in range(50)]
        assert paths == [f"/{number}" for number in range(50)]

    def test_head_is_get_without_body(self, server: Serving) -> None:
        with server.connect() as wire:
            response = wire.get("/large", method="HEAD")
            assert (response.status, response.headers["content-length"]) == (200, str(1024 * 1024))
            assert wire.get("/after").status == 200

    def test_no_content_has_neither_body_nor_length(self, server: Serving) -> None:
        with server.connect() as wire:
            response = wire.get("/empty")
            assert response.status == 204
            assert not {"content-length", "transfer-encoding"} & set(response.headers)
            assert wire.get("/after").status == 200

    def test_software_is_not_named(self, server: Serving) -> None:
        with server.connect() as wire:
            assert "server" not in wire.get("/").headers

    def test_client_that_leaves_disturbs_nobody(self, server: Serving) -> None:
        for path in ("/large", "/empty"):
            with server.connect() as wire:
                wire.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        with server.connect() as wire:
            wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
        with server.connect() as wire:
            assert wire.get("/").status == 200
