"""Browsers: elections answer any origin without credentials, everything else the configured ones."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

ORIGIN = "https://app.example"


def preflight(path: str, origin: str = ORIGIN) -> Any:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,idempotency-key",
    }
    return Client().options(path, headers=headers)


class TestElections:
    @pytest.mark.parametrize("origin", [ORIGIN, "null", "http://localhost:3000"])
    @pytest.mark.parametrize("path", ["/elections", "/elections/room-of-eight/campaign"])
    def test_any_origin_may_ask(self, path: str, origin: str) -> None:
        response = preflight(path, origin)
        assert response.status_code == 200
        assert response["Access-Control-Allow-Origin"] == origin
        assert "POST" in response["Access-Control-Allow-Methods"]
        assert {"content-type", "idempotency-key"} <= set(response["Access-Control-Allow-Headers"].split(", "))

    @pytest.mark.parametrize(
        ("method", "path", "status"),
        [
            ("GET", "/elections/short", 400),
            ("GET", "/elections/room-of-eight/nowhere", 404),
            ("DELETE", "/elections", 405),
            ("POST", "/elections/room-of-eight/campaign", 413),
        ],
    )
    def test_refusals_can_be_read_too(self, method: str, path: str, status: int) -> None:
        body = b"x" * 70_000 if status == 413 else b""
        response = Client().generic(method, path, body, "application/json", headers={"Origin": ORIGIN})
        assert response.status_code == status
        assert response["Access-Control-Allow-Origin"] == ORIGIN
        exposed = set(response["Access-Control-Expose-Headers"].split(", "))
        assert exposed == {"Retry-After", "X-Request-Id", "Idempotent-Replayed"}

    def test_preflight_has_no_body_and_no_type_of_one(self) -> None:
        response = preflight("/elections")
        assert (response.content, response["Content-Length"]) == (b"", "0")
        assert "Content-Type" not in response

    def test_credentials_are_never_allowed(self) -> None:
        assert "Access-Control-Allow-Credentials" not in preflight("/elections")

    def test_answer_differs_by_origin(self) -> None:
        assert "origin" in Client().get("/elections/short", headers={"Origin": ORIGIN})["Vary"]


class TestEverythingElse:
    @pytest.mark.parametrize("path", ["/health", "/electionsx", "/nowhere", "/static/api/docs.js", "/static/nowhere"])
    def test_unknown_origin_may_not_read(self, path: str) -> None:
        with closing(Client().get(path, headers={"Origin": ORIGIN})) as response:
            assert "Access-Control-Allow-Origin" not in response
        assert "Access-Control-Allow-Origin" not in preflight(path)

    def test_configured_origin_may_read(self, settings: Settings) -> None:
        settings.CORS_ALLOWED_ORIGINS = [ORIGIN]
        assert Client().get("/health", headers={"Origin": ORIGIN})["Access-Control-Allow-Origin"] == ORIGIN
        assert "Access-Control-Allow-Origin" not in Client().get("/health", headers={"Origin": "https://evil.example"})
