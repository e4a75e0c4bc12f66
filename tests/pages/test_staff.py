"""The staff area: who comes in, and that it changes next to nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib import admin
from django.db.models import Model
from django.urls import reverse
from pytest_django.fixtures import Settings

from octostore.leases import engine
from octostore.leases.models import Lease, LeaseEvent, LeaseGroup
from octostore.pages import staff as _registered  # noqa: F401
from octostore.pages import wording
from octostore.teams import limits
from octostore.teams.models import AuditEntry, Quota, User
from tests.pages.browser import Browser, errors_on, text_of
from tests.teams.cast import found_team

CHANGEABLE = {Quota: {"add", "change"}, User: {"change"}}


@pytest.fixture
def inside(browser: Browser, staff: User) -> Browser:
    browser.sign_in(staff)
    return browser


class TestWhoComesIn:
    def test_nobody_unknown(self, browser: Browser) -> None:
        answer = browser.get("/staff/", follow=True)
        assert answer.redirect_chain[-1][0] == "/accounts/login/?next=/staff/"

    def test_no_other_user(self, browser: Browser, user: User) -> None:
        browser.sign_in(user)
        answer = browser.get("/staff/", follow=True)
        assert answer.status_code == 403
        assert "for the staff of the service" in text_of(answer)

    def test_staff(self, inside: Browser) -> None:
        assert inside.get("/staff/").status_code == 200

    def test_staff_that_is_no_more_is_out_at_once(self, inside: Browser, staff: User) -> None:
        User.objects.filter(pk=staff.pk).update(is_staff=False)
        assert inside.get("/staff/", follow=True).status_code == 403

    def test_staff_without_second_factor_where_it_is_asked_for(self, inside: Browser, settings: Settings) -> None:
        settings.STAFF_SECOND_FACTOR = True
        answer = inside.get("/staff/", follow=True)
        assert ("/accounts/2fa/totp/activate/", 302) in answer.redirect_chain
        assert inside.get("/staff/teams/team/").status_code == 302


class TestReadOnly:
    @pytest.mark.parametrize("model", list(admin.site._registry))
    def test_only_quotas_and_users_change(self, inside: Browser, staff: User, model: type[Model]) -> None:
        registered = admin.site._registry[model]
        request = inside.get("/staff/").wsgi_request
        allowed = {
            what for what in ("add", "change", "delete") if getattr(registered, f"has_{what}_permission")(request)
        }
        assert allowed == CHANGEABLE.get(model, set())
        listing = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        assert inside.get(listing).status_code == 200
        assert inside.get(listing, {"q": "a'b%"}).status_code == 200

    def test_leases_can_be_looked_at_and_not_touched(self, inside: Browser) -> None:
        engine.acquire("elections", "room-1234", holder="atlas", ttl=timedelta(minutes=1), metadata="canary-metadata")
        (lease,) = Lease.objects.values()
        page = inside.get(f"/staff/leases/lease/{lease['id']}/change/")
        assert "atlas" in text_of(page)
        assert "canary-metadata" not in text_of(page)
        began = wording.utc_exactly(lease["began_at"])
        events = reverse("admin:leases_leaseevent_changelist")
        assert all(began in text_of(inside.get(where)) for where in (page.request["PATH_INFO"], events))
        assert str(lease["expires_at"]) not in text_of(page)
        token = page.context["csrf_token"]
        for path in ("change", "delete"):
            answer = inside.post(
                f"/staff/leases/lease/{lease['id']}/{path}/",
                {"holder": "thief", "post": "yes", "csrfmiddlewaretoken": token},
            )
            assert answer.status_code == 403
        assert list(Lease.objects.values()) == [lease]

    def test_no_column_with_a_secret_is_shown(self) -> None:
        shown = {field for model in admin.site._registry.values() for field in getattr(model, "shown", ())}
        assert shown.isdisjoint(
            {"digest", "nonce", "capability_digest", "attempt_digest", "metadata", "key", "password"}
        )
        assert {Lease, LeaseEvent, LeaseGroup} <= set(admin.site._registry)


class TestChanges:
    def test_quota_is_given_with_a_reason(self, inside: Browser, staff: User) -> None:
        team = found_team()
        answer = inside.submit("/staff/teams/quota/add/", team=team.id, locks="7", reason="they pay")
        assert answer.status_code == 302, errors_on(answer)
        assert limits.of(team.id).locks == 7
        entry = AuditEntry.objects.get()
        assert (entry.team, entry.actor, entry.action, entry.reason) == (
            team,
            f"staff:{staff.email}",
            "quota_changed",
            "they pay",
        )
        assert entry.request_id == answer["X-Request-Id"]

    def test_quota_without_a_reason_is_refused(self, inside: Browser) -> None:
        team = found_team()
        assert errors_on(inside.submit("/staff/teams/quota/add/", team=team.id, locks="7"))
        assert not Quota.objects.exists()

    def test_quota_is_changed_and_taken_back(self, inside: Browser) -> None:
        quota = Quota.objects.create(team=found_team(), locks=7, waits=8)
        inside.submit(f"/staff/teams/quota/{quota.pk}/change/", locks="", waits="9", reason="less")
        quota.refresh_from_db()
        assert (quota.locks, quota.waits) == (None, 9)
        assert AuditEntry.objects.get().before == {"locks": 7, "waits": 8}

    def test_user_is_switched_off_and_that_is_audited(self, inside: Browser, staff: User, user: User) -> None:
        answer = inside.submit(f"/staff/teams/user/{user.pk}/change/")
        assert answer.status_code == 302
        user.refresh_from_db()
        assert not user.is_active
        entry = AuditEntry.objects.get()
        assert (entry.actor, entry.action, entry.object) == (
            f"staff:{staff.email}",
            "user_changed",
            f"user:{user.email}",
        )
        assert (entry.before, entry.after) == ({"is_active": True}, {"is_active": False})
