"""Bodies that are too large, too slow or never come hold no thread and delay nobody."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack

import pytest

from tests.server.serving import serving
from tests.server.wire import Wire

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")

WITHHELD = b"POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"


class TestTooLarge:
    def test_announced_body_is_refused_unread(self) -> None:
        with serving() as server, server.connect() as wire:
            wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n")
            response = wire.response()
            assert json.loads(response.body)["octostore.refusal"] == "body_too_large"
            assert response.headers["connection"] == "close"
            assert wire.rest() == b""

    def test_refused_client_gets_its_answer_while_it_sends(self) -> None:
        with serving() as server, server.connect() as wire:
            wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n")
            wire.send(b"x" * 70_000)
            assert json.loads(wire.response().body)["octostore.refusal"] == "body_too_large"
            assert wire.rest() == b""

    def test_endless_body_is_cut(self) -> None:
        with serving() as server, server.connect() as wire:
            wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            sent = _send_until_cut(wire, b"10000\r\n" + b"x" * 0x10000 + b"\r\n", at_most=100_000_000)
            assert sent < 50_000_000

    def test_body_of_exactly_the_limit_passes(self) -> None:
        with serving(body_max_bytes=1000) as server, server.connect() as wire:
            wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000)
            assert "octostore.refusal" not in json.loads(wire.response().body)

    def test_body_of_one_byte_more_does_not(self) -> None:
        with serving(body_max_bytes=1000) as server, server.connect() as wire:
            wire.send(
                b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"x" * 1001 + b"\r\n"
            )
            seen = json.loads(wire.response().body)
            assert (seen["octostore.refusal"], seen["body"]) == ("body_too_large", "")


class TestTooSlow:
    def test_withheld_body_is_refused_in_time(self) -> None:
        with serving(body_timeout_seconds=0.3) as server, server.connect() as wire:
            began = time.monotonic()
            wire.send(WITHHELD)
            response = wire.response()
            assert json.loads(response.body)["octostore.refusal"] == "body_timeout"
            assert 0.25 < time.monotonic() - began < 1
            assert response.headers["connection"] == "close"
            assert wire.rest() == b""

    def test_dripping_does_not_buy_time(self) -> None:
        with serving(body_timeout_seconds=0.3) as server, server.connect() as wire:
            wire.send(WITHHELD, *[b"x"] * 10, pause=0.05)
            assert json.loads(wire.response().body)["octostore.refusal"] == "body_timeout"

    def test_many_withheld_bodies_delay_nobody(self) -> None:
        with serving(threads=2) as server, ExitStack() as stack:
            for _ in range(300):
                stack.enter_context(server.connect()).send(WITHHELD)
            with server.connect() as wire:
                began = time.monotonic()
                for _ in range(20):
                    assert wire.get("/quick").status == 200
                assert time.monotonic() - began < 1
            assert "/slow" not in server.stage.calls


def _send_until_cut(wire: Wire, piece: bytes, *, at_most: int) -> int:
    sent = 0
    try:
        while sent < at_most:
            wire.send(piece)
            sent += len(piece)
    except ConnectionError:
        pass
    return sent
