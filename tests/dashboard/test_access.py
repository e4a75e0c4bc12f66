"""Who may see and do what: every address against every role, and teams that are not there for others."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from django.urls import URLPattern, reverse
from pytest_django.fixtures import Settings

from octostore.dashboard import urls
from octostore.leases.models import LeaseGroup
from octostore.teams import invitations, keys
from octostore.teams.models import Role, Team
from tests.dashboard.cast import ROLES, Person, alike, endpoint, seen, text_of
from tests.locks.cast import Worker
from tests.pages.browser import PASSWORD, Browser, somebody
from tests.teams.cast import ACT, found_team, join
from webhooks.models import Delivery

ALL = {Role.OWNER, Role.ADMIN, Role.MEMBER, Role.VIEWER}
ADMINS = {Role.OWNER, Role.ADMIN}
RETRIERS = ADMINS | {Role.MEMBER}

# Each address of a team's pages, and who comes in there.
LADDER: dict[str, set[Role]] = {
    "team_overview": ALL,
    "team_locks": ALL,
    "team_lock": ALL,
    "team_revoke_lock": ADMINS,
    "team_sessions": ALL,
    "team_session": ALL,
    "team_terminate_session": ADMINS,
    "team_keys": ALL,
    "team_new_key": ADMINS,
    "team_rotate_key": ADMINS,
    "team_revoke_key": ADMINS,
    "team_webhooks": ALL,
    "team_new_webhook": ADMINS,
    "team_webhook": ALL,
    "team_webhook_settings": ADMINS,
    "team_rotate_webhook": ADMINS,
    "team_test_webhook": ADMINS,
    "team_recover_webhook": RETRIERS,
    "team_delivery": ALL,
    "team_redeliver": RETRIERS,
    "team_delete_webhook": ADMINS,
    "team_members": ALL,
    "team_invite": ADMINS,
    "team_renew_invitation": ADMINS,
    "team_withdraw_invitation": ADMINS,
    "team_change_role": ADMINS,
    "team_remove_member": ALL,
    "team_usage": ALL,
    "team_audit": ADMINS,
    "team_export_audit": ADMINS,
}
POST_ONLY = {
    "team_test_webhook",
    "team_redeliver",
    "team_export_audit",
    "team_invite",
    "team_renew_invitation",
    "team_withdraw_invitation",
    "team_change_role",
}
# Of these, those whose answer is a page, which is found under another address.
LED_ON = {"team_invite", "team_renew_invitation"}
LATELY = {"team_new_key", "team_rotate_key", "team_revoke_key", "team_new_webhook", "team_rotate_webhook"}

Places = dict[str, str]


@pytest.fixture
def places(team: Team, worker: Worker) -> Places:
    """An address of each kind, of a thing that is there."""
    worker.hold("repo/a", session_id=worker.begin())
    session = LeaseGroup.objects.get().pk
    offered, offered_too = (
        invitations.offer(team=team, email=f"{name}@example.org", role=Role.VIEWER, invited_by=None, act=ACT)
        for name in ("ann", "bo")
    )
    mate = join(team, Role.MEMBER).pk
    webhook = endpoint(team)
    sent = Delivery.objects.create(endpoint=webhook, message_id="msg_1", kind="acquired", lock="repo/a", body="{}")
    parts: dict[str, list[Any]] = {
        "team_lock": ["repo/a"],
        "team_revoke_lock": ["repo/a"],
        "team_session": [session],
        "team_terminate_session": [session],
        "team_rotate_key": [worker.visible],
        "team_revoke_key": [worker.visible],
        "team_renew_invitation": [offered.invitation.pk],
        "team_withdraw_invitation": [offered_too.invitation.pk],
        "team_webhook": [webhook.uuid],
        "team_webhook_settings": [webhook.uuid],
        "team_rotate_webhook": [webhook.uuid],
        "team_test_webhook": [webhook.uuid],
        "team_recover_webhook": [webhook.uuid],
        "team_delete_webhook": [webhook.uuid],
        "team_delivery": [webhook.uuid, sent.uuid],
        "team_redeliver": [webhook.uuid, sent.uuid],
        "team_change_role": [mate],
        "team_remove_member": [mate],
    }
    return {name: reverse(name, args=[team.slug, *parts.get(name, [])]) for name in LADDER}


def ask(person: Browser, name: str, path: str) -> Any:
    """Look at the address; where that is none to look at, send a form without anything in it but its CSRF secret."""
    if name not in POST_ONLY:
        return person.get(path)
    form = person.get("/accounts/email/" if person.is_signed_in() else "/accounts/login/")
    return person.post(path, {"csrfmiddlewaretoken": form.context["csrf_token"]})


def test_the_ladder_names_every_address() -> None:
    named = {pattern.name for pattern in urls.urlpatterns if isinstance(pattern, URLPattern)}
    assert {name for name in named if name and name.startswith("team")} == set(LADDER)


@pytest.mark.parametrize("role", ROLES)
def test_each_role_comes_in_where_it_may_and_nowhere_else(
    team: Team, owner: Person, places: Places, role: Role
) -> None:
    person = Person.of(team, role)
    for name, path in places.items():
        answer = ask(person, name, path)
        if role in LADDER[name]:
            expected = {200, 302, 400, 422} if name in POST_ONLY else {200}
            if name == "team_remove_member" and role not in ADMINS:
                # To leave, with one's own address.
                expected = {403}
            assert answer.status_code in expected, name
        else:
            assert answer.status_code == 403, name
            assert f"yours is {role}" in seen(answer)
            assert "This needs the role owner or admin" in seen(answer)
            assert owner.user.email in seen(answer)


def test_nobody_unknown_comes_in(anonymous: Browser, places: Places) -> None:
    for name, path in places.items():
        answer = ask(anonymous, name, path)
        assert answer.status_code == 302, name
        assert answer["Location"].startswith("/accounts/login/?next=/t/"), name


@pytest.mark.parametrize("came_from", ["", "http://testserver.evil/x", "http://[", "https://testserver/x"])
def test_nobody_is_led_elsewhere_for_what_a_browser_says(anonymous: Browser, places: Places, came_from: str) -> None:
    assert refused(anonymous, places["team_invite"], came_from) == places["team_invite"]


def test_signing_in_leads_back_to_the_page_whose_form_was_sent(anonymous: Browser, team: Team, places: Places) -> None:
    page = f"/t/{team.slug}/audit?group=keys"
    assert refused(anonymous, places["team_export_audit"], f"http://testserver{page}") == page


def refused(person: Browser, path: str, came_from: str) -> str:
    """Where the sign-in that is asked for leads, of a form that a page says it sent."""
    form = {"csrfmiddlewaretoken": person.get("/accounts/login/").context["csrf_token"]}
    answer = person.post(path, form, headers={"Referer": came_from})
    return unquote(answer["Location"]).removeprefix("/accounts/login/?next=")


def test_a_part_of_a_page_is_refused_by_its_status(anonymous: Browser, places: Places) -> None:
    answer = anonymous.get(places["team_keys"], headers={"HX-Request": "true", "HX-Request-Type": "partial"})
    assert (answer.status_code, answer.content) == (401, b"")


class TestTeamsOfOthers:
    def test_are_answered_as_if_they_were_not_there(self, outsider: Person, team: Team, places: Places) -> None:
        for name, path in places.items():
            theirs, nobodys = ask(outsider, name, path), ask(outsider, name, path.replace(team.slug, "no-such-team"))
            assert theirs.status_code == 404, name
            assert alike(theirs) == alike(nobodys), name

    def test_staff_who_do_not_belong_are_no_exception(self, staff: Person, places: Places) -> None:
        assert {ask(staff, name, path).status_code for name, path in places.items()} == {404}

    def test_what_is_not_there_looks_the_same_in_ones_own_team(self, owner: Person, team: Team) -> None:
        """Another team's key, one that never was, and a page that is none."""
        theirs = keys.create(team=found_team(), name="ci", scopes=["locks"], act=ACT).key.visible
        paths = [f"/t/{team.slug}/{rest}" for rest in (f"keys/{theirs}/revoke", "keys/000000000000/revoke")]
        first, *others = (alike(owner.get(path)) for path in paths)
        assert first[0] == 404
        assert all(other == first for other in others)

    @pytest.mark.parametrize("slug", ["%00", "..", "a%20b", "%ED%A0%80", "é", "x" * 300])
    def test_impossible_slugs_are_not_found(self, owner: Person, slug: str) -> None:
        assert owner.get(f"/t/{slug}/keys").status_code == 404

    def test_a_role_that_was_lost_counts_no_more(self, admin: Person, places: Places) -> None:
        admin.member.delete()
        assert admin.get(places["team_keys"]).status_code == 404


