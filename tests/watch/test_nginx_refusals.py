"""What nginx refuses itself, under deploy/nginx.conf, it refuses in OctoStore's words."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.elections.rooms import told
from tests.http import verify
from tests.processes import Web
from tests.server.wire import Response, Wire
from tests.watch.nginx import BINARY, Nginx

pytestmark = [
    pytest.mark.usefixtures("database"),
    pytest.mark.skipif(BINARY is None, reason="nginx is not installed: apt-get install nginx-light"),
    pytest.mark.only("sqlite"),  # what these show does not depend on the database
]

CAMPAIGN = "/elections/refused-room/campaign"
JSON = "Content-Type: application/json\r\n"


@pytest.fixture(scope="module")
def web(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    environment = {"DATABASE_URL": database_url, "OCTOSTORE_BODY_TIMEOUT_SECONDS": "1"}
    with Web(tmp_path_factory.mktemp("refusing"), environment) as running:
        yield running


@pytest.fixture(scope="module")
def nginx(web: Web, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    with Nginx(tmp_path_factory.mktemp("nginx"), [web, web]) as running:
        yield running


@pytest.fixture(scope="module")
def lonely(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    """One behind which nobody listens."""
    home = tmp_path_factory.mktemp("lonely")
    with Nginx(home, [Web(home, {}), Web(home, {})]) as running:
        yield running


def refusal(response: Response) -> httpx.Response:
    """The answer, once it is sure to be a refusal as OctoStore gives it."""
    answer = httpx.Response(
        response.status,
        headers=response.headers,
        content=response.body,
        request=httpx.Request("POST", f"http://nginx{CAMPAIGN}"),
    )
    verify(answer)
    return answer


def test_the_body_limits_are_one(nginx: Nginx, web: Web) -> None:
    """What nginx passes on, and only that, the application reads."""
    for size, status in ((65_536, 400), (65_537, 413), (2_000_000, 413)):
        for port in (nginx.port, web.port):
            with Wire(port) as wire:
                head = f"POST {CAMPAIGN} HTTP/1.1\r\nHost: x\r\n{JSON}Content-Length: {size}\r\n\r\n"
                wire.send(head.encode(), b"x" * min(size, 65_537))
                assert told(refusal(wire.response())) == (status, "invalid_input")


def test_chunks_that_are_too_many_are_413(nginx: Nginx) -> None:
    with Wire(nginx.port) as wire:
        head = f"POST {CAMPAIGN} HTTP/1.1\r\nHost: x\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n"
        wire.send(head.encode(), b"11170\r\n" + b"x" * 70_000 + b"\r\n0\r\n\r\n")
        assert told(refusal(wire.response())) == (413, "invalid_input")


def test_slow_body_is_the_applications_to_refuse(nginx: Nginx) -> None:
    with Wire(nginx.port, seconds=5) as wire:
        wire.send(f"POST {CAMPAIGN} HTTP/1.1\r\nHost: x\r\n{JSON}Content-Length: 20\r\n\r\n{{".encode())
        answer = refusal(wire.response())
    assert told(answer) == (408, "invalid_input")
    assert answer.json()["details"] == "body was not complete within 1 seconds"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("GET / HTTP/1.1\r\nno header\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
        ("GET / HTTP/3.0\r\nHost: x\r\n\r\n", 400),
        ("TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", 405),
        (f"GET /{'a' * 20_000} HTTP/1.1\r\nHost: x\r\n\r\n", 431),
        (f"GET / HTTP/1.1\r\nHost: x\r\nA: {'a' * 20_000}\r\n\r\n", 431),
    ],
    ids=["broken header", "no host", "unknown coding", "unknown version", "method", "long line", "long header"],
)
def test_what_it_cannot_take_is_invalid_input(nginx: Nginx, request_: str, status: int) -> None:
    with Wire(nginx.port) as wire:
        wire.send(request_.encode())
        assert told(refusal(wire.response())) == (status, "invalid_input")


def test_nobody_behind_it_is_unavailable_and_never_not_held(lonely: Nginx) -> None:
    with Wire(lonely.port) as wire:
        answer = refusal(wire.get("/locks/repo"))
    assert told(answer) == (503, "unavailable")
    assert answer.headers["Retry-After"] == "1"
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_scripts_of_any_origin_may_read_what_it_says_of_elections(lonely: Nginx) -> None:
    with Wire(lonely.port) as wire:
        answer = refusal(wire.get("/elections/refused-room"))
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert {"Retry-After", "X-Request-Id"} <= set(answer.headers["Access-Control-Expose-Headers"].split(", "))


def test_an_answer_of_the_application_passes_as_it_is(nginx: Nginx) -> None:
    with Wire(nginx.port) as wire:
        answer = refusal(wire.get("/elections/short"))
    assert told(answer) == (400, "invalid_input")
    assert "election_id" in answer.json()["details"]


def test_the_page_of_refusals_has_no_address_of_its_own(nginx: Nginx) -> None:
    with Wire(nginx.port) as wire:
        assert told(refusal(wire.get("/.refusal"))) == (404, "not_found")
