"""What every endpoint behind a key does alike: who is let in, in which order it looks, what it takes for a name."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar
from urllib.parse import unquote_to_bytes
from uuid import uuid4

import httpx
import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from octostore.live import admission
from octostore.teams import keys
from octostore.teams.models import ApiKey, Team
from tests.elections.bad_input import Fault, bodies, refused
from tests.elections.rooms import told
from tests.locks.cast import ACT, UNKNOWN_LEASE, Worker, found_team, issue

# Which keys do not include a scope.
TOO_SMALL = {
    "read": ["webhooks"],
    "locks": ["read", "webhooks"],
    "webhooks": ["read", "locks"],
    "admin": ["read", "locks", "webhooks"],
}

# Names before percent-decoding that are none.
NO_NAMES = {
    "empty": "",
    "slash first": "%2Fa",
    "slash last": "a%2F",
    "bare slash last": "a/",
    "empty part": "a%2F%2Fb",
    "dot": ".",
    "dots": "a/../b",
    "dots last": "a%2F..",
    "65 bytes in a part": "a" * 65,
    "65 bytes in a part of two-byte letters": "%C3%A9" * 32 + "a",
    "257 bytes": "/".join(["a" * 64] * 3 + ["a" * 60, "b"]),
    "huge": "a" * 20_000,
    "space": "a%20b",
    "NUL": "a%00",
    "line end": "a%0A",
    "percent": "a%25",
    "plus": "a+b",
    "colon": "a:b",
    "star": "a*",
    "backslash": "a%5Cb",
    "markup": "%3Cscript%3E",
    "quote": "a%27--",
    "invalid UTF-8": "a%FF",
    "surrogate in UTF-8": "a%ED%A0%80",
    "zero-width joiner": "a%E2%80%8Db",
    "right-to-left override": "a%E2%80%AEb",
    "no-break space": "a%C2%A0b",
    "combining accent": "e%CC%81",
    "half": "%C2%BD",
    "emoji": "%F0%9F%98%80",
    "reserved": "acquire",
    "reserved last": "a%2Fhistory",
    "bare reserved last": "a/acl",
}

NO_LEASES = {
    "empty": '""',
    "no UUID": '"lease"',
    "without hyphens": json.dumps("0" * 32),
    "in braces": json.dumps("{" + UNKNOWN_LEASE + "}"),
    "space before": json.dumps(" " + UNKNOWN_LEASE),
    "line end after": json.dumps(UNKNOWN_LEASE + "\n"),
    "digits of Unicode": json.dumps(UNKNOWN_LEASE.replace("0", "\u0660")),
    "60,000 characters": json.dumps("0" * 60_000),
}
NO_TEXTS = {"number": "1", "true": "true", "list": '["a"]', "object": "{}"}
NO_LENGTHS = {"float": "30.0", "exponent": "3e1", "text": '"30"', "true": "true", "list": "[]", "2^64": str(2**64)}


class Ladder:
    """Takes its tests' endpoint from these; `{lock}` and `{session}` stand for a name and an id."""

    method: ClassVar[str] = "POST"
    path: ClassVar[str] = ""
    # The smallest that will do.
    scope: ClassVar[str] = "locks"
    # One that is taken; None where no body is read.
    body: ClassVar[dict[str, Any] | None] = None
    headers: ClassVar[dict[str, str]] = {}
    # Of `NO_NAMES`, those that make other addresses.
    elsewhere: ClassVar[set[str]] = set()

    def ask(self, client: httpx.Client, lock: str = "repo", **more: Any) -> httpx.Response:
        path = self.path.format(lock=lock, session=UNKNOWN_LEASE)
        sent = {} if self.body is None else {"json": self.body}
        headers = self.headers | more.pop("headers", {})
        return client.request(self.method, path, headers=headers, **(sent | more))

    @pytest.mark.parametrize("credential", [None, "", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "osk_x"])
    def test_no_key_is_401(self, nobody: Worker, credential: str | None) -> None:
        answer = self.ask(nobody, headers={} if credential is None else {"Authorization": credential})
        assert told(answer) == (401, "authentication_required")
        assert answer.headers["WWW-Authenticate"] == "Bearer"

    def test_a_wrong_key_is_401(self, team: Team) -> None:
        right, revoked, expired = issue(team), issue(team), issue(team)
        keys.revoke(team_id=team.id, visible=revoked.split("_")[1], act=ACT)
        an_hour_ago = timezone.now() - timedelta(hours=1)
        ApiKey.objects.filter(visible=expired.split("_")[1]).update(expires_at=an_hour_ago)
        for wrong in (
            "osk",
            "é" * 60,
            "osk_aaaaaaaaaaaa_" + "A" * 43,
            right[:-1] + ("B" if right[-1] == "A" else "A"),
            right[:-1],
            right + "A",
            right.swapcase(),
            revoked,
            expired,
        ):
            with Worker(None, HTTP_AUTHORIZATION=f"Bearer {wrong}") as one:
                answer = self.ask(one)
            assert told(answer) == (401, "authentication_failed"), wrong

    def test_wrong_keys_are_slowed_and_right_ones_are_not(self, team: Team, settings: Settings) -> None:
        settings.WRONG_KEYS_PER_MINUTE = 2
        admission.wrong_keys.forget_all()
        right = issue(team, "admin")
        with Worker(right) as known, Worker(right[:-2] + "!!") as guesser:
            assert self.ask(known).status_code != 401
            assert [told(self.ask(guesser))[0] for _ in range(2)] == [401, 401]
            answer = self.ask(guesser)
            assert told(answer) == (429, "rate_limited")
            assert int(answer.headers["Retry-After"]) > 0
            assert self.ask(known).status_code not in {401, 429}
        admission.wrong_keys.forget_all()

    def test_too_small_a_scope_is_403(self, team: Team) -> None:
        for scope in TOO_SMALL[self.scope]:
            with Worker(issue(team, scope)) as one:
                assert told(self.ask(one)) == (403, "forbidden"), scope
        with Worker(issue(team, self.scope)) as one:
            assert self.ask(one).status_code not in {401, 403}

    def test_a_name_outside_the_keys_prefix_is_403(self, team: Team) -> None:
        if "{lock}" not in self.path:
            return
        with Worker(issue(team, "admin", prefix="repo/")) as one:
            for lock in ("other", "repo", "Repo/a", "repository/a", "a%2Frepo/a"):
                assert told(self.ask(one, lock)) == (403, "forbidden"), lock
            answer = self.ask(one, "repo/a")
            assert answer.status_code != 403, answer.text

    def test_what_is_no_name_is_refused_before_anything_else(self) -> None:
        """No database: the first statement would fail."""
        if "{lock}" not in self.path:
            return
        for label, raw in NO_NAMES.items():
            path = unquote_to_bytes(self.path.format(lock=raw)).decode("latin-1")
            with Worker(None, PATH_INFO=path) as one:
                send = partial(one.request, self.method, "/", content=b"{")
                if label in self.elsewhere:
                    assert send().status_code in {401, 404, 405}, label
                else:
                    refused(send, 400, "a lock's name has", "invalid_lock_name")

    def test_a_broken_body_is_refused_before_the_key_is_looked_at(self) -> None:
        if self.body is None:
            return
        with Worker(None) as one:
            for parameter in bodies(self.body):
                bad: Fault = parameter.values[0]
                send = partial(self.ask, one, json=None, content=bad.raw, headers=bad.headers)
                refused(send, bad.status, bad.names)

    def refuses(self, client: Worker, lock: str, faults: dict[str, tuple[str, int, str]], field: str) -> None:
        """Assert that each JSON text in place of the field's value is refused as it says, naming the field."""
        assert self.body is not None
        for label, (text, status, code) in faults.items():
            others = {name: value for name, value in self.body.items() if name != field}
            raw = json.dumps(others | {field: "VALUE"}).replace('"VALUE"', text)
            headers = {"Content-Type": "application/json"}
            answer = self.ask(client, lock, json=None, content=raw.encode(), headers=headers)
            assert told(answer) == (status, code), (label, answer.text)
            assert field in answer.json()["details"], (label, answer.text)


def misfits(values: dict[str, str]) -> dict[str, tuple[str, int, str]]:
    return {label: (text, 422, "invalid_input") for label, text in values.items()}


def broken(values: dict[str, str], code: str = "invalid_input") -> dict[str, tuple[str, int, str]]:
    return {label: (text, 400, code) for label, text in values.items()}


def foreign(team: Team | None = None) -> Worker:
    """An admin of a team of its own."""
    return Worker(issue(team or found_team(f"foreign-{uuid4().hex[:8]}"), "admin"))
