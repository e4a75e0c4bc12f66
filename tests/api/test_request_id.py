"""Every response names its request, whatever answered it."""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any

import pytest
from django.test import Client

# What the server in front says when it found no free thread in time.
OVERLOADED: dict[str, Any] = {"octostore.refusal": "overloaded"}

PATTERN = re.compile(r"req_[0-9a-f]{32}")


def identifier(path: str) -> str:
    response = Client().get(path)
    response.close()
    return response["X-Request-Id"]


@pytest.mark.parametrize("path", ["/", "/health", "/nowhere", "/static/api/docs.js", "/static/nowhere", "/docs"])
def test_every_answer_carries_an_id_of_its_own(path: str) -> None:
    first, second = (identifier(path) for _ in range(2))
    assert PATTERN.fullmatch(first)
    assert PATTERN.fullmatch(second)
    assert first != second


@pytest.mark.parametrize(
    "path",
    ["/", "/health", "/nowhere", "/elections", "/static/api/docs.js", "/static/nowhere", "/docs"],
)
@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS"])
def test_every_answer_is_what_it_says_it_is(path: str, method: str) -> None:
    """Browsers guess no other type."""
    with closing(Client().generic(method, path)) as response:
        assert response["X-Content-Type-Options"] == "nosniff"


def test_preflight_carries_an_id() -> None:
    headers = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    assert PATTERN.fullmatch(Client().options("/elections", headers=headers)["X-Request-Id"])


def test_id_of_the_client_is_not_believed() -> None:
    response = Client().get("/health", headers={"X-Request-Id": "req_" + "0" * 32})
    assert response["X-Request-Id"] != "req_" + "0" * 32


class TestOverload:
    """The server in front found no free thread in time."""

    def test_answer_is_503_with_retry_after(self) -> None:
        response = Client().get("/health", **OVERLOADED)
        assert (response.status_code, response.json()["code"]) == (503, "unavailable")
        assert response["Retry-After"] == "1"
        assert response["X-Request-Id"] == response.json()["request_id"]

    def test_a_browser_may_read_it(self) -> None:
        response = Client().post("/elections", headers={"Origin": "https://app.example"}, **OVERLOADED)
        assert response.status_code == 503
        assert response["Access-Control-Allow-Origin"] == "https://app.example"
