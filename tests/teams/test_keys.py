"""API keys: found by what is visible, proved by what is secret, over when they should be."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from octostore.lib.errors import AuthenticationFailed, InvalidInput, NotFound, Unavailable
from octostore.teams import keys, last_use
from octostore.teams.models import ApiKey, AuditEntry, Team
from octostore.teams.principals import SCOPES, Principal, Scope
from tests.leases.threads import together
from tests.teams.cast import ACT, entries, found_team


def issue(team: Team, *scopes: str, **more: object) -> keys.Issued:
    return keys.create(team=team, name="ci", scopes=scopes or ["locks"], act=ACT, **more)  # type: ignore[arg-type]


def is_refused(text: str) -> bool:
    try:
        keys.find(text)
    except AuthenticationFailed:
        return True
    return False


def terminate(backend: int) -> None:
    """Let the server end one of its sessions."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [backend])


class TestCreated:
    def test_text_has_a_visible_and_a_secret_part(self, team: Team) -> None:
        issued = issue(team)
        found = re.fullmatch(r"osk_([a-z0-9]{12})_([A-Za-z0-9_-]{43})", issued.text)
        assert found
        assert issued.key.visible == found[1]

    def test_what_is_stored_and_shown_holds_no_secret(self, team: Team) -> None:
        issued = issue(team)
        secret = issued.text[-43:]
        with connection.cursor() as cursor:
            for table in (ApiKey._meta.db_table, AuditEntry._meta.db_table):
                cursor.execute(f"SELECT * FROM {table}")
                assert secret not in repr(cursor.fetchall())
        assert secret not in repr(issued) + str(issued.key) + repr(issued.key)

    def test_creation_is_audited(self, team: Team) -> None:
        issued = issue(team, "locks", "read", prefix="repo/")
        assert entries(team) == [("system", "key_created", f"key:{issued.key.visible}")]
        assert AuditEntry.objects.get().after == {
            "name": "ci",
            "scopes": ["locks", "read"],
            "prefix": "repo/",
            "expires_at": None,
        }

    @pytest.mark.parametrize(
        ("field", "wrong"),
        [
            ("name", ""),
            ("name", "a b"),
            ("name", "a\n"),
            ("name", "a" * 65),
            ("scopes", []),
            ("scopes", ["everything"]),
            ("scopes", ["locks", ""]),
            ("prefix", ""),
            ("prefix", "/repo"),
            ("prefix", "a\nb"),
            ("prefix", "a\0"),
            ("prefix", "\ud800"),
            ("prefix", "a" * 257),
            ("expires_at", timezone.now() - timedelta(seconds=1)),
        ],
    )
    def test_a_bad_field_is_named_and_nothing_is_stored(self, team: Team, field: str, wrong: object) -> None:
        asked: dict[str, object] = {"name": "ci", "scopes": ["locks"]} | {field: wrong}
        with pytest.raises(InvalidInput, match=field):
            keys.create(team=team, act=ACT, **asked)  # type: ignore[arg-type]
        assert not ApiKey.objects.exists()
        assert entries(team) == []


