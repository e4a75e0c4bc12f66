"""The endpoints of the service itself."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings

from octostore import __version__
from octostore.api import counters, readiness
from octostore.leases import engine
from tests.valkey import Valkey

DEAD_BROKER = "redis://127.0.0.1:1/0"


@pytest.fixture
def silent_broker() -> Iterator[str]:
    """The address of one who accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


@pytest.fixture
def dead_database(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where the database was, nobody answers any more."""
    connection.close()
    dead = {"postgresql": {"HOST": "127.0.0.1", "PORT": "1"}, "sqlite": {"NAME": "/nowhere/octostore.sqlite3"}}
    with monkeypatch.context() as patch:
        for name, value in dead[database].items():
            patch.setitem(connection.settings_dict, name, value)
        yield
        connection.close()


class TestHealth:
    def test_process_is_up_without_any_database(self) -> None:
        response = Client().get("/health")
        assert (response.status_code, response.json()) == (200, {"status": "ok", "version": __version__})


@pytest.mark.usefixtures("database")
class TestReady:
    def test_dead_broker_only_degrades(self, settings: Settings) -> None:
        settings.REDIS_URL = DEAD_BROKER
        response = Client().get("/ready")
        assert response.status_code == 200
        assert response.json() == {"status": "ready", "database": "ok", "migrations": "ok", "broker": "degraded"}

    def test_silent_broker_is_asked_for_a_moment_only(self, settings: Settings, silent_broker: str) -> None:
        settings.REDIS_URL = silent_broker
        began = time.monotonic()
        assert Client().get("/ready").json()["broker"] == "degraded"
        assert time.monotonic() - began < 2

    def test_pending_migrations_are_503(self, monkeypatch: pytest.MonkeyPatch) -> None:
        known = readiness._known_migrations()
        monkeypatch.setattr(readiness, "_known_migrations", lambda: known | {("leases", "9999_next")})
        response = Client().get("/ready")
        assert response.status_code == 503
        body = response.json()
        assert (body["status"], body["database"], body["migrations"]) == ("unready", "ok", "pending")
        assert body["code"] == "unavailable"
        assert response["Retry-After"] == "1"

    def test_living_broker_is_ok(self, settings: Settings, tmp_path: Path) -> None:
        with Valkey(tmp_path) as valkey:
            settings.REDIS_URL = valkey.url
            assert Client().get("/ready").json()["broker"] == "ok"

    @pytest.mark.usefixtures("dead_database")
    def test_dead_database_is_503(self) -> None:
        response = Client().get("/ready")
        assert response.status_code == 503
        body = response.json()
        assert (body["status"], body["database"], body["migrations"]) == ("unready", "unavailable", "unknown")


class TestStatus:
    @pytest.fixture(autouse=True)
    def _fresh(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(counters, "_led_rooms", counters.LedRooms())

    @pytest.mark.usefixtures("database")
    def test_counters_are_the_databases(self, settings: Settings) -> None:
        Client().post("/elections/room-of-eight/campaign", {"candidate_id": "a"}, content_type="application/json")
        body = Client().get("/status").json()
        assert body["led_rooms"] == 1
        assert body["version"] == __version__
        assert body["led_rooms_max"] == settings.LED_ROOMS_MAX
        assert body["uptime_seconds"] >= 0

    @pytest.mark.usefixtures("database")
    def test_database_is_asked_once_a_second(self, django_assert_num_queries: object) -> None:
        Client().get("/status")
        with django_assert_num_queries(0):  # type: ignore[operator]
            Client().get("/status")

    @pytest.mark.usefixtures("database", "dead_database")
    def test_storage_down_is_503_and_nobody_waits_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert Client().get("/status").status_code == 503
        monkeypatch.setattr(engine, "count_live", pytest.fail)
        assert Client().get("/status").status_code == 503


def test_root_leads_on() -> None:
    body = Client().get("/").json()
    assert body["name"] == "OctoStore"
    for link in ("docs", "openapi"):
        assert Client().get(body[link]).status_code == 200


class TestDocs:
    def test_page_asks_no_other_host(self) -> None:
        response = Client().get("/docs")
        assert response["Content-Type"] == "text/html; charset=utf-8"
        assert "http:" not in response.content.decode()
        assert "https:" not in response.content.decode()
        policy = response["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "http" not in policy

    def test_everything_the_page_asks_for_is_here(self) -> None:
        page = Client().get("/docs").content.decode()
        wanted = [part.split('"')[0] for part in page.replace('src="', 'href="').split('href="')[1:]]
        assert len(wanted) >= 5
        for path in wanted:
            response = Client().get(path)
            response.close()
            assert response.status_code == 200, path

    def test_document_is_the_same_in_both_formats(self) -> None:
        assert yaml.safe_load(Client().get("/openapi.yaml").content) == json.loads(
            Client().get("/openapi.json").content
        )