class TestLately:
    def age(self, person: Browser, seconds: float) -> None:
        session = person.session
        for record in session["account_authentication_methods"]:
            record["at"] = time.time() - seconds
        session.save()

    def test_is_asked_for_where_keys_are_made_replaced_and_ended(self, owner: Person, places: Places) -> None:
        self.age(owner, 15 * 60 + 5)
        for name, path in places.items():
            answer = ask(owner, name, path)
            if name in LATELY:
                assert answer["Location"].startswith("/accounts/reauthenticate/?next=%2Ft%2F"), name
            else:
                assert answer.status_code != 302 or "reauthenticate" not in answer["Location"], name

    def test_sending_the_form_asks_too_and_does_nothing(self, owner: Person, team: Team, places: Places) -> None:
        form = owner.get(places["team_new_key"])
        self.age(owner, 15 * 60 + 5)
        answer = owner.fill(form, places["team_new_key"], name="later", scopes=["read"], lasts="30")
        assert answer["Location"].startswith("/accounts/reauthenticate/")
        assert team.keys.count() == 1

    def test_password_again_is_enough(self, owner: Person, places: Places) -> None:
        self.age(owner, 3600)
        again = owner.get(places["team_new_key"])["Location"]
        answer = owner.submit(again, password=PASSWORD, next=places["team_new_key"])
        assert answer["Location"] == places["team_new_key"]
        assert owner.get(places["team_new_key"]).status_code == 200

    def test_a_quarter_of_an_hour_is_lately(self, owner: Person, places: Places) -> None:
        self.age(owner, 15 * 60 - 30)
        assert owner.get(places["team_new_key"]).status_code == 200


