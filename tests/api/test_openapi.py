"""The served document: valid, complete, and about the routes there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.api.test_methods import METHODS, PARTS, ROUTES, answered

DOCUMENT: dict[str, Any] = Client().get("/openapi.json").json()


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


OPERATIONS = dict(operations())


def resolved(value: dict[str, Any]) -> dict[str, Any]:
    """What a `$ref` inside the document points at."""
    while "$ref" in value:
        target: Any = DOCUMENT
        for step in value["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        value = target
    return value


def complaints(schema: dict[str, Any], example: Any) -> list[str]:
    """What keeps an example from fitting its schema; components are found because they come along."""
    validator = Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    return [error.message for error in validator.iter_errors(example)]


def contents(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from operation.get("requestBody", {}).get("content", {}).values()
    for response in operation["responses"].values():
        yield from response.get("content", {}).values()


def test_document_is_valid_openapi_31() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    assert list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors()) == []


def test_document_says_what_it_is() -> None:
    info = DOCUMENT["info"]
    assert info["title"] == "OctoStore"
    assert info["description"]
    assert info["contact"]["name"]
    assert info["license"]["name"] == "MIT"
    assert DOCUMENT["servers"]
    assert all(tag["description"] for tag in DOCUMENT["tags"])


def test_every_route_is_described_and_no_other() -> None:
    routed = {(method, path) for path, view in ROUTES.items() for method in METHODS if method in answered(view)}
    assert {tuple(_concrete(name).split()) for name in OPERATIONS} == routed


def _concrete(name: str) -> str:
    """An operation with the parts of its path as the routes have them."""
    for part, value in PARTS.items():
        name = name.replace("{" + part.strip("<>").partition(":")[2] + "}", value)
    return name


def test_operation_ids_are_unique() -> None:
    names = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", OPERATIONS)
class TestEveryOperation:
    def test_it_is_told_in_words(self, name: str) -> None:
        operation = OPERATIONS[name]
        assert operation["summary"]
        assert not operation["summary"].endswith(".")
        assert operation["description"]
        assert set(operation["tags"]) <= {tag["name"] for tag in DOCUMENT["tags"]}
        assert "security" in operation

    def test_parameters_have_a_description(self, name: str) -> None:
        parameters = OPERATIONS[name].get("parameters", [])
        assert all(one["description"] for one in parameters)
        assert {one["name"] for one in parameters if one["in"] == "path"} == {
            part.split("}")[0] for part in name.split("{")[1:]
        }

    def test_only_numbers_are_filled_in_for_who_tries_it(self, name: str) -> None:
        for one in OPERATIONS[name].get("parameters", []):
            prefilled = {"example", "examples", "default"} & (one.keys() | one["schema"].keys())
            assert bool(prefilled) == (one["schema"]["type"] == "integer"), one["name"]
            if prefilled:
                assert complaints(one["schema"], one["example"]) == []

    def test_answers_have_description_request_id_and_error_shape(self, name: str) -> None:
        responses = OPERATIONS[name]["responses"]
        assert {"405", "431", "500", "503"} <= responses.keys()
        for status, response in responses.items():
            assert response["description"], status
            assert "X-Request-Id" in response["headers"], status
            assert all(resolved(header)["description"] for header in response["headers"].values())
            if status >= "400":
                assert response["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Error"}
            if status in {"429", "503"}:
                assert "Retry-After" in response["headers"], status

    def test_examples_fit_their_schemas(self, name: str) -> None:
        for content in contents(OPERATIONS[name]):
            assert content["examples"]
            for example in content["examples"].values():
                assert example["summary"]
                assert complaints(content["schema"], example["value"]) == []


# The contract's sections 2 to 5: default, least and most of each number that is asked for; None where it has none.
ASKED = {
    ("CampaignInput", "ttl_seconds"): (30, 5, 300),
    ("CampaignInput", "wait_seconds"): (0, 0, 60),
    ("RenewInput", "ttl_seconds"): (None, 5, 300),
    ("AcquireInput", "ttl_seconds"): (60, 1, 3600),
    ("AcquireInput", "lock_delay_seconds"): (0, 0, 30),
    ("AcquireInput", "wait_seconds"): (0, 0, 60),
    ("RenewLockInput", "ttl_seconds"): (None, 1, 3600),
    ("RevokeInput", "fencing_token"): (None, 1, 2**53 - 1),
    ("RevokeInput", "delay_seconds"): (0, 0, 30),
    ("SessionInput", "ttl_seconds"): (60, None, None),  # clamped, not refused
}
FLAGS = {("AcquireInput", "ephemeral"): False, ("ReleaseInput", "delay"): False}
LONGEST = {
    ("CampaignInput", "metadata"): 1024,
    ("AcquireInput", "metadata"): 1024,
    ("RevokeInput", "reason"): 500,
    ("WebhookInput", "url"): 2048,
}


def asked() -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """Every field that a body may have, by the names of its shape and itself."""
    for operation in OPERATIONS.values():
        for content in operation.get("requestBody", {}).get("content", {}).values():
            shape = content["schema"]["$ref"].rpartition("/")[2]
            for name, field in DOCUMENT["components"]["schemas"][shape]["properties"].items():
                yield (shape, name), field


def kinds(field: dict[str, Any]) -> set[str]:
    return {one.get("type", "object") for one in field.get("anyOf", [field])}


def test_numbers_have_the_defaults_and_bounds_of_the_contract() -> None:
    told = {
        name: (field.get("default"), field.get("minimum"), field.get("maximum"))
        for name, field in asked()
        if "integer" in kinds(field)
    }
    assert told == ASKED


def test_other_fields_have_the_defaults_and_bounds_of_the_contract() -> None:
    others = {name: field for name, field in asked() if "integer" not in kinds(field)}
    assert {name: field["default"] for name, field in others.items() if "default" in field} == FLAGS
    assert {name: field["maxLength"] for name, field in others.items() if "maxLength" in field} == LONGEST


def test_numbers_in_addresses_have_the_defaults_and_bounds_of_the_contract() -> None:
    told = {
        (name, one["name"]): tuple(one["schema"].get(bound) for bound in ("default", "minimum", "maximum"))
        for name, operation in OPERATIONS.items()
        for one in operation.get("parameters", [])
        if one["schema"]["type"] == "integer"
    }
    assert told == {
        ("GET /elections/{election_id}/terms", "limit"): (50, 1, 200),
        ("GET /elections/{election_id}/terms/{term}", "term"): (None, 1, 2**53 - 1),
        ("GET /locks", "limit"): (50, 1, 200),
        ("GET /locks/{name}/history", "limit"): (200, 1, 200),
        ("GET /sessions", "limit"): (50, 1, 200),
        ("GET /webhooks/{webhook_id}/deliveries", "limit"): (50, 1, 200),
    }


def test_what_is_in_every_answer_is_required() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert "schema_version" in schemas["StateFrame"]["required"]
    given = {ref["$ref"].rpartition("/")[2] for name in OPERATIONS for ref in answered_with(OPERATIONS[name])}
    assert given >= {"LeaderOutput", "StateFrame", "Health"}
    assert [
        (shape, name) for shape in given for name, field in schemas[shape]["properties"].items() if "default" in field
    ] == []


def answered_with(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """References to the shapes of an operation's answers."""
    for response in operation["responses"].values():
        for content in response.get("content", {}).values():
            yield from (one for one in content["schema"].get("anyOf", [content["schema"]]) if "$ref" in one)


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name.endswith("/watch")])
def test_streams_are_told_with_their_farewell(name: str) -> None:
    stream = OPERATIONS[name]["responses"]["200"]["content"]["text/event-stream"]
    assert {"$ref": "#/components/schemas/ByeFrame"} in stream["schema"]["anyOf"]
    assert DOCUMENT["components"]["schemas"]["ByeFrame"]["properties"]["reason"]["enum"] == [
        "max_age",
        "revoked",
        "shutdown",
    ]


def test_components_are_all_used() -> None:
    text = Client().get("/openapi.json").content.decode()
    unused = [name for name in DOCUMENT["components"]["schemas"] if f'"#/components/schemas/{name}"' not in text]
    assert unused == []


def test_an_example_that_does_not_fit_would_be_found() -> None:
    assert complaints({"$ref": "#/components/schemas/Error"}, {"error": 1})
