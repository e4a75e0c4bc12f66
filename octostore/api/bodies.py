"""From the bytes of a request to a typed value: the contract's rules for bodies (section 1).

`parse_object` and `fill` are pure; `read_object` takes the bytes from a request. The order of
refusals: too large or too slow, content type, broken JSON, wrong shape.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from django.conf import settings
from django.http import HttpRequest
from django.http.request import UnreadablePostError
from django.utils.http import parse_header_parameters
from rest_framework.request import Request

from octostore.api.strict_json import load_object
from octostore.lib.errors import InvalidInput

Body = TypeVar("Body", bound=msgspec.Struct)

_JSON = re.compile(r"application/(?:json|[a-z0-9!#$&^_.+-]+\+json)")


def read_object(request: HttpRequest | Request) -> dict[str, Any]:
    """The JSON object in the request's body; an absent body counts as an empty one.

    Raises InvalidInput with 400, 408, 413, 415 or 422. What the server in front refused to read
    stands in `octostore.refusal` of the environment.
    """
    refusal = request.META.get("octostore.refusal")
    if refusal == "body_too_large" or _announced_length(request) > settings.BODY_MAX_BYTES:
        raise InvalidInput(f"body is larger than {settings.BODY_MAX_BYTES} bytes", status=413)
    if refusal == "body_timeout":
        raise InvalidInput(f"body was not complete within {settings.BODY_TIMEOUT_SECONDS} seconds", status=408)
    try:
        raw: bytes = request.body
    except UnreadablePostError as error:
        raise InvalidInput("body was not complete") from error
    if not raw:
        return {}
    if request.META.get("HTTP_CONTENT_ENCODING", "identity").strip().lower() != "identity":
        raise InvalidInput("body must come without a content encoding", status=415)
    return parse_object(raw, request.META.get("CONTENT_TYPE"))


def parse_object(raw: bytes, content_type: str | None) -> dict[str, Any]:
    """The JSON object that `raw` is, sent as `content_type`; empty bytes count as an empty object.

    Raises InvalidInput with 400, 415 or 422.
    """
    if not raw:
        return {}
    if content_type != "application/json" and not _is_json(content_type or ""):
        raise InvalidInput("body must be sent with Content-Type: application/json, in UTF-8", status=415)
    return load_object(raw)


def fill(shape: type[Body], data: dict[str, Any]) -> Body:
    """`data` as a `shape`: types only, nothing converted; null counts as omitted, unknown fields are ignored.

    Raises InvalidInput with 422, naming the first field that is missing or of another type.
    """
    if None in data.values():
        data = {name: value for name, value in data.items() if value is not None}
    try:
        return msgspec.convert(data, shape, strict=True)
    except msgspec.ValidationError as error:
        raise InvalidInput(_first_misfit(shape, data), status=422) from error


def _announced_length(request: HttpRequest | Request) -> int:
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not (length.isascii() and length.isdigit()):
        raise InvalidInput("Content-Length must be a whole number")
    return int(length)


@lru_cache(maxsize=256)
def _is_json(content_type: str) -> bool:
    try:
        kind, parameters = parse_header_parameters(content_type)
    except ValueError:
        return False
    return _JSON.fullmatch(kind) is not None and parameters.get("charset", "utf-8").lower() in {"utf-8", "utf8"}


def _first_misfit(shape: type[msgspec.Struct], data: dict[str, Any]) -> str:
    for field in msgspec.structs.fields(shape):
        name = field.encode_name
        if name not in data:
            if field.required:
                return f"{name} is required"
            continue
        try:
            msgspec.convert(data[name], field.type, strict=True)
        except msgspec.ValidationError:
            return f"{name} must be {_in_words(msgspec.inspect.type_info(field.type))}"
    return "body has another shape than this endpoint takes"


def _in_words(kind: msgspec.inspect.Type) -> str:
    match kind:
        case msgspec.inspect.UnionType(types=kinds):
            words = [_in_words(one) for one in kinds]
            return " or ".join(word for word in words if word)
        case msgspec.inspect.Metadata(type=inner):
            return _in_words(inner)
        case msgspec.inspect.IntType():
            return "an integer"
        case msgspec.inspect.FloatType():
            return "a number"
        case msgspec.inspect.StrType():
            return "a string"
        case msgspec.inspect.BoolType():
            return "true or false"
        case msgspec.inspect.ListType(item_type=item):
            return f"a list, each item {_in_words(item)}"
        case msgspec.inspect.NoneType():
            return ""
        case _:
            return "an object"
