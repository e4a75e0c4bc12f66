"""Budgets: what costs, what never does, and who shares one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from octostore.live import admission
from tests.elections.rooms import UNKNOWN_TOKEN, caller, expire, stored, told, win
from tests.http import Client

pytestmark = pytest.mark.usefixtures("database")

BUDGET = 3


@pytest.fixture(autouse=True)
def budgets(settings: Settings) -> Iterator[None]:
    """Three campaigns and three wrong tokens for each client, none of them spent."""
    settings.ELECTION_REQUESTS_PER_MINUTE = settings.WRONG_CAPABILITIES_PER_MINUTE = BUDGET
    admission.campaigns.forget_all()
    admission.wrong_capabilities.forget_all()
    yield
    admission.campaigns.forget_all()
    admission.wrong_capabilities.forget_all()


def spend_campaigns(client: Client) -> None:
    for _ in range(BUDGET):
        assert client.post("/elections").status_code == 201
    assert told(client.post("/elections")) == (429, "rate_limited")


def spend_guesses(client: Client, room: str) -> None:
    for _ in range(BUDGET):
        assert told(client.renew(room, UNKNOWN_TOKEN)) == (404, "lease_not_current")
    assert told(client.renew(room, UNKNOWN_TOKEN)) == (429, "rate_limited")


class TestCreateAndCampaign:
    def test_share_one_budget(self, client: Client, room: str) -> None:
        client.post("/elections")
        win(client, room)
        client.campaign(room, "borea")
        for answer in (client.post("/elections"), client.campaign(room, "borea"), client.campaign(room + "-2", "a")):
            assert told(answer) == (429, "rate_limited")
            assert 0 < int(answer.headers["Retry-After"]) <= 20
            assert answer.json()["details"] == f"The budget is {BUDGET} a minute for each client"

    def test_over_budget_nothing_is_stored(self, client: Client, room: str) -> None:
        spend_campaigns(client)
        client.campaign(room, "atlas")
        assert stored() == []

    def test_bad_input_costs_nothing(self, client: Client, room: str) -> None:
        for _ in range(BUDGET + 1):
            client.campaign(room, "")
            client.campaign(room, "atlas", ttl_seconds=1)
            client.post("/elections", content=b"{", headers={"Content-Type": "application/json"})
            client.campaign("short", "atlas")
        spend_campaigns(client)

    def test_a_new_key_costs_like_none(self, client: Client, room: str, key: str) -> None:
        for count in range(BUDGET):
            client.campaign(room, "atlas", key=f"{key}-{count}")
        assert told(client.campaign(room, "atlas", key=key)) == (429, "rate_limited")

    def test_a_known_key_costs_nothing(self, client: Client, room: str, key: str) -> None:
        win(client, room, key=key)
        for _ in range(BUDGET):
            win(client, room, key=key)
            assert client.campaign(room, "borea", key=key).status_code == 409
        for _ in range(BUDGET - 1):
            assert client.post("/elections").status_code == 201
        assert client.post("/elections").status_code == 429


class TestNeverLimited:
    @pytest.fixture(autouse=True)
    def spent(self, database: str, client: Client, room: str) -> dict[str, Any]:
        """A leader whose client has spent all its budgets."""
        won = win(client, room)
        with caller() as other:
            while other.post("/elections").status_code == 201:
                pass
            spend_guesses(other, room + "-2")
        return won

    def test_renewing(self, client: Client, room: str, spent: dict[str, Any]) -> None:
        for _ in range(BUDGET * 3):
            assert client.renew(room, spent["leader_token"]).status_code == 200

    def test_resigning(self, client: Client, room: str, spent: dict[str, Any]) -> None:
        assert client.resign(room, spent["leader_token"]).status_code == 200

    def test_reading(self, client: Client, room: str) -> None:
        for path in ("", "/terms", "/terms/1"):
            for _ in range(BUDGET * 3):
                assert client.get(f"/elections/{room}{path}").status_code == 200

    @pytest.mark.parametrize("end", ["resigned", "expired"])
    def test_learning_how_the_own_last_term_ended(
        self, client: Client, room: str, spent: dict[str, Any], end: str
    ) -> None:
        if end == "resigned":
            client.resign(room, spent["leader_token"])
        else:
            expire(room)
        for _ in range(BUDGET):
            assert client.renew(room, spent["leader_token"]).json()["code"] == "lease_not_current"
            assert client.resign(room, spent["leader_token"]).json()["code"] == "lease_not_current"


class TestWrongTokens:
    def test_of_renewals_and_resignations_share_one_budget(self, client: Client, room: str) -> None:
        right = win(client, room)["leader_token"]
        for _ in range(BUDGET - 1):
            assert told(client.renew(room, UNKNOWN_TOKEN)) == (404, "lease_not_current")
        assert told(client.resign(room, UNKNOWN_TOKEN)) == (404, "lease_not_current")
        for answer in (client.renew(room, UNKNOWN_TOKEN), client.resign(room, UNKNOWN_TOKEN)):
            assert told(answer) == (429, "rate_limited")
            assert 0 < int(answer.headers["Retry-After"]) <= 20
        assert client.renew(room, right).status_code == 200

    def test_are_those_of_other_rooms_and_of_earlier_terms_too(self, client: Client, room: str) -> None:
        old = win(client, room)["leader_token"]
        expire(room)
        win(client, room)
        elsewhere = win(client, room + "-2")["leader_token"]
        answers = [client.renew(room, wrong) for wrong in (old, elsewhere, UNKNOWN_TOKEN, old)]
        assert [answer.status_code for answer in answers] == [404, 404, 404, 429]

    def test_are_counted_apart_from_campaigns(self, client: Client, room: str) -> None:
        spend_guesses(client, room)
        win(client, room)

    def test_that_cannot_be_tokens_cost_nothing(self, client: Client, room: str) -> None:
        for _ in range(BUDGET + 1):
            assert client.renew(room, "A" * 42).status_code == 400
        spend_guesses(client, room)


class TestWhoSharesABudget:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("203.0.113.9", "203.0.113.10"),
            ("203.0.113.9", "2001:db8::1"),
            ("2001:db8:0:1::1", "2001:db8:0:2::1"),
        ],
    )
    def test_other_clients_do_not(self, one: str, other: str) -> None:
        with caller(REMOTE_ADDR=one) as here, caller(REMOTE_ADDR=other) as there:
            spend_campaigns(here)
            assert there.post("/elections").status_code == 201

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("203.0.113.9", "203.0.113.9"),
            ("203.0.113.9", "::ffff:203.0.113.9"),
            ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2"),
        ],
    )
    def test_one_client_does_by_any_of_its_addresses(self, one: str, other: str) -> None:
        with caller(REMOTE_ADDR=one) as here, caller(REMOTE_ADDR=other) as there:
            spend_campaigns(here)
            assert there.post("/elections").status_code == 429

    def test_a_claimed_address_is_not_believed(self) -> None:
        with caller(HTTP_X_FORWARDED_FOR="203.0.113.9") as here, caller(HTTP_X_FORWARDED_FOR="203.0.113.10") as there:
            spend_campaigns(here)
            assert there.post("/elections").status_code == 429

    def test_what_a_trusted_proxy_says_is(self, settings: Settings) -> None:
        settings.TRUSTED_PROXY_HOPS = 1
        with (
            caller(HTTP_X_FORWARDED_FOR="203.0.113.9") as here,
            caller(HTTP_X_FORWARDED_FOR="203.0.113.9, 203.0.113.10") as there,
        ):
            spend_campaigns(here)
            assert there.post("/elections").status_code == 201

    def test_a_trusted_proxy_that_says_the_port_too_tells_clients_apart(self, settings: Settings) -> None:
        settings.TRUSTED_PROXY_HOPS = 1
        with (
            caller(HTTP_X_FORWARDED_FOR="203.0.113.9:4711") as here,
            caller(HTTP_X_FORWARDED_FOR="203.0.113.9:4712") as again,
            caller(HTTP_X_FORWARDED_FOR="[2001:db8::1]:4711") as there,
        ):
            spend_campaigns(here)
            assert again.post("/elections").status_code == 429
            assert there.post("/elections").status_code == 201

    def test_those_a_trusted_proxy_tells_nothing_of_share_one_that_is_not_the_proxys(self, settings: Settings) -> None:
        settings.TRUSTED_PROXY_HOPS = 1
        with (
            caller(HTTP_X_FORWARDED_FOR="_hidden") as here,
            caller(HTTP_X_FORWARDED_FOR="unknown") as there,
            caller() as proxy,
        ):
            spend_campaigns(here)
            assert there.post("/elections").status_code == 429
            assert proxy.post("/elections").status_code == 201
