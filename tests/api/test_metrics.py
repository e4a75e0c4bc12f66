"""Metrics: who may read them, what they count, and that they are right with many processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from octostore.api.metrics import outcomes
from tests.api.test_request_id import OVERLOADED

BEARER = "scrape-me-7f3a"
REMOTE = "203.0.113.9"


def scrape(**headers: str) -> int:
    return Client().get("/metrics", headers=headers, REMOTE_ADDR=REMOTE).status_code


def value(sample: str) -> float:
    """One sample of the exposition; 0 where it is absent."""
    found = re.search(rf"^{re.escape(sample)} (\S+)$", Client().get("/metrics").content.decode(), re.MULTILINE)
    return float(found[1]) if found else 0.0


@pytest.fixture
def gained() -> Callable[[str], float]:
    """How much a sample grew since this fixture was first asked for it."""
    before: dict[str, float] = {}

    def gain(sample: str) -> float:
        return value(sample) - before.setdefault(sample, value(sample))

    return gain


class TestReaders:
    def test_known_address_may_read(self) -> None:
        response = Client().get("/metrics")
        assert response.status_code == 200
        assert response["Content-Type"].startswith("text/plain")

    def test_others_need_a_credential(self) -> None:
        response = Client().get("/metrics", REMOTE_ADDR=REMOTE)
        assert (response.status_code, response.json()["code"]) == (401, "authentication_required")

    def test_bearer_may_read_from_anywhere(self, settings: Settings) -> None:
        settings.METRICS_BEARER = BEARER
        assert scrape(Authorization=f"Bearer {BEARER}") == 200
        assert scrape(Authorization=f"bearer {BEARER}") == 200

    @pytest.mark.parametrize("given", ["", "wrong", BEARER[:-1], BEARER.upper(), "é", "x" * 9000])
    def test_wrong_bearer_is_401(self, settings: Settings, given: str) -> None:
        settings.METRICS_BEARER = BEARER
        assert scrape(Authorization=f"Bearer {given}") == 401

    @pytest.mark.parametrize("given", ["Basic eDp5", "Bearer", "Bearer ", BEARER])
    def test_other_credentials_are_401(self, settings: Settings, given: str) -> None:
        settings.METRICS_BEARER = BEARER
        assert scrape(Authorization=given) == 401

    def test_no_bearer_is_right_where_none_is_set(self, settings: Settings) -> None:
        settings.METRICS_BEARER = ""
        assert scrape(Authorization="Bearer ") == 401
        assert scrape(Authorization="Bearer x") == 401

    def test_networks_may_be_listed(self, settings: Settings) -> None:
        settings.METRICS_ADDRESSES = [ip_network("2001:db8::/32"), ip_network("203.0.113.0/24")]
        assert scrape() == 200

    @pytest.mark.parametrize("hops", [0, 1, 2])
    @pytest.mark.parametrize(
        "trace",
        [
            "Forwarded: for=8.8.8.8",
            "Forwarded: for=127.0.0.1",
            "Via: 1.1 cache",
            "X-Real-IP: 8.8.8.8",
            "X-Client-IP: 8.8.8.8",
            "True-Client-IP: 8.8.8.8",
            "CF-Connecting-IP: 8.8.8.8",
            "X-Forwarded-Proto: https",
            "X-Forwarded-Host: octostore.example.org",
        ],
    )
    def test_proxy_that_was_not_announced_opens_no_door(self, settings: Settings, hops: int, trace: str) -> None:
        settings.TRUSTED_PROXY_HOPS = hops
        assert Client().get("/metrics", headers=dict([trace.split(": ")])).status_code == 401

    @pytest.mark.parametrize(
        ("hops", "forwarded"),
        [
            (0, "127.0.0.1"),
            (1, "8.8.8.8, 127.0.0.1"),
            (1, "127.0.0.1, 127.0.0.1"),
            (2, "127.0.0.1"),
            (2, "8.8.8.8, 127.0.0.1, 127.0.0.1"),
        ],
    )
    def test_chain_of_another_length_than_was_announced_opens_no_door(
        self, settings: Settings, hops: int, forwarded: str
    ) -> None:
        settings.TRUSTED_PROXY_HOPS = hops
        assert Client().get("/metrics", headers={"X-Forwarded-For": forwarded}).status_code == 401

    @pytest.mark.parametrize(
        "forwarded", ["", "unknown", "_hidden", "8.8.8.8:4711", "[2001:db8::1]:4711", "127.0.0.1:x", "x" * 9000]
    )
    def test_client_a_trusted_proxy_told_nothing_of_is_not_the_proxy(self, settings: Settings, forwarded: str) -> None:
        settings.TRUSTED_PROXY_HOPS = 1
        assert Client().get("/metrics", headers={"X-Forwarded-For": forwarded}).status_code == 401

    @pytest.mark.parametrize("forwarded", ["127.0.0.1", "127.0.0.1:4711", "[::1]:4711", "::ffff:127.0.0.1"])
    def test_behind_a_trusted_proxy_the_client_counts(self, settings: Settings, forwarded: str) -> None:
        settings.TRUSTED_PROXY_HOPS = 1
        assert Client().get("/metrics", headers={"X-Forwarded-For": "8.8.8.8"}).status_code == 401
        assert Client().get("/metrics", headers={"X-Forwarded-For": forwarded}).status_code == 200

    def test_beside_a_trusted_proxy_the_peer_counts(self, settings: Settings) -> None:
        settings.TRUSTED_PROXY_HOPS = 1
        assert Client().get("/metrics").status_code == 200
        assert scrape() == 401


class TestCounts:
    def test_requests_count_by_pattern_method_and_status(self, gained: Callable[[str], float]) -> None:
        served = 'octostore_http_requests_total{method="GET",route="/health",status="200"}'
        refused = 'octostore_http_requests_total{method="GET",route="/elections/<str:election_id>",status="400"}'
        assert gained(served) == gained(refused) == 0
        Client().get("/health")
        Client().get("/elections/short")
        assert gained(served) == gained(refused) == 1

    def test_durations_are_observed(self, gained: Callable[[str], float]) -> None:
        count = 'octostore_http_request_duration_seconds_count{method="GET",route="/health"}'
        assert gained(count) == 0
        Client().get("/health")
        assert gained(count) == 1

    def test_unknown_paths_and_methods_share_one_label(self, gained: Callable[[str], float]) -> None:
        sample = 'octostore_http_requests_total{method="other",route="unmatched",status="404"}'
        assert gained(sample) == 0
        Client().generic("BREW", "/pot")
        Client().generic("POUR", "/cup")
        assert gained(sample) == 2

    def test_refusals_of_the_server_count_too(self, gained: Callable[[str], float]) -> None:
        sample = 'octostore_http_requests_total{method="GET",route="unmatched",status="503"}'
        assert gained(sample) == 0
        Client().get("/health", **OVERLOADED)
        assert gained(sample) == 1

    def test_outcomes_have_a_counter(self, gained: Callable[[str], float]) -> None:
        sample = 'octostore_lease_outcomes_total{outcome="granted",space="elections"}'
        assert gained(sample) == 0
        outcomes.labels("elections", "granted").inc()
        assert gained(sample) == 1

    def test_nothing_a_client_wrote_becomes_a_label(self) -> None:
        Client().get("/elections/canary-room-7f3a?canary-query", headers={"Idempotency-Key": "canary-key-7f3a9"})
        assert b"canary" not in Client().get("/metrics").content


def test_many_processes_are_counted_together(tmp_path: Path) -> None:
    program = (
        "import django; django.setup()\n"
        "from django.test import Client\n"
        "for _ in range(3): Client().get('/health')\n"
        "print(Client().get('/metrics').content.decode())\n"
    )
    environ = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for processes in (1, 2):
        run = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
        sample = f'octostore_http_requests_total{{method="GET",route="/health",status="200"}} {3.0 * processes}'
        assert sample in run.stdout
