"""Webhooks on a page: where calls go, what came of each, and sending it again."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from octostore.teams.models import Team
from tests.dashboard.cast import Person, endpoint, errors_in, rows, seen, text_of
from tests.teams.cast import entries, found_team
from webhooks import sealing, signing
from webhooks.models import Attempt, Delivery, Endpoint


@pytest.fixture
def webhook(team: Team) -> Endpoint:
    return endpoint(team)


def path(team: Team, webhook: Endpoint | None = None, rest: str = "") -> str:
    return f"/t/{team.slug}/webhooks" + (f"/{webhook.uuid}" if webhook else "") + rest


def sent(webhook: Endpoint, number: int = 1, **fields: Any) -> Delivery:
    what = {"message_id": f"msg_{number}", "kind": "acquired", "lock": "repo/a"}
    body = '{"type":"lock.acquired","data":{"lock":"repo/a"}}'
    return Delivery.objects.create(endpoint=webhook, body=body, **what, **fields)


def tried(delivery: Delivery, number: int = 1, *, took_ms: int | None = 84, **fields: Any) -> Attempt:
    Delivery.objects.filter(pk=delivery.pk).update(attempts_made=number)
    return Attempt.objects.create(
        delivery=delivery,
        number=number,
        trigger="automatic",
        began_at=timezone.now(),
        took_ms=took_ms,
        **fields,
    )


def secret_on(page: Any) -> str:
    [text] = re.findall(r'value="(whsec_[^"]+)"', text_of(page))
    return str(text)


def title_of(page: str) -> str:
    return page.partition("<title>")[2].partition("</title>")[0].strip()


class TestListing:
    def test_says_what_may_be_known_of_a_webhook(self, viewer: Person, team: Team, webhook: Endpoint) -> None:
        delivered, _ = sent(webhook, 1, state="delivered"), sent(webhook, 2)
        tried(delivered)
        [row] = rows(viewer.get(path(team)))
        assert row.startswith("https:// example.com /hook?… all * Active never 1 0 1 next")

    def test_the_query_of_a_url_is_on_no_page_but_its_settings(
        self, owner: Person, team: Team, webhook: Endpoint
    ) -> None:
        delivery = sent(webhook)
        pages = ("", "/rotate", "/delete", "/recover", f"/deliveries/{delivery.uuid}")
        shown = [text_of(owner.get(path(team)))] + [text_of(owner.get(path(team, webhook, rest))) for rest in pages]
        assert not [page for page in shown if "canary" in page]
        assert "canary" in text_of(owner.get(path(team, webhook, "/settings")))

    def test_one_that_fails_says_since_when(self, viewer: Person, team: Team, webhook: Endpoint) -> None:
        Endpoint.objects.update(failing_since=timezone.now() - timedelta(minutes=3))
        assert "Failing first 3 min ago" in rows(viewer.get(path(team)))[0]
        assert "it is switched off in 4 d" in seen(viewer.get(path(team, webhook)))

    @pytest.mark.parametrize(
        ("off", "words"),
        [("gone", "it answered 410 Gone"), ("failing", "no call succeeded for 5 days"), ("asked", "by hand")],
    )
    def test_one_that_is_off_says_why(
        self, viewer: Person, team: Team, webhook: Endpoint, off: str, words: str
    ) -> None:
        Endpoint.objects.update(off=off, off_at=timezone.now())
        assert f"Disabled switched off{'' if off == 'asked' else ':'} {words}" in rows(viewer.get(path(team)))[0]

    def test_those_of_other_teams_and_deleted_ones_are_not_in_it(self, viewer: Person, team: Team) -> None:
        endpoint(found_team(), url="https://theirs.example.com/")
        endpoint(team, url="https://gone.example.com/", deleted_at=timezone.now())
        assert "Nobody is called" in seen(viewer.get(path(team)))

    def test_many_cost_no_more_queries_than_one(
        self, viewer: Person, team: Team, webhook: Endpoint, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for _ in range(5):
            sent(endpoint(team))
        viewer.get(path(team))  # takes the greeting
        # Session, user, membership, endpoints, counts, clock.
        with django_assert_num_queries(6):
            viewer.get(path(team))


class TestAdding:
    def add(self, person: Person, team: Team, **given: Any) -> Any:
        asked = {"url": "https://example.com/hook", "events": ["acquired"], "lock_pattern": "repo/*"} | given
        return person.submit(path(team, rest="/new"), **asked)

    def test_shows_the_secret_once(self, admin: Person, team: Team) -> None:
        page = self.add(admin, team)
        made = Endpoint.objects.get()
        assert secret_on(page) == sealing.secret_of(made)
        assert signing.is_secret(secret_on(page))
        assert page["Cache-Control"] == "private, no-store"
        assert (made.events, made.lock_pattern) == ("acquired", "repo/*")
        assert "whsec_" not in text_of(admin.get(path(team, made)))
        assert entries(team)[-1][:2] == (f"user:{admin.user.email}", "webhook_created")

    def test_sent_twice_adds_one(self, admin: Person, team: Team) -> None:
        form = admin.get(path(team, rest="/new"))
        given: dict[str, Any] = {"url": "https://example.com/hook", "events": ["acquired"], "lock_pattern": "*"}
        assert admin.fill(form, path(team, rest="/new"), **given).status_code == 200
        assert admin.fill(form, path(team, rest="/new"), **given).status_code == 302
        assert Endpoint.objects.count() == 1

    def test_all_events_are_everything(self, admin: Person, team: Team) -> None:
        self.add(admin, team, events=["acquired", "released", "expired", "renewed"])
        assert Endpoint.objects.get().events == "*"

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"url": "http://example.com/"}, "URL"),
            ({"url": "https://127.0.0.1/"}, "URL"),
            ({"url": ""}, "URL"),
            ({"events": []}, "Events"),
            ({"lock_pattern": "a*b"}, "Locks"),
        ],
    )
    def test_what_is_wrong_is_told_at_its_field(
        self, admin: Person, team: Team, given: dict[str, Any], field: str
    ) -> None:
        page = self.add(admin, team, **given)
        assert page.status_code == 422
        [error] = errors_in(page)
        assert error.startswith(f"{field}: ")
        assert not Endpoint.objects.exists()

    def test_beyond_the_number_a_team_may_have_says_so(self, admin: Person, team: Team, settings: Settings) -> None:
        settings.WEBHOOKS_MAX = 1
        endpoint(team)
        assert errors_in(self.add(admin, team)) == ["A team has at most 1 webhooks"]


class TestSettings:
    def change(self, person: Person, team: Team, webhook: Endpoint, **given: Any) -> Any:
        asked = {"url": webhook.url, "events": ["acquired"], "lock_pattern": "*", "active": "on"} | given
        return person.submit(path(team, webhook, "/settings"), **asked)

    def test_change_what_is_given(self, admin: Person, team: Team, webhook: Endpoint) -> None:
        answer = self.change(admin, team, webhook, url="https://example.com/new", events=["expired"])
        assert answer["Location"] == path(team, webhook)
        webhook.refresh_from_db()
        assert (webhook.url, webhook.events, webhook.lock_pattern) == ("https://example.com/new", "expired", "*")
        assert webhook.is_active

    def test_switch_off_and_on(self, admin: Person, team: Team, webhook: Endpoint) -> None:
        waiting = sent(webhook)
        self.change(admin, team, webhook, active="")
        waiting.refresh_from_db()
        webhook.refresh_from_db()
        assert (webhook.off, waiting.state) == ("asked", "cancelled")
        self.change(admin, team, webhook)
        webhook.refresh_from_db()
        assert webhook.is_active


class TestDeliveries:
    def test_are_told_newest_first(self, viewer: Person, team: Team, webhook: Endpoint) -> None:
        tried(sent(webhook, 1, state="failed"), status=500, failure="status")
        tried(sent(webhook, 2), failure="timeout")
        first, second = rows(viewer.get(path(team, webhook)))
        assert first.startswith("lock.acquired repo/a Retrying 1 none, ")
        assert second.startswith("lock.acquired repo/a Failed 1 500, ")

    def test_are_listed_by_state(self, viewer: Person, team: Team, webhook: Endpoint) -> None:
        sent(webhook, 1, state="failed")
        sent(webhook, 2)
        assert len(rows(viewer.get(path(team, webhook), {"state": "failed"}))) == 1
        assert "No delivery is cancelled" in seen(viewer.get(path(team, webhook), {"state": "cancelled"}))
        assert viewer.get(path(team, webhook), {"state": "all' OR 1=1"}).status_code == 400

    def test_come_in_pages(self, viewer: Person, team: Team, webhook: Endpoint) -> None:
        for number in range(53):
            sent(webhook, number)
        page = viewer.get(path(team, webhook))
        assert len(rows(page)) == 50
        [cursor] = re.findall(r'rel="next" href="([^"]+)"', text_of(page))
        assert len(rows(viewer.get(path(team, webhook) + cursor))) == 3

    def test_one_tells_every_attempt_in_words(self, viewer: Person, team: Team, webhook: Endpoint) -> None:
        delivery = sent(webhook)
        tried(delivery, 1, failure="tls")
        tried(delivery, 2, took_ms=None)
        tried(delivery, 3, status=503, failure="status", answer="<b>busy</b>")
        page = viewer.get(path(team, webhook, f"/deliveries/{delivery.uuid}"))
        third, second, first = rows(page)
        assert "The receiver answered with another status than 2xx" in third
        assert "was stopped" in second
        assert "No trusted TLS connection" in first
        assert "&lt;b&gt;busy" in page.content.decode()
        assert "msg_1" in seen(page)

    def test_an_attempt_under_way_is_no_failure(self, viewer: Person, team: Team, webhook: Endpoint) -> None:
        delivery = sent(webhook, claimed_until=timezone.now() + timedelta(seconds=20))
        tried(delivery, 1, took_ms=None)
        [row] = rows(viewer.get(path(team, webhook, f"/deliveries/{delivery.uuid}")))
        assert row.endswith("under way")

    def test_the_part_is_the_page_without_its_frame(self, viewer: Person, team: Team, webhook: Endpoint) -> None:
        delivery = sent(webhook)
        places = {"webhooks": path(team), "deliveries": path(team, webhook)}
        places["delivery"] = path(team, webhook, f"/deliveries/{delivery.uuid}")
        for part_id, address in places.items():
            part, page = text_of(viewer.part(address)), text_of(viewer.get(address))
            title, _, rest = part.strip().rpartition("</title>")
            assert title.removeprefix("<title>").strip() == ("" if part_id == "webhooks" else title_of(page))
            assert rest.strip().startswith(f'<section id="{part_id}"')
            assert "<html" not in part

    def test_those_of_another_webhook_are_not_found(self, viewer: Person, team: Team, webhook: Endpoint) -> None:
        other = sent(endpoint(team))
        assert viewer.get(path(team, webhook, f"/deliveries/{other.uuid}")).status_code == 404


class TestSendingAgain:
    def test_redelivers_under_the_same_message_id(self, member: Person, team: Team, webhook: Endpoint) -> None:
        delivery = sent(webhook, state="failed", ended_at=timezone.now())
        address = path(team, webhook, f"/deliveries/{delivery.uuid}")
        answer = member.fill(member.get(address), f"{address}/redeliver")
        assert answer["Location"] == address
        delivery.refresh_from_db()
        assert (delivery.state, delivery.trigger, delivery.message_id) == ("pending", "manual", "msg_1")
        assert "under the same message id" in seen(member.get(address))

    def test_what_is_under_way_is_left_alone(self, member: Person, team: Team, webhook: Endpoint) -> None:
        delivery = sent(webhook, claimed_until=timezone.now() + timedelta(seconds=20))
        address = path(team, webhook, f"/deliveries/{delivery.uuid}")
        member.fill(member.get(address), f"{address}/redeliver")
        assert "under way" in seen(member.get(address))
        delivery.refresh_from_db()
        assert delivery.trigger == "automatic"

    def test_recovers_what_failed_lately(self, member: Person, team: Team, webhook: Endpoint) -> None:
        old, new = sent(webhook, 1, state="failed"), sent(webhook, 2, state="failed")
        Delivery.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(hours=2))
        answer = member.submit(path(team, webhook, "/recover"), since="3600")
        assert answer["Location"] == path(team, webhook)
        old.refresh_from_db()
        new.refresh_from_db()
        assert (old.state, new.state) == ("failed", "pending")
        assert "1 delivery is sent again" in seen(member.get(path(team, webhook)))

    def test_a_test_call_is_a_delivery_to_look_at(self, admin: Person, team: Team, webhook: Endpoint) -> None:
        answer = admin.fill(admin.get(path(team, webhook)), path(team, webhook, "/test"))
        delivery = Delivery.objects.get()
        assert answer["Location"] == path(team, webhook, f"/deliveries/{delivery.uuid}")
        assert "webhook.test" in seen(admin.get(answer["Location"]))


class TestRotating:
    @pytest.mark.parametrize(("now", "signing_on"), [("", True), ("now", False)])
    def test_shows_the_new_secret_once(
        self, admin: Person, team: Team, webhook: Endpoint, now: str, signing_on: bool
    ) -> None:
        before = sealing.secret_of(webhook)
        page = admin.submit(path(team, webhook, "/rotate"), now=now)
        webhook.refresh_from_db()
        assert secret_on(page) == sealing.secret_of(webhook) != before
        assert sealing.signing_secrets(webhook, timezone.now())[1:] == ([before] if signing_on else [])
        assert ("The old secret signs beside it" in seen(page)) is signing_on


def test_deleting_asks_first(admin: Person, team: Team, webhook: Endpoint) -> None:
    waiting = sent(webhook)
    page = admin.get(path(team, webhook, "/delete"))
    assert "1 delivery that waits is not sent" in seen(page)
    webhook.refresh_from_db()
    assert webhook.deleted_at is None
    answer = admin.fill(page, path(team, webhook, "/delete"))
    assert answer["Location"] == path(team)
    assert admin.get(path(team, webhook)).status_code == 404
    waiting.refresh_from_db()
    assert waiting.state in {"pending", "cancelled"}
