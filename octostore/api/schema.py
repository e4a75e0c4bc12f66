"""How a view says what it takes and answers, for the served OpenAPI document.

    @document(
        operation_id="renew", tag="Elections", summary="Renew the lease", description="...",
        parameters=[ELECTION_ID],
        body=RenewInput, body_examples={"Renew": {"leader_token": "..."}},
        answers={200: Answer(description="Still leading", shape=LeaderOutput, examples={"Renewed": {...}})},
        errors=[*BODY_ERRORS, LeaseNotCurrent(ended="expired")],
    )
    def post(self, request, election_id): ...

Shapes are msgspec Structs (or unions of them) and become components by their names. Errors are given
as they would be raised: one instance is the status, the code and the example.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import msgspec
from django.conf import settings
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema

from octostore.api.errors import envelope
from octostore.api.request_id import HEADER
from octostore.lib import errors as catalogue
from octostore.lib.errors import (
    AuthenticationFailed,
    AuthenticationRequired,
    DomainError,
    Forbidden,
    InternalError,
    InvalidInput,
    RateLimited,
    Unavailable,
)

View = TypeVar("View", bound=Callable[..., Any])
Schema = dict[str, Any]

EXAMPLE_REQUEST_ID = "req_5f0c1f0e8a3b4c6d9e2f7a1b3c5d7e9f"
# In the JSON schema of a field that may be omitted: what it then counts as.
DEFAULT = "x-default"
METRICS_SECURITY: list[Schema] = [{"metricsBearer": []}, {}]
KEY_SECURITY: list[Schema] = [{"apiKey": []}]

BODY_ERRORS: list[DomainError] = [
    InvalidInput("body is not valid JSON: it breaks at character 17"),
    InvalidInput(f"body was not complete within {settings.BODY_TIMEOUT_SECONDS} seconds", status=408),
    InvalidInput(f"body is larger than {settings.BODY_MAX_BYTES} bytes", status=413),
    InvalidInput("body must be sent with Content-Type: application/json, in UTF-8", status=415),
    InvalidInput("ttl_seconds must be an integer", status=422),
]
# What whoever needs a key may be told; the budget is that of wrong keys.
KEY_ERRORS: list[DomainError] = [
    AuthenticationRequired("Send Authorization: Bearer with an API key"),
    AuthenticationFailed(),
    Forbidden("This key lacks the scope locks"),
    RateLimited(f"The budget is {settings.WRONG_KEYS_PER_MINUTE} a minute for each client", retry_after_ms=1000),
]
_ANY_OPERATION: list[DomainError] = [
    InvalidInput("this address answers GET, HEAD, OPTIONS", status=405),
    InvalidInput("not a sound HTTP/1.1 request: request header fields too large", status=431),
    InternalError(),
    Unavailable(),
]

_HEADERS = {
    HEADER: ("The request's id, made by the server; errors repeat it.", EXAMPLE_REQUEST_ID),
    "Retry-After": ("Whole seconds until trying again makes sense.", "2"),
    "WWW-Authenticate": ("How to authenticate.", "Bearer"),
    "Allow": ("The methods this address answers.", "GET, HEAD, OPTIONS"),
}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer that is not an error.

    `shape` is a Struct, a union of Structs, a tuple of such alternatives, a JSON schema, or None for no body.
    """

    description: str
    shape: Any = None
    examples: Mapping[str, Any] = field(default_factory=dict)
    media_type: str = "application/json"
    # How the answer begins where plain text is asked for, if it can be had as such.
    text: str = ""
    headers: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # name: description, example


def parameter(place: str, name: str, description: str, *, example: int | None = None, **schema: Any) -> Schema:
    """A parameter in the `path`, `query` or `header`; further keyword arguments are its JSON schema.

    Only a number may have an example: `/docs` fills examples in for everybody who tries the API, and two
    visitors who send the same room, key or session act as one.
    """
    return {
        "in": place,
        "name": name,
        "description": description,
        "required": place == "path",
        "schema": {"type": "string", **schema},
        **({} if example is None else {"example": example}),
    }


def document(
    *,
    operation_id: str,
    tag: str,
    summary: str,
    description: str,
    answers: Mapping[int, Answer],
    errors: Iterable[DomainError] = (),
    parameters: Iterable[Schema] = (),
    body: type[msgspec.Struct] | None = None,
    body_examples: Mapping[str, Any] | None = None,
    security: list[Schema] | None = None,
) -> Callable[[View], View]:
    """Decorate a view's method with what the OpenAPI document says of it.

    Every address can also answer 405, 431, 500 and 503, so `errors` need not name them.
    """
    components: Schema = {}
    asked: Schema = {}
    operation: Schema = {
        "operationId": operation_id,
        "summary": summary,
        "description": description,
        "tags": [tag],
        "security": security or [],
        "parameters": list(parameters),
        "responses": {str(status): _answer(answer, components) for status, answer in answers.items()},
        "x-components": components,
    }
    for schema in components.values():
        _require_what_is_always_there(schema)
    if body is not None:
        operation["requestBody"] = {
            "description": "A JSON object; unknown fields are ignored, null counts as omitted.",
            "required": any(one.required for one in msgspec.structs.fields(body)),
            "content": _content(body, body_examples or {}, "application/json", asked),
        }
        for schema in asked.values():
            _tell_defaults(schema)
        components |= asked
    by_status: dict[int, list[DomainError]] = defaultdict(list)
    for error in [*errors, *_ANY_OPERATION]:
        by_status[error.answer_status].append(error)
    for status in sorted(by_status):
        operation["responses"].setdefault(str(status), _refusal(by_status[status]))
    decorate: Callable[[View], View] = extend_schema(operation=operation)
    return decorate


