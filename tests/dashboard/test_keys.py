"""Keys on a page: shown whole once, replaced with time to change over, ended with a word of warning."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from octostore.lib.errors import AuthenticationFailed
from octostore.teams import keys
from octostore.teams.models import ApiKey, AuditEntry, Team
from tests.dashboard.cast import Person, errors_in, rows, seen, text_of
from tests.leases.threads import together
from tests.teams.cast import ACT, entries, found_team


@pytest.fixture
def issued(team: Team) -> keys.Issued:
    return keys.create(team=team, name="ci", scopes=["locks", "read"], prefix="repo/", act=ACT)


def path(team: Team, rest: str = "") -> str:
    return f"/t/{team.slug}/keys{rest}"


def key_on(page: Any) -> str:
    [text] = re.findall(r"osk_[a-z0-9]{12}_[A-Za-z0-9_-]{43}", text_of(page))
    return str(text)


def is_over(text: str) -> bool:
    try:
        keys.find(text)
    except AuthenticationFailed:
        return True
    return False


class TestListing:
    def test_says_what_may_be_known_of_a_key(self, viewer: Person, team: Team, issued: keys.Issued) -> None:
        [row] = rows(viewer.get(path(team)))
        for part in ("ci", f"osk_{issued.key.visible}…", "locks, read", "repo/", "system", "never", "Active"):
            assert part in row

    def test_last_use_is_told(self, viewer: Person, team: Team, issued: keys.Issued) -> None:
        ApiKey.objects.update(last_used_at=timezone.now() - timedelta(minutes=3))
        assert "3 min ago" in rows(viewer.get(path(team)))[0]

    def test_lists_are_apart(self, viewer: Person, team: Team, issued: keys.Issued) -> None:
        for name in ("revoked", "expired", "soon"):
            keys.create(team=team, name=name, scopes=["read"], act=ACT)
        now = timezone.now()
        ApiKey.objects.filter(name="revoked").update(revoked_at=now)
        ApiKey.objects.filter(name="expired").update(expires_at=now)
        ApiKey.objects.filter(name="soon").update(expires_at=now + timedelta(days=2))
        ApiKey.objects.filter(name="ci").update(created_at=now - timedelta(days=91))
        assert [row.split()[0] for row in rows(viewer.get(path(team)))] == ["soon", "ci"]
        assert [row.split()[0] for row in rows(viewer.get(path(team), {"show": "over"}))] == ["expired", "revoked"]
        assert [row.split()[0] for row in rows(viewer.get(path(team), {"show": "unused"}))] == ["ci"]
        assert "Expiring" in rows(viewer.get(path(team)))[0]

    def test_unknown_list_is_refused(self, viewer: Person, team: Team) -> None:
        assert viewer.get(path(team), {"show": "all' OR 1=1"}).status_code == 400

    def test_other_teams_keys_are_not_in_it(self, viewer: Person, team: Team) -> None:
        keys.create(team=found_team(), name="theirs", scopes=["read"], act=ACT)
        assert "theirs" not in text_of(viewer.get(path(team)))

    def test_hostile_text_is_text(self, viewer: Person, team: Team, issued: keys.Issued) -> None:
        ApiKey.objects.update(name="<script>alert(1)</script>", created_by="user:<b>x</b>", prefix='"><img>')
        page = viewer.get(path(team)).content.decode()
        assert "<script>alert" not in page
        assert "<b>x" not in page
        assert "><img>" not in page
        assert "&lt;script&gt;alert(1)" in page

    def test_many_cost_no_more_queries_than_one(
        self, viewer: Person, team: Team, issued: keys.Issued, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for number in range(20):
            keys.create(team=team, name=f"key-{number}", scopes=["read"], act=ACT)
        viewer.get(path(team))  # takes the greeting
        # Session, user, membership, keys.
        with django_assert_num_queries(4):
            viewer.get(path(team))


class TestMaking:
    def test_key_is_shown_whole_and_works(self, admin: Person, team: Team) -> None:
        page = admin.submit(path(team, "/new"), name="ci", scopes=["locks", "read"], locks="repo/", lasts="90")
        assert page.status_code == 200
        assert page["Cache-Control"] == "private, no-store"
        principal = keys.find(key_on(page))
        assert (principal.team_id, principal.key_name, principal.scopes, principal.prefix) == (
            team.id,
            "ci",
            frozenset({"locks", "read"}),
            "repo/",
        )
        expires_at = ApiKey.objects.get().expires_at
        assert expires_at is not None
        assert abs(expires_at - timezone.now() - timedelta(days=90)) < timedelta(minutes=1)

    def test_it_is_audited_with_who_and_which_request(self, admin: Person, team: Team) -> None:
        page = admin.submit(path(team, "/new"), name="ci", scopes=["read"], lasts="never")
        entry = AuditEntry.objects.get()
        assert (entry.team, entry.actor, entry.action) == (team, admin.member.actor, "key_created")
        assert entry.request_id == page["X-Request-Id"]

    def test_it_is_shown_nowhere_else(self, admin: Person, team: Team) -> None:
        text = key_on(admin.submit(path(team, "/new"), name="ci", scopes=["read"], lasts="30"))
        for rest in ("", "?show=over", f"/{text[4:16]}/rotate", f"/{text[4:16]}/revoke", "/new"):
            page = admin.get(path(team, rest))
            assert page.status_code == 200
            assert text[17:] not in text_of(page)
        assert text[17:] not in repr(admin.session.items())

    def test_reloading_the_page_makes_no_second_key_and_shows_none(self, admin: Person, team: Team) -> None:
        form = admin.get(path(team, "/new"))
        sent: dict[str, Any] = {"name": "ci", "scopes": ["read"], "lasts": "30"}
        text = key_on(admin.fill(form, path(team, "/new"), **sent))
        again = admin.fill(form, path(team, "/new"), follow=True, **sent)
        assert again.redirect_chain == [(path(team), 302)]
        assert text[17:] not in text_of(again)
        assert "shown only once" in seen(again)
        assert ApiKey.objects.count() == 1

    def test_pressing_twice_at_once_makes_one_key(self, admin: Person, team: Team) -> None:
        form = admin.get(path(team, "/new"))
        sent: dict[str, Any] = {"name": "ci", "scopes": ["read"], "lasts": "30"}
        answers = together(4, lambda _: admin.fill(form, path(team, "/new"), **sent))
        assert sorted(answer.status_code for answer in answers) == [200, 302, 302, 302]
        assert ApiKey.objects.count() == 1

    @pytest.mark.parametrize(
        ("days", "length"), [("30", timedelta(days=30)), ("365", timedelta(days=365)), ("never", None)]
    )
    def test_it_lasts_as_long_as_was_chosen(
        self, admin: Person, team: Team, days: str, length: timedelta | None
    ) -> None:
        admin.submit(path(team, "/new"), name="ci", scopes=["read"], lasts=days)
        expires_at = ApiKey.objects.get().expires_at
        if length is None:
            assert expires_at is None
        else:
            assert expires_at is not None
            assert abs(expires_at - timezone.now() - length) < timedelta(minutes=1)

    def test_it_lasts_through_a_day_of_ones_choice(self, admin: Person, team: Team) -> None:
        day = (timezone.now() + timedelta(days=3)).date()
        admin.submit(path(team, "/new"), name="ci", scopes=["read"], lasts="until", until=day.isoformat())
        expires_at = ApiKey.objects.get().expires_at
        assert expires_at is not None
        assert (expires_at.date() - day, expires_at.hour) == (timedelta(days=1), 0)

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ({"name": ""}, "Name"),
            ({"name": "a b"}, "Name"),
            ({"name": "x" * 65}, "Name"),
            ({"scopes": []}, "What it may do"),
            ({"scopes": ["god"]}, "What it may do"),
            ({"lasts": "1"}, "Expires"),
            ({"lasts": "until"}, "Last day"),
            ({"lasts": "until", "until": "2021-01-01"}, "Last day"),
            ({"lasts": "until", "until": "9999-12-31"}, "Last day"),
            ({"lasts": "until", "until": "soon"}, "Last day"),
            ({"locks": "/repo"}, ""),
            ({"locks": "x" * 300}, ""),
            ({"attempt": ""}, "Attempt"),
        ],
        ids=str,
    )
    def test_bad_field_is_named_and_values_are_kept(
        self, admin: Person, team: Team, wrong: dict[str, Any], field: str
    ) -> None:
        given = {"name": "ci", "scopes": ["read"], "locks": "kept/", "lasts": "365"} | wrong
        page = admin.submit(path(team, "/new"), **given)
        assert page.status_code == 422
        [complaint] = errors_in(page)
        assert complaint.startswith(field)
        assert str(given["locks"])[:5] in text_of(page)
        assert not ApiKey.objects.exists()
        assert entries(team) == []

    def test_looking_at_the_form_makes_nothing(self, admin: Person, team: Team) -> None:
        admin.get(path(team, "/new"), {"name": "ci", "scopes": "read", "lasts": "30"})
        assert not ApiKey.objects.exists()


class TestRotating:
    def test_new_key_works_beside_the_old_one(self, admin: Person, team: Team, issued: keys.Issued) -> None:
        page = admin.submit(path(team, f"/{issued.key.visible}/rotate"), ends_in="3600")
        text = key_on(page)
        assert text != issued.text
        assert (is_over(text), is_over(issued.text)) == (False, False)
        assert keys.find(text).prefix == "repo/"
        old = ApiKey.objects.get(visible=issued.key.visible)
        assert old.expires_at is not None
        assert abs(old.expires_at - timezone.now() - timedelta(hours=1)) < timedelta(minutes=1)

    def test_old_key_ends_now_where_that_is_chosen(self, admin: Person, team: Team, issued: keys.Issued) -> None:
        text = key_on(admin.submit(path(team, f"/{issued.key.visible}/rotate"), ends_in="0"))
        assert (is_over(text), is_over(issued.text)) == (False, True)

    def test_reloading_makes_no_third_key(self, admin: Person, team: Team, issued: keys.Issued) -> None:
        form = admin.get(path(team, f"/{issued.key.visible}/rotate"))
        for _ in range(2):
            admin.fill(form, path(team, f"/{issued.key.visible}/rotate"), ends_in="3600")
        assert ApiKey.objects.count() == 2

    @pytest.mark.parametrize("ends_in", ["", "1", "-3600", "never"])
    def test_other_ends_are_refused(self, admin: Person, team: Team, issued: keys.Issued, ends_in: str) -> None:
        page = admin.submit(path(team, f"/{issued.key.visible}/rotate"), ends_in=ends_in)
        assert page.status_code == 422
        assert errors_in(page)
        assert ApiKey.objects.count() == 1


class TestRevoking:
    def test_page_names_the_key_and_its_last_use(self, admin: Person, team: Team, issued: keys.Issued) -> None:
        ApiKey.objects.update(last_used_at=timezone.now() - timedelta(seconds=12))
        page = seen(admin.get(path(team, f"/{issued.key.visible}/revoke")))
        assert f"ci ( osk_{issued.key.visible}… ) was last used 12 s ago" in page
        assert not is_over(issued.text)

    def test_key_is_refused_from_then_on(self, admin: Person, team: Team, issued: keys.Issued) -> None:
        answer = admin.submit(path(team, f"/{issued.key.visible}/revoke"), follow=True, reason="it leaked")
        assert is_over(issued.text)
        assert "Revoked the key ci" in seen(answer)
        entry = AuditEntry.objects.get(action="key_revoked")
        assert (entry.actor, entry.object, entry.reason) == (
            admin.member.actor,
            f"key:{issued.key.visible}",
            "it leaked",
        )

    def test_reason_may_be_left_out(self, admin: Person, team: Team, issued: keys.Issued) -> None:
        assert admin.submit(path(team, f"/{issued.key.visible}/revoke")).status_code == 302
        assert is_over(issued.text)

    def test_too_long_a_reason_is_named(self, admin: Person, team: Team, issued: keys.Issued) -> None:
        page = admin.submit(path(team, f"/{issued.key.visible}/revoke"), reason="x" * 501)
        assert page.status_code == 422
        assert not is_over(issued.text)

    def test_pressing_twice_is_told_as_done(self, admin: Person, team: Team, issued: keys.Issued) -> None:
        for verb, told in (("revoke", "was over already"), ("rotate", "done already")):
            address = path(team, f"/{issued.key.visible}/{verb}")
            form = admin.get(address)
            admin.fill(form, address, ends_in="0")
            again = admin.fill(form, address, follow=True, ends_in="0")
            assert again.redirect_chain == [(path(team), 302)]
            assert told in seen(again)
            ApiKey.objects.filter(pk=issued.key.pk).update(revoked_at=None)

    def test_key_that_is_over_is_not_there(self, admin: Person, team: Team, issued: keys.Issued) -> None:
        keys.revoke(team_id=team.id, visible=issued.key.visible, act=ACT)
        for verb in ("revoke", "rotate"):
            assert admin.get(path(team, f"/{issued.key.visible}/{verb}")).status_code == 404