class TestAnswers:
    def test_are_kept_by_no_cache(self, owner: Person, outsider: Person, places: Places) -> None:
        for name, path in places.items():
            for answer in (ask(owner, name, path), ask(outsider, name, path)):
                assert answer["Cache-Control"] == "private, no-store", name
                assert {"Cookie", "HX-Request"} <= {one.strip() for one in answer["Vary"].split(",")}, name

    def test_looking_changes_nothing(self, owner: Person, places: Places, stored: Callable[[], list[Any]]) -> None:
        before = stored()
        for name, path in places.items():
            statuses = {owner.get(path).status_code, owner.head(path).status_code}
            assert statuses == ({302} if name in LED_ON else {405} if name in POST_ONLY else {200}), name
        assert stored() == before

    def test_a_form_from_elsewhere_is_refused(
        self, owner: Person, places: Places, stored: Callable[[], list[Any]]
    ) -> None:
        before = stored()
        for name, path in places.items():
            answer = owner.post(path, {"name": "ci", "scopes": "read", "lasts": "30", "reason": "x", "ends_in": "0"})
            assert answer.status_code in {403, 405}, name
        assert stored() == before

    def test_other_methods_are_refused(self, owner: Person, places: Places) -> None:
        for name, path in places.items():
            assert owner.generic("DELETE", path).status_code in {403, 405}, name

    def test_what_is_for_forms_alone_says_so(self, owner: Person, places: Places) -> None:
        for name in POST_ONLY - LED_ON:
            answer = owner.get(places[name])
            assert (answer.status_code, answer["Allow"]) == (405, "POST")
            assert "Forms are sent to this address" in seen(answer)

    def test_what_answers_with_another_page_leads_there(self, owner: Person, team: Team, places: Places) -> None:
        assert {owner.get(places[name])["Location"] for name in LED_ON} == {f"/t/{team.slug}/members"}


def test_a_user_without_a_team_sees_none(database: str, settings: Settings) -> None:
    person = Person(somebody())
    assert person.get("/t/home/keys").status_code == 404
    assert "no team" in text_of(person.get("/accounts/"))
