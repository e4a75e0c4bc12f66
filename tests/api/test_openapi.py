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
            prefilled = {"example", "examples"} & (one.keys() | one["schema"].keys())
            assert bool(prefilled) == (one["schema"]["type"] == "integer"), one["name"]
            if prefilled:
                assert complaints(one["schema"], one["example"]) == []

    def test_answers_have_description_request_id_and_error_shape(self, name: str) -> None:
        responses = OPERATIONS[name]["responses"]
        assert {"405", "500", "503"} <= responses.keys()
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


def test_components_are_all_used() -> None:
    text = Client().get("/openapi.json").content.decode()
    unused = [name for name in DOCUMENT["components"]["schemas"] if f'"#/components/schemas/{name}"' not in text]
    assert unused == []


def test_an_example_that_does_not_fit_would_be_found() -> None:
    assert complaints({"$ref": "#/components/schemas/Error"}, {"error": 1})
