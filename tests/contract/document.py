"""The served OpenAPI document, and whether an answer is one that it tells of."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
from django.test import Client
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

DOCUMENT: dict[str, Any] = Client().get("/openapi.json").json()

# By operation id: method, path and what is said of each answer.
OPERATIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    operation["operationId"]: (method.upper(), path, operation["responses"])
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


def complaints(operation_id: str, answer: httpx.Response) -> list[str]:
    """In what the answer differs from the document; empty when it is told there as it came."""
    _, _, responses = OPERATIONS[operation_id]
    told = responses.get(str(answer.status_code))
    if told is None:
        return [f"{answer.status_code} is not told of"]
    headers = {name: _resolved(header) for name, header in told.get("headers", {}).items()}
    missing = [
        f"no header {name}" for name, header in headers.items() if header.get("required") and name not in answer.headers
    ]
    media_type = answer.headers.get("Content-Type", "").split(";")[0]
    content = told.get("content", {})
    if not content and not answer.content and not media_type:
        return missing
    if media_type not in content:
        return [*missing, f"{media_type} is not told of, but {', '.join(content)}"]
    validator = Draft202012Validator({**content[media_type]["schema"], "components": DOCUMENT["components"]})
    match media_type:
        case "application/json":
            told_of = [answer.json()]
        case "text/event-stream":
            told_of = [json.loads(data) for data in re.findall(r"^data: (.*)$", answer.text, re.MULTILINE)]
        case _:
            told_of = []
    return missing + [error.message for one in told_of for error in validator.iter_errors(one)]


def _resolved(value: dict[str, Any]) -> dict[str, Any]:
    """What a reference within the document points at."""
    target: dict[str, Any] = value
    if reference := value.get("$ref"):
        target = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]
    return target
