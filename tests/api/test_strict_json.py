"""The strict parser agrees with a slow, obvious one, whatever it is given."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from octostore.api.strict_json import load_object
from octostore.lib.errors import InvalidInput
from tests.api.oracle import judge

FRAGMENTS = [
    *(
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        '"',
        "\\",
        " ",
        "\n",
        "\t",
        "\v",
        "\f",
        "\u00a0",
        "\ufeff",
        "\u2028",
        "\0",
        "/",
        "//",
        "#",
    ),
    *(
        '"a"',
        '"a":1',
        '"b":',
        '"\\u0000"',
        '"\\ud800"',
        '"\\udc00\\ud800"',
        '"\\ud83d\\ude00"',
        '"\\u12"',
        '"\\x41"',
        '"\\u\u0661\u0661\u0661\u0661"',
    ),
    *(
        "0",
        "-0",
        "01",
        "1.",
        ".5",
        "1e5",
        "1E+400",
        "-1e999",
        "1e-999",
        "1.5e",
        "--1",
        "+1",
        "0x1E",
        "1_000",
        "\u0661",
        "-",
    ),
    *(str(2**63), str(2**64 - 1), str(2**64), str(-(2**63)), str(-(2**63) - 1), "9" * 400, "0" * 30, "1" + "0" * 5000),
    *("NaN", "-NaN", "Infinity", "-Infinity", "true", "false", "null", "True", "nul", "undefined", "'a'"),
    *('{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"":0}', "[" * 33, "]" * 33, '{"a":' * 32, "}" * 32),
]

scalars: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.text("a\0\ud800\udc00\u00e9\u202e", max_size=6)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=4), inner), max_leaves=40
)


def outcome(raw: bytes) -> tuple[int, Any]:
    try:
        return 200, load_object(raw)
    except InvalidInput as error:
        return error.answer_status, None


def agree(raw: bytes) -> None:
    assert repr(outcome(raw)) == repr(judge(raw))


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join))
@example('{"a":"\\u0000"}')
@example('{"a":' * 32 + "1" + "}" * 32)
@example('{"a":' * 33 + "1" + "}" * 33)
@example('{"a":"' + "[" * 100 + '"}')
@example('{"a":"\\"' + "[" * 100 + '"}')
@example('{"a":NaN}')
@example('{"a":18446744073709551616,"b":"\\u0000"}')
def test_fragments_are_judged_as_the_contract_says(text: str) -> None:
    agree(text.encode("utf-8", "surrogatepass"))


@given(st.dictionaries(st.text(max_size=4), values), st.booleans(), st.sampled_from([None, 1]))
def test_whole_objects_are_judged_as_the_contract_says(value: dict[str, Any], escape: bool, indent: int | None) -> None:
    agree(json.dumps(value, ensure_ascii=escape, indent=indent).encode("utf-8", "surrogatepass"))


@given(st.dictionaries(st.text(max_size=4), values), st.data())
def test_damaged_objects_are_judged_as_the_contract_says(value: dict[str, Any], data: st.DataObject) -> None:
    raw = json.dumps(value).encode()
    at = data.draw(st.integers(0, len(raw)))
    agree(raw[:at] + data.draw(st.binary(max_size=3)) + raw[at + data.draw(st.integers(0, 3)) :])


@given(st.binary(max_size=64))
def test_noise_is_judged_as_the_contract_says(raw: bytes) -> None:
    agree(raw)


@pytest.mark.parametrize(
    ("body", "status", "details"),
    [
        ('{"ttl_seconds":NaN}', 400, "ttl_seconds must be a finite number"),
        ('{"ttl_seconds":-Infinity}', 400, "ttl_seconds must be a finite number"),
        ('{"ttl_seconds":1e999}', 400, "ttl_seconds must be a finite number"),
        ('{"acl":{"acquire":[1,{"x":1e999}]}}', 400, "acl must be a finite number"),
        ('{"candidate_id":"a\\u0000b"}', 400, "candidate_id holds the character NUL"),
        ('{"candidate_id":"\\ud800"}', 400, "candidate_id holds half of a surrogate pair"),
        ('{"unknown":["\\udfff"]}', 400, "unknown holds half of a surrogate pair"),
        ('{"a\\u0000":1}', 400, "a field of body holds the character NUL"),
        ('{"candidate_id":"a","candidate_id":"b"}', 400, "candidate_id appears twice"),
        ('{"a b":1,"a b":2}', 400, "a field of body appears twice"),
        ('{"ttl_seconds":18446744073709551616}', 422, "ttl_seconds must be an integer within 64 bits"),
        ('{"ttl_seconds":' + "9" * 400 + "}", 422, "ttl_seconds must be an integer within 64 bits"),
        ("[]", 422, "body must be a JSON object"),
        ('"x"', 422, "body must be a JSON object"),
        ("null", 422, "body must be a JSON object"),
        ('{"a":1} x', 400, "body is not valid JSON: it breaks at character 8"),
        ('{"a":1,}', 400, "body is not valid JSON: it breaks at character 7"),
        ("\ufeff{}", 400, "body is not valid JSON: it breaks at character 0"),
        ('{"a":' * 33 + "1" + "}" * 33, 400, "body is nested deeper than 32"),
        ("[" * 10_000, 400, "body is nested deeper than 32"),
    ],
)
def test_the_field_is_named(body: str, status: int, details: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        load_object(body.encode())
    assert (refused.value.answer_status, refused.value.details) == (status, details)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1"])
def test_other_encodings_are_refused(encoding: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        load_object('{"metadata":"é"}'.encode(encoding))
    assert refused.value.answer_status == 400
