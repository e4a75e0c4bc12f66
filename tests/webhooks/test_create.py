"""POST /webhooks: an address of a team's own that is called for events of its locks."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from pytest_django.fixtures import Settings

from octostore.leases.models import FollowedSpace
from octostore.teams.models import AuditEntry, Team
from octostore.teams.principals import lock_space
from tests.elections.rooms import instant, told
from tests.locks.ladder import NO_TEXTS, broken, misfits
from tests.races import race
from tests.webhooks.bad_input import GIVEN, NO_EVENTS, NO_PATTERNS, NO_SECRETS, NO_URLS
from tests.webhooks.cast import SHOWN, URL, Keeper, endpoint_of, milliseconds, stored
from tests.webhooks.ladder import Ladder
from webhooks import signing


class TestRegistering:
    def test_answers_what_was_made(self, keeper: Keeper, team: Team) -> None:
        answer = keeper.post("/webhooks", json={"url": URL})
        assert answer.status_code == 201
        made = answer.json()
        assert made == {
            "id": made["id"],
            "user_id": str(team.uuid),
            "url": URL,
            "secret": made["secret"],
            "events": ["acquired", "released", "expired"],
            "lock_pattern": "*",
            "created_at": made["created_at"],
            "active": True,
            "inactive_reason": None,
            "failing_since": None,
            "last_success_at": None,
            "old_secret_until": None,
        }
        assert abs(instant(made["created_at"]) - milliseconds(endpoint_of(made).created_at)) <= 1

    def test_makes_a_secret_each_time(self, keeper: Keeper) -> None:
        secrets = {keeper.register()["secret"] for _ in range(3)}
        assert len(secrets) == 3
        assert all(map(signing.is_secret, secrets))

    def test_takes_a_given_secret(self, keeper: Keeper) -> None:
        assert keeper.register(secret=GIVEN)["secret"] == GIVEN

    def test_shows_the_secret_this_once(self, keeper: Keeper, admin: Keeper) -> None:
        made = keeper.register(secret=GIVEN)
        assert keeper.webhook(made["id"]) == admin.webhook(made["id"]) == made | {"secret": "****"}

    @pytest.mark.parametrize(
        ("asked", "kept"),
        [
            (["expired"], ["expired"]),
            (["expired", "acquired", "expired"], ["acquired", "expired"]),
            (["renewed", "expired", "released", "acquired"], ["acquired", "released", "renewed", "expired"]),
            (["*"], ["*"]),
            (["acquired", "*"], ["*"]),
        ],
    )
    def test_keeps_each_event_once_in_order(self, keeper: Keeper, asked: list[str], kept: list[str]) -> None:
        assert keeper.register(events=asked)["events"] == kept

    @pytest.mark.parametrize("pattern", ["*", "repo/a", "repo/*", "re*", "größe/Ω*", "a" * 256 + "*"])
    def test_keeps_the_pattern(self, keeper: Keeper, pattern: str) -> None:
        assert keeper.register(lock_pattern=pattern)["lock_pattern"] == pattern

    def test_again_makes_another(self, keeper: Keeper) -> None:
        assert keeper.register()["id"] != keeper.register()["id"]

    def test_null_counts_as_omitted(self, keeper: Keeper) -> None:
        made = keeper.register(events=None, lock_pattern=None, secret=None, unknown=1)
        assert (made["events"], made["lock_pattern"]) == (["acquired", "released", "expired"], "*")

    def test_is_in_the_audit_without_secret_and_query(self, keeper: Keeper, team: Team) -> None:
        answer = keeper.post("/webhooks", json={"url": URL, "secret": GIVEN, "events": ["*"]})
        entry = AuditEntry.objects.get(team=team, action="webhook_created")
        assert (entry.actor, entry.object) == (f"key:{keeper.visible}", f"webhook:{answer.json()['id']}")
        assert entry.request_id == answer.headers["X-Request-Id"]
        assert (entry.before, entry.after) == (
            None,
            {"url": SHOWN, "events": "*", "lock_pattern": "*", "active": True},
        )

    @pytest.mark.usefixtures("private")
    def test_audit_keeps_an_odd_port_and_address_whole(self, keeper: Keeper) -> None:
        keeper.register("http://[::1]:9999/a?b=c")
        entry = AuditEntry.objects.get(action="webhook_created")
        assert entry.after
        assert entry.after["url"] == "http://[::1]:9999/a"


class TestAKeyWithAPrefix:
    def test_registers_for_all_within(self, within: Keeper) -> None:
        assert within.register()["lock_pattern"] == "repo/*"

    @pytest.mark.parametrize("pattern", ["repo/*", "repo/a", "repo/a*"])
    def test_registers_within(self, within: Keeper, pattern: str) -> None:
        assert within.register(lock_pattern=pattern)["lock_pattern"] == pattern

    @pytest.mark.parametrize("pattern", ["*", "r*", "repo*", "repo", "Repo/*", "other/repo/*"])
    def test_registers_nothing_beyond(self, within: Keeper, pattern: str) -> None:
        answer = within.post("/webhooks", json={"url": URL, "lock_pattern": pattern})
        assert told(answer) == (403, "forbidden")
        assert stored() == []


class TestAsManyAsATeamMayHave:
    def test_are_ten(self, keeper: Keeper, outsider: Keeper) -> None:
        first, *_ = [keeper.register() for _ in range(10)]
        before = stored()
        assert told(keeper.post("/webhooks", json={"url": URL})) == (409, "conflict")
        assert stored() == before
        outsider.register()
        keeper.remove(first["id"])
        keeper.register()

    def test_count_those_that_are_switched_off_or_out_of_sight(
        self, keeper: Keeper, within: Keeper, settings: Settings
    ) -> None:
        settings.WEBHOOKS_MAX = 1
        keeper.change(keeper.register()["id"], active=False)
        assert told(within.post("/webhooks", json={"url": URL})) == (409, "conflict")

    @pytest.mark.only("postgresql")  # SQLite has one writer at a time
    def test_are_counted_strictly(self, keeper: Keeper, settings: Settings) -> None:
        settings.WEBHOOKS_MAX = 2
        assert keeper.key

        def register() -> int:
            with Keeper(keeper.key) as one:
                return one.post("/webhooks", json={"url": URL}).status_code

        assert sorted(race([register] * 8)) == [201] * 2 + [409] * 6


class TestInput(Ladder):
    path: ClassVar[str] = "/webhooks"
    body: ClassVar[dict[str, Any]] = {"url": URL}

    def test_each_bad_field_is_refused_and_named(self, keeper: Keeper) -> None:
        self.refuses(keeper, "", misfits(NO_TEXTS | {"null": "null"}) | broken(NO_URLS), "url")
        no_lists = {"text": '"acquired"', "number": "1", "object": "{}", "numbers": "[1]", "nulls": "[null]"}
        self.refuses(keeper, "", misfits(no_lists) | broken(NO_EVENTS), "events")
        self.refuses(keeper, "", misfits(NO_TEXTS) | broken(NO_PATTERNS), "lock_pattern")
        self.refuses(keeper, "", misfits(NO_TEXTS) | broken(NO_SECRETS), "secret")
        assert stored() == []

    def test_refusals_show_neither_url_nor_secret(self, keeper: Keeper) -> None:
        for body in ({"url": "http://canary.example/canary?canary"}, {"url": URL, "secret": "whsec_canary"}):
            assert "canary" not in keeper.post("/webhooks", json=body).text

    def test_url_is_required(self, keeper: Keeper) -> None:
        answer = keeper.post("/webhooks", json={})
        assert told(answer) == (422, "invalid_input")
        assert answer.json()["details"] == "url is required"

    @pytest.mark.usefixtures("private")
    def test_private_addresses_are_taken_where_the_server_allows_it(self, keeper: Keeper) -> None:
        for url in ("http://127.0.0.1:9999/", "http://10.0.0.1/", "https://hooks.internal/a"):
            assert keeper.register(url)["url"] == url
        for url in ("http://169.254.169.254/", "ftp://a.example/", "http://a:b@10.0.0.1/"):
            assert told(keeper.post("/webhooks", json={"url": url})) == (400, "invalid_input"), url


class TestATeamThatHasNone:
    def test_is_owed_nothing(self, keeper: Keeper, outsider: Keeper, team: Team) -> None:
        keeper.register()
        assert list(FollowedSpace.objects.values_list("space", "renewals")) == [(lock_space(str(team.uuid)), False)]
