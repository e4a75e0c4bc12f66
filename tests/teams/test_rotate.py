"""POST /auth/token/rotate"""

from __future__ import annotations

import re

import pytest

from octostore.teams.models import AuditEntry, Team
from tests.elections.rooms import told
from tests.leases.threads import together
from tests.locks.cast import Worker, issue
from tests.teams.cast import entries

PATH = "/auth/token/rotate"


class TestRotate:
    def test_answer_has_the_new_key_and_the_teams_pseudonym(self, team: Team) -> None:
        key = issue(team, name="ci", prefix="repo/")
        with Worker(key) as worker:
            answer = worker.post(PATH)
        assert answer.status_code == 200
        body = answer.json()
        assert re.fullmatch(rf"{key[:17]}[A-Za-z0-9_-]{{43}}", body.pop("token"))
        assert body == {"user_id": str(team.uuid), "github_username": "ci", "namespace": "repo/"}
        assert answer.headers["Cache-Control"] == "no-store"

    def test_the_old_key_is_dead_at_once_and_the_new_one_lives(self, team: Team) -> None:
        key = issue(team)
        with Worker(key) as worker:
            body = worker.post(PATH).json()
            assert body["namespace"] is None
            assert told(worker.post(PATH)) == (401, "authentication_failed")
            assert told(worker.get("/usage")) == (401, "authentication_failed")
        with Worker(body["token"]) as worker:
            assert worker.get("/usage").status_code == 200

    @pytest.mark.parametrize("scope", ["read", "locks", "webhooks", "admin"])
    def test_every_key_may_rotate_itself(self, team: Team, scope: str) -> None:
        with Worker(issue(team, scope)) as worker:
            assert worker.post(PATH).status_code == 200

    def test_as_the_public_client_sends_it(self, team: Team) -> None:
        with Worker(issue(team)) as worker:
            assert worker.post(PATH, headers={"Content-Type": "application/json"}).status_code == 200

    def test_it_is_audited_with_the_request(self, team: Team) -> None:
        key = issue(team)
        with Worker(key) as worker:
            answer = worker.post(PATH)
        assert entries(team)[-1] == (f"key:{key[4:16]}", "key_rotated", f"key:{key[4:16]}")
        assert AuditEntry.objects.order_by("id")[1].request_id == answer.headers["X-Request-Id"]

    def test_one_of_many_at_once_succeeds(self, team: Team) -> None:
        key = issue(team)

        def rotate(_: int) -> int:
            with Worker(key) as worker:
                return worker.post(PATH).status_code

        assert sorted(together(6, rotate)) == [200, 401, 401, 401, 401, 401]


@pytest.mark.usefixtures("database")
class TestRefused:
    def test_no_key_is_401(self) -> None:
        with Worker(None) as worker:
            assert told(worker.post(PATH)) == (401, "authentication_required")

    def test_body_is_judged_before_the_key(self, team: Team) -> None:
        with Worker(None) as worker:
            assert told(worker.post(PATH, content=b"{", headers={"Content-Type": "application/json"})) == (
                400,
                "invalid_input",
            )

    def test_broken_body_rotates_nothing(self, team: Team) -> None:
        with Worker(issue(team)) as worker:
            assert told(worker.post(PATH, content=b"[]", headers={"Content-Type": "application/json"}))[0] == 422
            assert worker.get("/usage").status_code == 200
