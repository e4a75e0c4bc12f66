"""Who is let in, who is slowed down, and that neither costs the others anything."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from octostore.api import authentication
from octostore.live import admission
from octostore.teams.models import Team
from tests.elections.rooms import told
from tests.locks.cast import Worker, issue

WRONG = f"osk_{'a' * 12}_{'b' * 43}"
SOMEWHERE, ELSEWHERE = "203.0.113.7", "203.0.113.8"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    authentication._proven.clear()
    admission.wrong_keys.forget_all()
    yield
    admission.wrong_keys.forget_all()


def ask(key: str | None, client: str = SOMEWHERE, **headers: str) -> tuple[int, str]:
    with Worker(key, REMOTE_ADDR=client) as worker:
        answer = worker.get("/usage", headers=headers)
        return (200, "") if answer.status_code == 200 else told(answer)


@pytest.mark.usefixtures("database")
class TestWithoutAKey:
    @pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic b3Njazo=", "osk_", "Token osk_x"])
    def test_no_usable_credential_is_required(self, header: str) -> None:
        assert ask(None, **({"Authorization": header} if header else {})) == (401, "authentication_required")

    @pytest.mark.parametrize("text", ["x", WRONG, f"{WRONG} {WRONG}", f"{WRONG}, {WRONG}", "osk_é", "x" * 20_000])
    def test_wrong_key_is_failed(self, text: str) -> None:
        with Worker(None, HTTP_AUTHORIZATION=f"Bearer {text}") as worker:
            assert told(worker.get("/usage")) == (401, "authentication_failed")

    def test_answer_says_how_to_authenticate(self) -> None:
        with Worker(None) as worker:
            assert worker.get("/usage").headers["WWW-Authenticate"] == "Bearer"


class TestWithAKey:
    @pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
    def test_the_scheme_is_read_in_any_case(self, team: Team, scheme: str) -> None:
        assert ask(None, Authorization=f"{scheme} {issue(team)}") == (200, "")

    def test_too_small_a_scope_is_forbidden(self, team: Team) -> None:
        assert ask(issue(team, "webhooks")) == (403, "forbidden")


class TestGuessing:
    @pytest.fixture(autouse=True)
    def few(self, settings: Settings) -> None:
        settings.WRONG_KEYS_PER_MINUTE = 3

    def test_wrong_keys_are_slowed_before_any_look_up(self, database: str) -> None:
        answers = [ask(WRONG) for _ in range(3)]
        assert answers == [(401, "authentication_failed")] * 3
        with CaptureQueriesContext(connection) as queries:
            assert ask(WRONG) == (429, "rate_limited")
        assert len(queries) == 0

    def test_malformed_keys_count_too(self, database: str) -> None:
        assert [ask("guess") for _ in range(4)][-1] == (429, "rate_limited")

    def test_missing_keys_do_not_count(self, team: Team) -> None:
        for _ in range(5):
            ask(None)
        assert ask(WRONG) == (401, "authentication_failed")

    def test_other_clients_are_not_slowed(self, team: Team) -> None:
        for _ in range(5):
            ask(WRONG)
        assert ask(issue(team), ELSEWHERE) == (200, "")

    def test_right_key_is_not_limited(self, team: Team) -> None:
        key = issue(team)
        assert {ask(key) for _ in range(10)} == {(200, "")}

    def test_key_that_was_right_before_goes_on_beside_one_who_guesses(self, team: Team) -> None:
        known, new = issue(team), issue(team)
        ask(known)
        for _ in range(5):
            ask(WRONG)
        assert ask(known) == (200, "")
        # A guess could be right as well as this one is.
        assert ask(new) == (429, "rate_limited")
