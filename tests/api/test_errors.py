"""One envelope for everything that goes wrong, and nothing internal in it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from octostore.lib import errors
from tests.api.raising import CANARY, CASES

pytestmark = pytest.mark.urls("tests.api.raising")

# What Django lets pass by its own handlers before ours are asked: domain errors and DRF's live in views.
OUTSIDE = [
    case for case in CASES if case in {"http404", "permission", "suspicious", "bad_request", "bug", "operational"}
]


def get(path: str) -> tuple[Any, dict[str, Any]]:
    response = Client(raise_request_exception=False).get(path)
    assert response["Content-Type"] == "application/json"
    return response, json.loads(response.content)


@pytest.mark.parametrize("case", CASES)
class TestViews:
    def test_status_and_code_are_the_catalogues(self, case: str) -> None:
        response, body = get(f"/view/{case}")
        assert (response.status_code, body["code"]) == CASES[case][1:]

    def test_envelope_is_whole(self, case: str) -> None:
        response, body = get(f"/view/{case}")
        assert re.fullmatch(r"req_[0-9a-f]{32}", body["request_id"])
        assert response["X-Request-Id"] == body["request_id"]
        assert isinstance(body["error"], str)
        assert body.keys() <= {"error", "code", "details", "request_id", "retry_after_ms", "ended"}
        assert None not in body.values()

    def test_nothing_internal_is_shown(self, case: str) -> None:
        response, _ = get(f"/view/{case}")
        assert CANARY not in response.content.decode() + str(response.headers)

    def test_retry_after_is_told_twice_or_not_at_all(self, case: str) -> None:
        response, body = get(f"/view/{case}")
        assert ("retry_after_ms" in body) == ("Retry-After" in response)
        if response.status_code in {429, 503}:
            assert int(response["Retry-After"]) * 1000 >= body["retry_after_ms"] > 0

    def test_answer_is_kept_by_nobody(self, case: str) -> None:
        assert get(f"/view/{case}")[0]["Cache-Control"] == "no-store"


@pytest.mark.parametrize("case", OUTSIDE)
def test_outside_of_views_the_answer_is_the_same(case: str) -> None:
    inside, outside = get(f"/view/{case}"), get(f"/outside/{case}")
    assert outside[0].status_code == inside[0].status_code
    assert outside[1] | {"request_id": ""} == inside[1] | {"request_id": ""}


def test_retry_after_is_rounded_up() -> None:
    response, body = get("/view/limited")
    assert (response["Retry-After"], body["retry_after_ms"]) == ("2", 1201)


def test_further_fields_stand_beside_the_envelope() -> None:
    assert get("/view/not_current")[1]["ended"] == "expired"


def test_missing_credential_says_how_to_authenticate() -> None:
    assert get("/view/authentication_required")[0]["WWW-Authenticate"] == "Bearer"


def test_unknown_path_is_not_found_and_not_echoed() -> None:
    response, body = get(f"/{CANARY}/x")
    assert (response.status_code, body["code"]) == (404, "not_found")
    assert CANARY not in response.content.decode()


def test_wrong_method_names_the_right_ones() -> None:
    response = Client().post("/view/bug")
    assert response.status_code == 405
    assert response["Allow"] == "GET, HEAD, OPTIONS"
    assert response.json()["details"] == "this address answers GET, HEAD, OPTIONS"


def test_head_of_an_error_has_no_body() -> None:
    response = Client().head("/view/not_found")
    assert (response.status_code, response.content) == (404, b"")


def test_every_error_of_the_catalogue_is_walked() -> None:
    codes = {one.code for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.DomainError)}
    assert codes == {code for _, _, code in CASES.values()}
