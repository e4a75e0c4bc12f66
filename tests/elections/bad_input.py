"""What no endpoint takes, and how it says so: at once, naming the field, asking no storage."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx
import pytest

from tests.http import Client

QUICK_SECONDS = 0.1


class Fault(NamedTuple):
    """A body that is refused with `status` and `code`; `names` is what `details` must speak of."""

    raw: bytes
    status: int
    names: str
    headers: dict[str, str]
    code: str = "invalid_input"


def fault(
    name: str, raw: str | bytes, status: int, names: str, content_type: str | None = "application/json", **headers: str
) -> Any:
    sent = {"Content-Type": content_type} if content_type is not None else {}
    sent |= {header.replace("_", "-"): value for header, value in headers.items()}
    return pytest.param(Fault(raw.encode() if isinstance(raw, str) else raw, status, names, sent), id=name)


def bodies(valid: dict[str, Any]) -> list[Any]:
    """Faults around a body that would be taken; as parameters of a test."""
    sound = json.dumps(valid)
    inside = sound[:-1] + (", " if valid else "")

    def extra(text: str) -> str:
        return f"{inside}{text}}}"

    deep = "[" * 32 + "]" * 32
    return [
        fault("no content type", sound, 415, "Content-Type", None),
        fault("text", sound, 415, "Content-Type", "text/plain"),
        fault("form", "candidate_id=atlas", 415, "Content-Type", "application/x-www-form-urlencoded"),
        fault("multipart", "--x--", 415, "Content-Type", "multipart/form-data; boundary=x"),
        fault("charset", sound, 415, "Content-Type", "application/json; charset=utf-16"),
        fault("garbled type", sound, 415, "Content-Type", "application/json; charset*=x'y'z"),
        fault("gzip", sound, 415, "content encoding", Content_Encoding="gzip"),
        fault("white space", "  ", 400, "body"),
        fault("half", sound[:-1], 400, "body"),
        fault("trailing text", sound + "x", 400, "body"),
        fault("two objects", sound + sound, 400, "body"),
        fault("trailing comma", extra('"x":1,'), 400, "body"),
        fault("comment", extra('"x":1/**/'), 400, "body"),
        fault("single quotes", extra("'x':1"), 400, "body"),
        fault("byte order mark", b"\xef\xbb\xbf" + sound.encode(), 400, "body"),
        fault("utf-16", sound.encode("utf-16"), 400, "body"),
        fault("invalid utf-8", extra('"x":"').encode() + b'\xff"}', 400, "UTF-8"),
        fault("cut utf-8", extra('"x":"').encode() + b'\xc3"}', 400, "UTF-8"),
        fault("overlong utf-8", inside.encode() + b'"x":"\xc0\xaf"}', 400, "UTF-8"),
        fault("raw surrogate", inside.encode() + b'"x":"\xed\xa0\x80"}', 400, "UTF-8"),
        fault("NaN", extra('"unknown":NaN'), 400, "unknown"),
        fault("Infinity", extra('"unknown":[-Infinity]'), 400, "unknown"),
        fault("too large a float", extra('"unknown":1e999'), 400, "unknown"),
        fault("leading zero", extra('"x":01'), 400, "body"),
        fault("hexadecimal", extra('"x":0x1E'), 400, "body"),
        fault("duplicate key", extra('"unknown":1,"unknown":1'), 400, "unknown"),
        fault("duplicate by escape", extra('"unknown":1,"\\u0075nknown":1'), 400, "unknown"),
        fault("duplicate below", extra('"x":{"unknown":1,"unknown":2}'), 400, "unknown"),
        fault("NUL", extra('"unknown":"a\\u0000"'), 400, "unknown"),
        fault("NUL in a key", extra('"\\u0000":1'), 400, "a field of body"),
        fault("lone surrogate", extra('"unknown":"\\ud800"'), 400, "unknown"),
        fault("lone surrogate in a key", extra('"\\udfff":1'), 400, "a field of body"),
        fault("control character", extra('"x":"\x01"'), 400, "body"),
        fault("nested too deep", extra(f'"x":{deep}'), 400, "nested deeper than 32"),
        fault("nested deeper than any stack", "[" * 60_000, 400, "nested deeper than 32"),
        fault("list", "[]", 422, "object"),
        fault("string", '"x"', 422, "object"),
        fault("number", "1", 422, "object"),
        fault("true", "true", 422, "object"),
        fault("null", "null", 422, "object"),
        fault("2^64", extra(f'"unknown":{2**64}'), 422, "unknown"),
        fault("-2^63-1", extra(f'"unknown":{-(2**63) - 1}'), 422, "unknown"),
        fault("10^400", extra('"unknown":1' + "0" * 400), 422, "unknown"),
        fault("over 64 KiB", extra(f'"x":"{"a" * 65_536}"'), 413, "65536 bytes"),
        fault("100,000 keys", "{" + ",".join(f'"k{n}":1' for n in range(100_000)) + "}", 413, "65536 bytes"),
    ]


def fields(valid: dict[str, Any], name: str, values: dict[str, tuple[str, int, str]]) -> list[Any]:
    """Faults of one field: by a label, what stands for its value in the JSON, the status and the code."""
    others = "".join(f", {json.dumps(key)}: {json.dumps(value)}" for key, value in valid.items() if key != name)
    headers = {"Content-Type": "application/json"}
    return [
        pytest.param(
            Fault(f'{{"{name}": {text}{others}}}'.encode(), status, name, headers, code), id=f"{name}: {label}"
        )
        for label, (text, status, code) in values.items()
    ]


def without(valid: dict[str, Any], name: str) -> Any:
    rest = {key: value for key, value in valid.items() if key != name}
    return fault(f"{name}: missing", json.dumps(rest), 422, name)


MISFIT = (422, "invalid_input")
UNSOUND = RULE = (400, "invalid_input")
RANGE = (400, "invalid_ttl")

NO_STRINGS = {
    "null": ("null", *MISFIT),
    "number": ("1", *MISFIT),
    "true": ("true", *MISFIT),
    "list": ('["atlas"]', *MISFIT),
    "object": ("{}", *MISFIT),
    "NaN": ("NaN", *UNSOUND),
}

NO_TTLS = {
    "0": ("0", *RANGE),
    "-0": ("-0", *RANGE),
    "-1": ("-1", *RANGE),
    "4": ("4", *RANGE),
    "301": ("301", *RANGE),
    "2^31": (str(2**31), *RANGE),
    "2^63": (str(2**63), *RANGE),
    "2^64-1": (str(2**64 - 1), *RANGE),
    "-2^63": (str(-(2**63)), *RANGE),
    "2^64": (str(2**64), *MISFIT),
    "10^400": ("1" + "0" * 400, *MISFIT),
    "-0.0": ("-0.0", *MISFIT),
    "0.5": ("0.5", *MISFIT),
    "4.999": ("4.999", *MISFIT),
    "30.0": ("30.0", *MISFIT),
    "3e1": ("3e1", *MISFIT),
    "300.0000001": ("300.0000001", *MISFIT),
    "1e-9": ("1e-9", *MISFIT),
    "1e308": ("1e308", *MISFIT),
    "1e309": ("1e309", *UNSOUND),
    "NaN": ("NaN", *UNSOUND),
    "Infinity": ("Infinity", *UNSOUND),
    "text": ('"30"', *MISFIT),
    "text and space": ('"30 "', *MISFIT),
    "text of an exponent": ('"1e2"', *MISFIT),
    "text of hexadecimal": ('"0x1E"', *MISFIT),
    "true": ("true", *MISFIT),
    "list": ("[]", *MISFIT),
    "object": ("{}", *MISFIT),
}

NO_TOKENS = {
    "empty": ('""', *RULE),
    "42 characters": (json.dumps("A" * 42), *RULE),
    "44 characters": (json.dumps("A" * 44), *RULE),
    "padded": (json.dumps("A" * 43 + "="), *RULE),
    "space before": (json.dumps(" " + "A" * 42), *RULE),
    "line end after": (json.dumps("A" * 43 + "\n"), *RULE),
    "no base64": (json.dumps("A" * 42 + "+"), *RULE),
    "not ASCII": (json.dumps("A" * 42 + "\u00e9"), *RULE),
    "digits of Unicode": (json.dumps("\u0661" * 43), *RULE),
    "60,000 characters": (json.dumps("A" * 60_000), *RULE),
    "NUL": (json.dumps("A" * 42 + "\0"), *UNSOUND),
    "lone surrogate": (json.dumps("A" * 42 + "\ud800"), *UNSOUND),
}

# Parts of a path that are no room, before percent-decoding.
NO_ROOMS = {
    "short": "seven77",
    "long": "a" * 65,
    "huge": "a" * 20_000,
    "dot": "room.0001",
    "colon": "room:0001",
    "space": "room%200001",
    "line end": "room0001%0A",
    "NUL": "room0001%00",
    "percent": "room0001%25",
    "plus": "room+0001",
    "not ASCII": "r%C3%B6%C3%B6m-0001",
    "invalid UTF-8": "room0001%FF",
    "digits of Unicode": "%D9%A1" * 8,
    "markup": "%3Cscript%3E1",
    "quote": "room0001%27--",
}


def refused(send: Callable[[], httpx.Response], status: int, names: str, code: str = "invalid_input") -> None:
    """Assert a refusal that names the field and is quick; a slow one is asked again, for this machine may be busy."""
    for _ in range(3):
        answer = send()
        body = answer.json()
        assert (answer.status_code, body["code"]) == (status, code), body
        assert names in body["details"]
        if answer.elapsed.total_seconds() < QUICK_SECONDS:
            return
    raise AssertionError(f"{answer.elapsed} for {body}")


def refuses(client: Client, path: str, bad: Fault) -> None:
    """Assert that a POST of the fault is refused as it says."""
    refused(lambda: client.post(path, content=bad.raw, headers=bad.headers), bad.status, bad.names, bad.code)
