"""Every answer leaves one line and one count, also where the request never reached the application."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.elections.rooms import win
from tests.processes import Web
from tests.server.service import wait_until
from tests.server.wire import Response, Wire
from tests.watch.waiter import Waiter

Line = Callable[[str], dict[str, Any]]

BROKEN = {
    400: b"POST /elections HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    431: b"POST /elections HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 40_000 + b"\r\n\r\n",
}


@pytest.fixture
def web(start_web: Callable[..., Web]) -> Web:
    return start_web(OCTOSTORE_LOG_LEVEL="INFO", OCTOSTORE_BODY_TIMEOUT_SECONDS="1")


@pytest.fixture
def line(web: Web) -> Line:
    """The one line of the request with this id, once it is there."""

    def find(request_id: str) -> dict[str, Any]:
        found: list[dict[str, Any]] = []

        def look() -> bool:
            lines = [json.loads(text) for text in web.output().splitlines() if request_id in text]
            found[:] = [entry for entry in lines if entry["event"] == "request"]
            return bool(found)

        assert wait_until(look), request_id
        assert len(found) == 1
        return found[0]

    return find


def counted(web: Web, method: str, status: int) -> float:
    text = httpx.get(f"{web.url}/metrics", trust_env=False).text
    sample = f'octostore_http_requests_total{{method="{method}",route="unmatched",status="{status}"}}'
    found = re.search(rf"^{re.escape(sample)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def answer(web: Web, request: bytes) -> Response:
    with Wire(web.port) as wire:
        wire.send(request)
        return wire.response()


class TestWhatIsNoSoundRequest:
    @pytest.mark.parametrize("status", BROKEN)
    def test_has_its_line_and_its_count(self, web: Web, line: Line, status: int) -> None:
        before = counted(web, "POST", status)
        response = answer(web, BROKEN[status])
        assert response.status == status
        told = line(response.headers["x-request-id"])
        assert (told["method"], told["route"], told["status"]) == ("POST", "unmatched", status)
        assert 0 <= told["milliseconds"] < 1000
        assert counted(web, "POST", status) == before + 1

    def test_time_counts_from_its_first_byte(self, web: Web, line: Line) -> None:
        with Wire(web.port) as wire:
            wire.send(b"GET / HTTP/1.1\r\n", b"\r\n", pause=0.3)
            told = line(wire.response().headers["x-request-id"])
        assert 290 < told["milliseconds"] < 2000

    def test_nothing_a_client_wrote_is_told(self, web: Web, line: Line) -> None:
        for request in (
            b"CANARY-7f3a /canary-7f3a HTTP/1.1\r\nX: canary-7f3a\r\n\r\n",
            b"CANARY-7f3a /canary-7f3a HTTP/1.1\r\nHost: canary-7f3a\r\n\r\n",
        ):
            assert line(answer(web, request).headers["x-request-id"])["method"] == "OTHER"
        assert "canary-7f3a" not in web.output().lower()
        assert "canary" not in httpx.get(f"{web.url}/metrics", trust_env=False).text.lower()


class TestWholeTime:
    def test_of_a_body_that_did_not_come(self, web: Web, line: Line) -> None:
        request = b"POST /elections/room-of-eight/campaign HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"
        response = answer(web, request)
        assert response.status == 408
        assert 1000 <= line(response.headers["x-request-id"])["milliseconds"] < 3000

    def test_of_a_slow_body(self, web: Web, line: Line) -> None:
        head = b"POST /elections/room-of-eight/renew HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"
        with Wire(web.port) as wire:
            wire.send(head, b"{", b"}", pause=0.2)
            told = line(wire.response().headers["x-request-id"])
        assert 390 <= told["milliseconds"] < 3000

    def test_of_a_wait(self, web: Web, line: Line, database: str) -> None:
        with web.client() as client:
            win(client, "room-of-eight")
        with Waiter(web.port, "room-of-eight", wait_seconds=1) as waiter:
            told = line(waiter.answer().headers["x-request-id"])
        assert 1000 <= told["milliseconds"] < 3000


class TestUnknownMethod:
    @pytest.mark.parametrize("method", ["FOO", "get", "BREW"])
    def test_is_refused_like_any_other_that_is_not_answered(self, web: Web, line: Line, method: str) -> None:
        with Wire(web.port) as wire:
            headers = "Origin: https://app.example\r\n"
            response = wire.get("/elections", method=method, headers=headers)
            assert (response.status, json.loads(response.body)["code"]) == (405, "invalid_input")
            assert response.headers["allow"] == "POST, OPTIONS"
            assert response.headers["access-control-allow-origin"] == "https://app.example"
            told = line(response.headers["x-request-id"])
            assert (told["method"], told["route"], told["status"]) == ("OTHER", "/elections", 405)
            assert wire.get("/nowhere", method=method).status == 404
            assert wire.get("/health").status == 200
