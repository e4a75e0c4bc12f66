"""What the OpenAPI document says of the service's own endpoints, and the shapes they answer."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from octostore import __version__
from octostore.api.counters import Counters
from octostore.api.readiness import Readiness
from octostore.api.schema import METRICS_SECURITY, Answer, document
from octostore.lib.errors import AuthenticationFailed, AuthenticationRequired, Unavailable

TAG = "Service"


class Health(Struct, kw_only=True):
    status: Literal["ok"] = "ok"
    version: str


class Links(Struct, kw_only=True):
    name: str = "OctoStore"
    version: str = __version__
    elections: str = "/elections"
    docs: str = "/docs"
    openapi: str = "/openapi.json"


_unready = Unavailable("the database cannot be used yet")
_unready.extra = msgspec.to_builtins(
    Readiness(status="unready", database="unavailable", migrations="unknown", broker="ok")
)

root = document(
    operation_id="root",
    tag=TAG,
    summary="Find the way",
    description="Where the rest of this service is.",
    answers={200: Answer(description="Links", shape=Links, examples={"Links": Links()})},
)

health = document(
    operation_id="health",
    tag=TAG,
    summary="Ask whether the process is up",
    description="Asks no database: use it to decide whether to restart the process.",
    answers={
        200: Answer(description="The process is up", shape=Health, examples={"Up": Health(version=__version__)}),
    },
)

ready = document(
    operation_id="ready",
    tag=TAG,
    summary="Ask whether the process can work",
    description=(
        "503 while the database is down or its tables are older than the code: send no requests then. A dead broker "
        "is `degraded` with 200, because leases do not need it. The 503 carries the same fields beside the error."
    ),
    answers={
        200: Answer(
            description="Ready",
            shape=Readiness,
            examples={
                "Ready": Readiness(status="ready", database="ok", migrations="ok", broker="ok"),
                "Broker down": Readiness(status="ready", database="ok", migrations="ok", broker="degraded"),
            },
        )
    },
    errors=[_unready],
)

status = document(
    operation_id="status",
    tag=TAG,
    summary="Read the public counters",
    description="Counted at most once a second.",
    answers={
        200: Answer(
            description="Counters",
            shape=Counters,
            examples={
                "Counters": Counters(
                    version=__version__,
                    uptime_seconds=86_400,
                    public_elections=True,
                    led_rooms=42,
                    led_rooms_max=10_000,
                )
            },
        )
    },
)

metrics = document(
    operation_id="metrics",
    tag=TAG,
    summary="Scrape the metrics",
    description="Prometheus text, of all processes that share `PROMETHEUS_MULTIPROC_DIR` where that is set.",
    security=METRICS_SECURITY,
    answers={
        200: Answer(
            description="Metrics",
            shape={"type": "string"},
            media_type="text/plain",
            examples={
                "One counter": 'octostore_http_requests_total{method="GET",route="/health",status="200"} 7.0\n',
            },
        )
    },
    errors=[AuthenticationRequired(), AuthenticationFailed()],
)

openapi_json = document(
    operation_id="openapi_json",
    tag=TAG,
    summary="Get this document as JSON",
    description="OpenAPI 3.1.",
    answers={
        200: Answer(description="This document", shape={"type": "object"}, examples={"Beginning": {"openapi": "3.1.0"}})
    },
)

openapi_yaml = document(
    operation_id="openapi_yaml",
    tag=TAG,
    summary="Get this document as YAML",
    description="OpenAPI 3.1.",
    answers={
        200: Answer(
            description="This document",
            shape={"type": "object"},
            media_type="application/yaml",
            examples={"Beginning": {"openapi": "3.1.0"}},
        )
    },
)

interactive = document(
    operation_id="docs",
    tag=TAG,
    summary="Read and try the API in a browser",
    description="Swagger UI, served from here alone.",
    answers={
        200: Answer(
            description="A page",
            shape={"type": "string"},
            media_type="text/html",
            examples={"Beginning": "<!doctype html>"},
        )
    },
)
