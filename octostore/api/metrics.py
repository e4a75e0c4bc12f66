"""What is counted for Prometheus: requests by route pattern, and outcomes of leases.

What is open at this instant is measured where it is opened (`octostore.live.gauges`). No label
carries what a client wrote.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import prometheus_client
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from octostore.api.request_id import route_of
from octostore.live.tickets import is_parked

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]

requests = Counter("octostore_http_requests", "Answered requests.", ["method", "route", "status"])
durations = Histogram(
    "octostore_http_request_duration_seconds", "Time to answer a request.", ["method", "route"], buckets=SECONDS
)
outcomes = Counter("octostore_lease_outcomes", "What attempts at leases came to.", ["space", "outcome"])


class MetricsMiddleware:
    """Counts and times every request, static files and refusals too.

    A request that was parked is counted once, when it is answered; what it waited is no time to answer.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        response = self.get_response(request)
        if is_parked(response):
            return response
        count(request.method or "", route_of(request), response.status_code, time.perf_counter() - began)
        return response


def count(method: str, route: str, status: int, seconds: float) -> None:
    """Count one answer; `route` is a pattern."""
    method = method if method in METHODS else "other"
    durations.labels(method, route).observe(seconds)
    requests.labels(method, route, status).inc()


def exposition() -> bytes:
    """Prometheus text; of all processes that share `PROMETHEUS_MULTIPROC_DIR`, where that is set."""
    if not settings.METRICS_DIRECTORY:
        return generate_latest(REGISTRY)
    _forget_the_dead(Path(settings.METRICS_DIRECTORY))
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def _forget_the_dead(directory: Path) -> None:
    """A process that was killed has nothing open any more; what it counted stays."""
    for path in directory.glob("gauge_live*.db"):
        process = int(path.stem.rpartition("_")[2])
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            mark_process_dead(process, str(directory))  # type: ignore[no-untyped-call]
        except PermissionError:
            pass  # it lives, under another user
