"""Bodies: what is refused, with which status, in which order, and how fast."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Annotated, Any

import msgspec
import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.test import RequestFactory
from pytest_django.fixtures import Settings

from octostore.api.bodies import fill, parse_object, read_object
from octostore.lib.errors import InvalidInput

BODY = b'{"candidate_id":"agent-atlas","ttl_seconds":30}'
KIB_64 = 65_536


class Candidacy(msgspec.Struct, kw_only=True):
    candidate_id: str
    ttl_seconds: int | None = None
    metadata: str | None = None
    share: float = 0.0
    keen: bool = False
    tags: list[str] = []
    bounded: Annotated[int, msgspec.Meta(description="a number")] = 1


def post(body: bytes = BODY, content_type: str = "application/json", **environ: Any) -> WSGIRequest:
    return RequestFactory().generic("POST", "/elections", body, content_type, **environ)


def refusal_of(request: WSGIRequest) -> tuple[int, str | None]:
    with pytest.raises(InvalidInput) as refused:
        read_object(request)
    return refused.value.answer_status, refused.value.details


class TestContentTypes:
    @pytest.mark.parametrize(
        "content_type",
        [
            "application/json",
            "APPLICATION/JSON",
            "application/json; charset=utf-8",
            'application/json;charset="UTF-8"',
            "application/vnd.octostore+json",
            "application/merge-patch+json",
            "application/json; profile=x",
        ],
    )
    def test_json_is_read(self, content_type: str) -> None:
        assert parse_object(BODY, content_type) == {"candidate_id": "agent-atlas", "ttl_seconds": 30}

    @pytest.mark.parametrize(
        "content_type",
        [
            None,
            "",
            "text/plain",
            "text/json",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json; charset=utf-16",
            "application/json; charset=latin-1",
            "application/json; charset*=nonsense'en'x",
            "application/jsonx",
            "application/+json",
            "application/json, text/plain",
            "application/octet-stream",
        ],
    )
    def test_other_types_are_415(self, content_type: str | None) -> None:
        with pytest.raises(InvalidInput) as refused:
            parse_object(BODY, content_type)
        assert refused.value.answer_status == 415

    @pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip"])
    def test_content_encodings_are_415(self, encoding: str) -> None:
        assert refusal_of(post(HTTP_CONTENT_ENCODING=encoding))[0] == 415

    def test_identity_is_no_encoding(self) -> None:
        assert read_object(post(HTTP_CONTENT_ENCODING="identity"))["ttl_seconds"] == 30


class TestAbsentBodies:
    @pytest.mark.parametrize("content_type", ["", "application/json", "application/x-www-form-urlencoded"])
    def test_absent_body_is_an_empty_object(self, content_type: str) -> None:
        assert read_object(post(b"", content_type)) == {}

    def test_white_space_is_no_absent_body(self) -> None:
        assert refusal_of(post(b"  "))[0] == 400


class TestRefusalsOfTheServer:
    def test_body_the_server_would_not_read_is_413(self) -> None:
        assert refusal_of(post(b"", **{"octostore.refusal": "body_too_large"})) == (
            413,
            "body is larger than 65536 bytes",
        )

    def test_body_that_came_too_slowly_is_408(self) -> None:
        status, details = refusal_of(post(b"", **{"octostore.refusal": "body_timeout"}))
        assert (status, details) == (408, "body was not complete within 10 seconds")

    def test_too_large_is_said_before_the_content_type(self) -> None:
        assert refusal_of(post(b"x" * (KIB_64 + 1), "text/plain"))[0] == 413

    def test_limit_is_a_setting(self, settings: Settings) -> None:
        settings.BODY_MAX_BYTES = len(BODY)
        assert read_object(post())["ttl_seconds"] == 30
        assert refusal_of(post(BODY + b" "))[0] == 413

    def test_announced_length_counts_before_anything_is_read(self) -> None:
        assert refusal_of(post(BODY, CONTENT_LENGTH=str(10**12)))[0] == 413

    @pytest.mark.parametrize("length", ["abc", "-5", "4.0", "\u0663"])
    def test_nonsense_length_is_400(self, length: str) -> None:
        assert refusal_of(post(BODY, CONTENT_LENGTH=length)) == (400, "Content-Length must be a whole number")

    def test_no_length_is_no_body(self) -> None:
        assert read_object(post(BODY, CONTENT_LENGTH="")) == {}


class TestShapes:
    def test_fields_take_their_types(self) -> None:
        filled = fill(Candidacy, {"candidate_id": "a", "ttl_seconds": 30, "share": 0.5, "keen": True, "tags": ["x"]})
        assert filled == Candidacy(candidate_id="a", ttl_seconds=30, share=0.5, keen=True, tags=["x"])

    def test_unknown_fields_are_ignored(self) -> None:
        assert fill(Candidacy, {"candidate_id": "a", "colour": {"deep": [1]}}) == Candidacy(candidate_id="a")

    def test_null_means_omitted(self) -> None:
        assert fill(Candidacy, {"candidate_id": "a", "ttl_seconds": None, "keen": None}) == Candidacy(candidate_id="a")

    @pytest.mark.parametrize(
        ("data", "details"),
        [
            ({}, "candidate_id is required"),
            ({"candidate_id": None}, "candidate_id is required"),
            ({"candidate_id": 7}, "candidate_id must be a string"),
            ({"candidate_id": ["a"]}, "candidate_id must be a string"),
            ({"candidate_id": "a", "ttl_seconds": True}, "ttl_seconds must be an integer"),
            ({"candidate_id": "a", "ttl_seconds": "30"}, "ttl_seconds must be an integer"),
            ({"candidate_id": "a", "ttl_seconds": 30.0}, "ttl_seconds must be an integer"),
            ({"candidate_id": "a", "ttl_seconds": []}, "ttl_seconds must be an integer"),
            ({"candidate_id": "a", "share": "0.5"}, "share must be a number"),
            ({"candidate_id": "a", "share": True}, "share must be a number"),
            ({"candidate_id": "a", "keen": 1}, "keen must be true or false"),
            ({"candidate_id": "a", "metadata": {"a": 1}}, "metadata must be a string"),
            ({"candidate_id": "a", "tags": ["x", 1]}, "tags must be a list, each item a string"),
            ({"candidate_id": "a", "bounded": "x"}, "bounded must be an integer"),
        ],
    )
    def test_misfit_is_422_and_named(self, data: dict[str, Any], details: str) -> None:
        with pytest.raises(InvalidInput) as refused:
            fill(Candidacy, data)
        assert (refused.value.answer_status, refused.value.details) == (422, details)


def repeated(piece: bytes, *, head: bytes = b"", tail: bytes = b"") -> bytes:
    return head + piece * ((KIB_64 - len(head) - len(tail)) // len(piece)) + tail


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(repeated(b"["), id="deep arrays"),
        pytest.param(repeated(b'{"a":'), id="deep objects"),
        pytest.param(repeated(b"[],", head=b'{"a":[', tail=b"[]]}"), id="many arrays"),
        pytest.param(repeated(b"1,", head=b'{"a":[', tail=b"1]}"), id="many integers"),
        pytest.param(repeated(b"1e5,", head=b'{"a":[', tail=b"1]}"), id="many floats"),
        pytest.param(repeated(b"9", head=b'{"a":', tail=b"}"), id="one long integer"),
        pytest.param(repeated(b"9", head=b'{"a":1.', tail=b"}"), id="one long float"),
        pytest.param(repeated(b'\\"', head=b'{"a":"'), id="unterminated string of quotes"),
        pytest.param(repeated(b'[",'), id="strings and brackets"),
        pytest.param(repeated(b"\\ud800", head=b'{"a":"', tail=b'"}'), id="surrogates"),
        pytest.param(repeated(b'"a":1,', head=b"{", tail=b'"a":1}'), id="duplicates"),
        pytest.param(b"{" + b",".join(b'"%d":1' % key for key in range(6000)) + b"}", id="many keys"),
        pytest.param(repeated(b" "), id="white space"),
        pytest.param(repeated(b"\xff"), id="no UTF-8"),
    ],
)
def test_hostile_body_is_judged_within_100_ms(raw: bytes) -> None:
    def once() -> float:
        began = time.perf_counter()
        with suppress(InvalidInput):
            parse_object(raw, "application/json")
        return time.perf_counter() - began

    assert len(raw) <= KIB_64
    assert min(once() for _ in range(3)) < 0.1