def of_a_key(*, errors: Iterable[DomainError] = (), **described: Any) -> Callable[[View], View]:
    """`document`, with what holds for every endpoint that needs a key."""
    return document(security=KEY_SECURITY, errors=[*KEY_ERRORS, *errors], **described)


@cache
def openapi() -> Schema:
    """The document, generated once for each process."""
    document: Schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return document


def complete(result: Schema, **_: Any) -> Schema:
    """drf-spectacular's hook: put the components in that operations brought along."""
    schemas: Schema = {"Error": _error_schema()}
    for path in result["paths"].values():
        for operation in path.values():
            for name, schema in operation.pop("x-components", {}).items():
                if schemas.setdefault(name, schema) != schema:
                    raise ValueError(f"two shapes are called {name}")
    result["components"] = {
        "schemas": dict(sorted(schemas.items())),
        "headers": {
            name: {"description": text, "schema": {"type": "string"}, "example": example}
            for name, (text, example) in _HEADERS.items()
        },
        "securitySchemes": {
            "metricsBearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "OCTOSTORE_METRICS_BEARER; addresses in OCTOSTORE_METRICS_ADDRESSES need none.",
            },
            "apiKey": {
                "type": "http",
                "scheme": "bearer",
                "description": "A team's API key, osk_<12 visible characters>_<43 secret characters>.",
            },
        },
    }
    return result


def _answer(answer: Answer, components: Schema) -> Schema:
    headers = {
        name: {"description": text, "schema": {"type": "string"}, "example": example}
        for name, (text, example) in answer.headers.items()
    }
    response: Schema = {"description": answer.description, "headers": _refer(HEADER) | headers}
    if answer.shape is not None:
        response["content"] = _content(answer.shape, answer.examples, answer.media_type, components)
    if answer.text:
        response["content"] |= _content({"type": "string"}, {"Text": answer.text}, "text/plain", components)
    return response


def _refusal(errors: list[DomainError]) -> Schema:
    headers = [HEADER]
    if any(error.retry_after_ms is not None for error in errors):
        headers.append("Retry-After")
    headers += {401: ["WWW-Authenticate"], 405: ["Allow"]}.get(errors[0].answer_status, [])
    examples: Schema = {}
    for error in errors:
        examples.setdefault(error.code, {"summary": error.text, "value": envelope(error, EXAMPLE_REQUEST_ID)})
    return {
        "description": ", ".join(f"`{code}`" for code in examples),
        "headers": _refer(*headers),
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Error"}, "examples": examples},
        },
    }


def _refer(*headers: str) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in headers}


def _content(shape: Any, examples: Mapping[str, Any], media_type: str, components: Schema) -> Schema:
    if isinstance(shape, dict):
        schema = shape
    else:
        shapes = shape if isinstance(shape, tuple) else (shape,)
        schemas, found = msgspec.json.schema_components(shapes, ref_template="#/components/schemas/{name}")
        schema = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
        components |= found
    return {
        media_type: {
            "schema": schema,
            "examples": {
                re.sub(r"\W+", "_", name.lower()): {"summary": name, "value": msgspec.to_builtins(value)}
                for name, value in examples.items()
            },
        }
    }


def _tell_defaults(asked: Schema) -> None:
    """An omitted field is None in code, and what it stands for is said by `DEFAULT` where there is something."""
    for one in asked.get("properties", {}).values():
        one.pop("default", None)
        if DEFAULT in one:
            one["default"] = one.pop(DEFAULT)


def _require_what_is_always_there(answered: Schema) -> None:
    """A field that code need not set is in every answer all the same."""
    for name, one in answered.get("properties", {}).items():
        if "default" in one:
            del one["default"]
            answered["required"].append(name)


def _error_schema() -> Schema:
    codes = {one.code for one in vars(catalogue).values() if isinstance(one, type) and issubclass(one, DomainError)}
    return {
        "title": "Error",
        "description": "What every refusal looks like. Act on `code`; some carry further fields.",
        "type": "object",
        "additionalProperties": True,
        "required": ["error", "code", "request_id"],
        "properties": {
            "error": {"type": "string", "description": "One sentence for a person."},
            "code": {"type": "string", "enum": sorted(codes)},
            "details": {"type": "string", "description": "What exactly was wrong, with the field named."},
            "request_id": {"type": "string", "pattern": "^req_[0-9a-f]{32}$"},
            "retry_after_ms": {"type": "integer", "minimum": 0, "description": "When trying again makes sense."},
            "ended": {
                "type": "string",
                "enum": ["released", "expired", "removed"],
                "description": "With lease_not_current, to the holder of the last term alone: how it ended.",
            },
            "status": {
                "type": "string",
                "description": "`delayed` with lock_delayed; in the answer of /ready, its own.",
            },
            "available_at": {
                "type": "string",
                "format": "date-time",
                "description": "With lock_delayed: from when the lock can be acquired.",
            },
            "lock_delay_seconds": {
                "type": "integer",
                "minimum": 0,
                "description": "With lock_delayed: how long the delay is in all.",
            },
        },
    }
