"""What operators type, and what scripts read of it."""

from __future__ import annotations

import io
import re
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import resolve
from django.utils import timezone

from octostore.lib.errors import AuthenticationFailed
from octostore.teams import invitations, keys, limits
from octostore.teams.models import ApiKey, AuditEntry, Role, Team
from tests.teams.cast import entries, person


def run(*arguments: str) -> list[str]:
    """The lines the command prints."""
    printed = io.StringIO()
    call_command(*arguments, stdout=printed)
    return printed.getvalue().splitlines()


@pytest.mark.usefixtures("database")
class TestCreateTeam:
    def test_last_line_is_its_id(self) -> None:
        assert run("create_team", "acme")[-1] == str(Team.objects.get(slug="acme").uuid)

    def test_owner_is_named_by_address(self) -> None:
        user = person("ann")
        run("create_team", "acme", "--owner", "Ann@Example.org")
        assert user.memberships.get().role == Role.OWNER

    @pytest.mark.parametrize("arguments", [["ACME"], ["acme", "--owner", "nobody@example.org"]])
    def test_refusal_is_a_sentence_and_leaves_nothing(self, arguments: list[str]) -> None:
        with pytest.raises(CommandError):
            run("create_team", *arguments)
        assert not Team.objects.exists()

    def test_taken_slug_is_refused(self) -> None:
        run("create_team", "acme")
        with pytest.raises(CommandError, match="already"):
            run("create_team", "acme")


class TestCreateKey:
    def test_last_line_is_the_key_alone(self, team: Team) -> None:
        text = run("create_key", "--team", team.slug, "--name", "ci")[-1]
        principal = keys.find(text)
        assert (principal.team_id, principal.key_name, principal.prefix) == (team.id, "ci", None)
        assert principal.scopes == {"read", "locks", "webhooks"}
        assert entries(team) == [("system", "key_created", f"key:{principal.visible}")]

    def test_scopes_prefix_and_expiry_are_taken(self, team: Team) -> None:
        arguments = ["--scope", "locks", "read", "--scope", "admin", "--prefix", "repo/", "--expires", "90d"]
        principal = keys.find(run("create_key", "--team", team.slug, "--name", "ci", *arguments)[-1])
        assert principal.scopes == {"locks", "read", "admin"}
        assert principal.prefix == "repo/"
        expires_at = ApiKey.objects.get().expires_at
        assert expires_at is not None
        assert abs(expires_at - timezone.now() - timedelta(days=90)) < timedelta(minutes=1)

    @pytest.mark.parametrize(
        ("length", "meant"),
        [
            ("90d", timedelta(days=90)),
            ("12h", timedelta(hours=12)),
            ("30m", timedelta(minutes=30)),
            ("45s", timedelta(seconds=45)),
            ("2w", timedelta(weeks=2)),
        ],
    )
    def test_lengths_are_read(self, team: Team, length: str, meant: timedelta) -> None:
        run("create_key", "--team", team.slug, "--name", "ci", "--expires", length)
        expires_at = ApiKey.objects.get().expires_at
        assert expires_at is not None
        assert abs(expires_at - timezone.now() - meant) < timedelta(seconds=30)

    @pytest.mark.parametrize(
        "arguments",
        [
            ["--name", "a b"],
            ["--name", "ci", "--scope", "everything"],
            ["--name", "ci", "--prefix", "/a"],
            *(["--name", "ci", "--expires", length] for length in ("90", "d", "0d", "-1d", "1.5d", "9999999d", "1y")),
        ],
    )
    def test_bad_argument_is_refused_and_leaves_nothing(self, team: Team, arguments: list[str]) -> None:
        with pytest.raises(CommandError):
            run("create_key", "--team", team.slug, *arguments)
        assert not ApiKey.objects.exists()

    def test_unknown_team_is_refused(self, database: str) -> None:
        with pytest.raises(CommandError, match="no such team"):
            run("create_key", "--team", "nobody", "--name", "ci")


class TestRevokeKey:
    def test_by_name_with_a_reason(self, team: Team) -> None:
        text = run("create_key", "--team", team.slug, "--name", "ci")[-1]
        run("revoke_key", "--team", team.slug, "--name", "ci", "--reason", "leaked")
        with pytest.raises(AuthenticationFailed):
            keys.find(text)
        assert AuditEntry.objects.order_by("id").last().reason == "leaked"  # type: ignore[union-attr]

    def test_name_of_several_keys_must_be_told_apart(self, team: Team) -> None:
        texts = [run("create_key", "--team", team.slug, "--name", "ci")[-1] for _ in range(2)]
        with pytest.raises(CommandError, match=texts[0].split("_")[1]):
            run("revoke_key", "--team", team.slug, "--name", "ci")
        run("revoke_key", "--team", team.slug, "--key", texts[0].split("_")[1])
        with pytest.raises(AuthenticationFailed):
            keys.find(texts[0])
        assert keys.find(texts[1])

    @pytest.mark.parametrize("which", [["--name", "ci"], ["--key", "a" * 12]])
    def test_unknown_key_is_refused(self, team: Team, which: list[str]) -> None:
        with pytest.raises(CommandError):
            run("revoke_key", "--team", team.slug, *which)


class TestSetQuota:
    def test_prints_the_limits_there_are_then(self, team: Team) -> None:
        arguments = ["set_quota", "--team", team.slug]
        assert run(*arguments, "--locks", "5")[-1] == "locks=5 sessions=1000 streams=100 waits=100"
        assert (
            run(*arguments, "--locks", "default", "--waits", "0")[-1] == "locks=100 sessions=1000 streams=100 waits=0"
        )
        assert limits.of(team.id).waits == 0

    @pytest.mark.parametrize("arguments", [[], ["--locks", "x"], ["--locks", "-1"], ["--locks", "9999999"]])
    def test_bad_argument_is_refused(self, team: Team, arguments: list[str]) -> None:
        with pytest.raises(CommandError):
            run("set_quota", "--team", team.slug, *arguments)
        assert entries(team) == []


class TestInvite:
    def test_last_line_is_the_path_of_the_link(self, team: Team) -> None:
        link = run("invite", "--team", team.slug, "--email", "Ann@Example.org", "--role", "owner")[-1]
        path, _, proof = link.partition("?mailed=")
        assert resolve(path).url_name == "invitation"
        text = resolve(path).kwargs["text"]
        assert invitations.is_mailed(text, proof)
        invitation = invitations.find(text)
        assert (invitation.team, invitation.email, invitation.role) == (team, "ann@example.org", Role.OWNER)

    @pytest.mark.parametrize("arguments", [["--email", "x"], ["--email", "a@example.org", "--role", "god"]])
    def test_bad_argument_is_refused(self, team: Team, arguments: list[str]) -> None:
        with pytest.raises(CommandError):
            run("invite", "--team", team.slug, *arguments)
        assert entries(team) == []


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("create_team", "create_key", "revoke_key", "set_quota", "invite"):
        with pytest.raises(SystemExit):
            call_command(command, "--help")
        assert re.search(r"usage: .* " + command, capsys.readouterr().out)