class TestFound:
    def test_principal_knows_team_and_rights(self, team: Team) -> None:
        issued = issue(team, "read", "locks", prefix="repo/")
        assert keys.find(issued.text) == Principal(
            team_id=team.id,
            team_uuid=str(team.uuid),
            key_id=issued.key.id,
            rotation=0,
            visible=issued.key.visible,
            key_name="ci",
            scopes=frozenset({"read", "locks"}),
            prefix="repo/",
        )

    def test_look_up_is_one_query(self, team: Team, django_assert_num_queries: object) -> None:
        issued = issue(team)
        with django_assert_num_queries(1):  # type: ignore[operator]
            keys.find(issued.text)

    def test_malformed_key_is_refused_without_a_query(self, team: Team, django_assert_num_queries: object) -> None:
        text = issue(team).text
        malformed = ["", "osk_", text[:-1], text + "a", text.upper(), f" {text}", text.replace("osk", "OSK"), "é" * 60]
        with django_assert_num_queries(0):  # type: ignore[operator]
            assert all(is_refused(one) for one in [*malformed, "\ud800", "\0" * 60, "a" * 1_000_000])

    def test_wrong_secret_is_refused_like_an_unknown_key(self, team: Team) -> None:
        text = issue(team).text
        other = "A" if text[-1] != "A" else "B"
        assert is_refused(text[:-1] + other)
        assert is_refused(f"osk_{'a' * 12}_{text[-43:]}")

    def test_secret_of_another_key_is_refused(self, team: Team) -> None:
        one, other = issue(team).text, issue(team).text
        assert is_refused(one[:17] + other[17:])

    def test_expired_key_is_refused(self, team: Team) -> None:
        issued = issue(team, expires_at=keys.lasting(timedelta(hours=1)))
        assert not is_refused(issued.text)
        ApiKey.objects.update(expires_at=timezone.now())
        assert is_refused(issued.text)

    @pytest.mark.only("postgresql")
    def test_connection_that_was_lost_is_replaced(self, team: Team) -> None:
        text = issue(team).text
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            (backend,) = cursor.fetchone()
        together(1, lambda _: terminate(backend))
        assert not is_refused(text)

    def test_storage_that_is_down_is_unavailable_and_not_a_wrong_key(
        self, team: Team, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def down(_: str) -> None:
            raise OperationalError("connection refused")

        text = issue(team).text
        monkeypatch.setattr(keys, "_look_up", down)
        with pytest.raises(Unavailable):
            keys.find(text)


class TestScopes:
    @pytest.mark.parametrize(
        ("held", "included"),
        [
            ("read", {"read"}),
            ("locks", {"read", "locks"}),
            ("webhooks", {"webhooks"}),
            ("admin", {"read", "locks", "webhooks", "admin"}),
        ],
    )
    def test_a_scope_includes(self, team: Team, held: str, included: set[Scope]) -> None:
        principal = keys.find(issue(team, held).text)
        assert {scope for scope in SCOPES if principal.may(scope)} == included

    def test_prefix_covers_what_begins_with_it(self, team: Team) -> None:
        principal = keys.find(issue(team, prefix="repo/").text)
        assert [name for name in ("repo/a", "repo/a/b", "repo", "Repo/a", "a/repo/") if principal.covers(name)] == [
            "repo/a",
            "repo/a/b",
        ]
        assert keys.find(issue(team).text).covers("anything")


class TestRotated:
    def test_new_secret_works_and_the_old_one_is_dead(self, team: Team) -> None:
        issued = issue(team, "locks", prefix="repo/")
        text = keys.rotate(team_id=team.id, visible=issued.key.visible, act=ACT)
        assert is_refused(issued.text)
        principal = keys.find(text)
        assert (principal.visible, principal.prefix, principal.rotation) == (issued.key.visible, "repo/", 1)
        assert entries(team)[-1] == ("system", "key_rotated", f"key:{issued.key.visible}")

    def test_one_of_many_rotations_of_one_secret_succeeds(self, team: Team) -> None:
        issued = issue(team)

        def rotate(_: int) -> str | None:
            try:
                return keys.rotate(team_id=team.id, visible=issued.key.visible, rotation=0, act=ACT)
            except NotFound:
                return None

        (text,) = [text for text in together(8, rotate) if text]
        assert keys.find(text).rotation == 1
        assert [action for _, action, _ in entries(team)].count("key_rotated") == 1

    def test_another_teams_key_is_not_found(self, team: Team) -> None:
        issued = issue(found_team())
        with pytest.raises(NotFound):
            keys.rotate(team_id=team.id, visible=issued.key.visible, act=ACT)
        assert not is_refused(issued.text)


class TestRevoked:
    def test_revoked_key_is_refused_and_stays_so(self, team: Team) -> None:
        issued = issue(team)
        keys.revoke(team_id=team.id, visible=issued.key.visible, act=ACT)
        assert is_refused(issued.text)
        with pytest.raises(NotFound):
            keys.rotate(team_id=team.id, visible=issued.key.visible, act=ACT)

    def test_revoking_again_is_harmless(self, team: Team) -> None:
        issued = issue(team)
        for _ in range(2):
            keys.revoke(team_id=team.id, visible=issued.key.visible, act=ACT)
        assert [action for _, action, _ in entries(team)] == ["key_created", "key_revoked"]

    def test_another_teams_key_is_not_found(self, team: Team) -> None:
        issued = issue(found_team())
        with pytest.raises(NotFound):
            keys.revoke(team_id=team.id, visible=issued.key.visible, act=ACT)
        assert not is_refused(issued.text)


class TestLastUse:
    def test_use_is_written_behind_the_request(self, team: Team) -> None:
        issued = issue(team)
        keys.find(issued.text)
        last_use.flush()
        issued.key.refresh_from_db()
        assert issued.key.last_used_at is not None
        assert timezone.now() - issued.key.last_used_at < timedelta(seconds=30)

    def test_refused_key_was_not_used(self, team: Team) -> None:
        issued = issue(team)
        is_refused(issued.text[:-1] + ("A" if issued.text[-1] != "A" else "B"))
        last_use.flush()
        issued.key.refresh_from_db()
        assert issued.key.last_used_at is None

    def test_it_is_written_at_most_once_a_minute(self, team: Team) -> None:
        issued = issue(team)
        a_moment_ago = timezone.now() - timedelta(seconds=50)
        ApiKey.objects.update(last_used_at=a_moment_ago)
        keys.find(issued.text)
        last_use.flush()
        # As a process would that had noted the key before another wrote.
        last_use.write([issued.key.id])
        issued.key.refresh_from_db()
        assert issued.key.last_used_at == a_moment_ago

    def test_what_cannot_be_written_is_lost_and_nothing_fails(
        self, team: Team, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        issued = issue(team)
        with monkeypatch.context() as broken:
            broken.setattr(ApiKey._meta, "db_table", "no_such_table")
            last_use.write([issued.key.id])
        issued.key.refresh_from_db()
        assert issued.key.last_used_at is None
