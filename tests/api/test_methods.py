"""HEAD, OPTIONS, wrong methods and slashes, on every address there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PARTS = {
    "<str:election_id>": "room-of-eight",
    "<str:term>": "1",
    "<any:name>": "repo",
    "<bare:name>": "repo",
    "<str:session_id>": "0c7f4a52-9a3e-4d1c-8a76-2f9c51e0b3d7",
    "<str:webhook_id>": "6b0c1f6e-7d0e-4a53-9f0b-2f6f6d1f8a11",
    "<str:delivery_id>": "d1c7a5f0-1e0a-4a4e-8f64-0f6f4f0b9a52",
}


def routes(resolver: URLResolver, prefix: str = "/") -> Iterator[tuple[str, Any]]:
    """Every address of the API as a concrete path, with its view class."""
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLPattern):
            for part, value in PARTS.items():
                route = route.replace(part, value)
            if hasattr(entry.callback, "cls"):  # a page has none
                yield route, entry.callback.cls
        else:
            yield from routes(entry, route)


ROUTES = dict(routes(get_resolver()))


def answered(view: Any) -> set[str]:
    return {method for method in METHODS if hasattr(view, method.lower())}


@pytest.mark.parametrize("path", ROUTES)
class TestEveryAddress:
    def test_options_is_204_with_allow(self, path: str) -> None:
        response = Client().options(path)
        assert (response.status_code, response.content) == (204, b"")
        extra = {"HEAD"} if "GET" in answered(ROUTES[path]) else set()
        assert set(response["Allow"].split(", ")) == answered(ROUTES[path]) | extra | {"OPTIONS"}

    def test_wrong_method_is_405_with_allow(self, path: str) -> None:
        for method in {*METHODS, "TRACE", "PROPFIND"} - answered(ROUTES[path]):
            response = Client().generic(method, path)
            assert (response.status_code, response.json()["code"]) == (405, "invalid_input"), method
            assert response["Allow"] == Client().options(path)["Allow"]

    def test_slash_at_the_end_is_404(self, path: str) -> None:
        response = Client().get(f"{path.removesuffix('/')}/x/" if path == "/" else f"{path}/")
        assert (response.status_code, response.json()["code"]) == (404, "not_found")


@pytest.mark.django_db
@pytest.mark.parametrize("path", [path for path, view in ROUTES.items() if "GET" in answered(view)])
def test_head_is_get_without_a_body(path: str) -> None:
    got, head = Client().get(path), Client().head(path)
    assert head.status_code == got.status_code
    assert head["Content-Type"] == got["Content-Type"]
    assert head.content == b""
