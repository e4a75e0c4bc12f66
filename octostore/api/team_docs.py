"""What the OpenAPI document says of a team's own endpoints, and the shapes they answer."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from octostore.api.schema import BODY_ERRORS, KEY_ERRORS, KEY_SECURITY, Answer, document
from octostore.lib.errors import Forbidden

TAG = "Teams"


class RotatedOutput(Struct, kw_only=True):
    """The names of the public OctoStore: a user is a team there, and a key is called after its GitHub user."""

    secret: Annotated[str, Meta(description="The key from now on; shown this once")] = msgspec.field(name="token")
    user_id: Annotated[str, Meta(extra_json_schema={"description": "The team's pseudonym", "format": "uuid"})]
    github_username: Annotated[str, Meta(description="The key's name")]
    namespace: Annotated[str | None, Meta(description="What every lock's name must begin with; null for any name")]


class Usage(Struct, kw_only=True):
    """How much of a limit is used."""

    used: Annotated[int, Meta(ge=0)]
    cap: Annotated[int, Meta(ge=0)]


class UsageOutput(Struct, kw_only=True):
    """Streams and waits are those of the process that answers, as their limits are."""

    locks: Usage
    sessions: Usage
    streams: Usage
    waits: Usage


class RotateKeyInput(Struct, kw_only=True):
    """Nothing is asked for; a body is not needed."""


rotate = document(
    operation_id="rotate_key",
    tag=TAG,
    summary="Give the key a new secret",
    description=(
        "The secret that was sent is dead from this instant, and streams and waits that were begun with it end within "
        "15 s. When the answer is lost so is the key: an admin of the team then creates another."
    ),
    body=RotateKeyInput,
    body_examples={"Empty": {}},
    security=KEY_SECURITY,
    answers={
        200: Answer(
            description="The new key",
            shape=RotatedOutput,
            examples={
                "Rotated": RotatedOutput(
                    secret="osk_k3v9x2m7q1ab_" + "Zk3v" * 10 + "Zk3",
                    user_id="7a1f4a52-55f5-4f0d-9d3c-0f5b8f1d2c3e",
                    github_username="ci",
                    namespace=None,
                )
            },
        )
    },
    errors=[*BODY_ERRORS, *(error for error in KEY_ERRORS if not isinstance(error, Forbidden))],
)

usage = document(
    operation_id="usage",
    tag=TAG,
    summary="Read how much of the team's limits is used",
    description="What is beyond a limit is refused: locks with `lock_limit_exceeded`, the others with `rate_limited`.",
    security=KEY_SECURITY,
    answers={
        200: Answer(
            description="Used and allowed",
            shape=UsageOutput,
            examples={
                "Usage": UsageOutput(
                    locks=Usage(used=42, cap=100),
                    sessions=Usage(used=8, cap=1000),
                    streams=Usage(used=3, cap=100),
                    waits=Usage(used=0, cap=100),
                )
            },
        )
    },
    errors=KEY_ERRORS,
)
