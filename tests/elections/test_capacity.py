"""Capacity: how many rooms are led at once, asked only of a campaign that would win."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_django.fixtures import Settings

from elections import capacity as capacity_module
from elections import services
from elections.capacity import Capacity
from octostore.lib.errors import CapacityExceeded
from tests.elections.rooms import caller, expire, row, stored, told, win
from tests.http import Client

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture(autouse=True)
def recount(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Count again, as if a second had gone by."""
    # Within a test no second goes by unasked, however busy the machine.
    monkeypatch.setattr(capacity_module, "FRESH_SECONDS", float("inf"))

    def again() -> None:
        monkeypatch.setattr(services, "capacity", Capacity("elections"))

    again()
    return again


class TestAClient:
    @pytest.fixture(autouse=True)
    def two_rooms(self, settings: Settings) -> None:
        settings.LED_ROOMS_MAX_PER_CLIENT = 2

    def test_leads_so_many_rooms_and_no_more(self, client: Client, room: str, recount: Callable[[], None]) -> None:
        for number in range(2):
            win(client, f"{room}-{number}")
        before = stored()
        for _ in range(2):
            answer = client.campaign(room, "atlas")
            assert told(answer) == (409, "capacity_exceeded")
            assert answer.headers["Retry-After"] == "30"
            assert answer.json()["details"] == "A client can lead 2 rooms at once"
            recount()
        assert stored() == before

    def test_leaves_others_their_own(self, client: Client, room: str) -> None:
        for number in range(2):
            win(client, f"{room}-{number}")
        with caller(REMOTE_ADDR="203.0.113.9") as other:
            win(other, room)

    def test_is_counted_by_a_pseudonym(self, room: str) -> None:
        with caller(REMOTE_ADDR="203.0.113.9") as client:
            win(client, room)
        assert row(room).charged_to
        assert "203.0.113.9" not in repr(stored())

    def test_leads_another_room_once_it_resigned_one(self, client: Client, room: str) -> None:
        won = [win(client, f"{room}-{number}") for number in range(2)]
        client.resign(f"{room}-0", won[0]["leader_token"])
        win(client, room)
        assert told(client.campaign(f"{room}-0", "atlas")) == (409, "capacity_exceeded")

    def test_leads_another_room_within_a_second_of_an_expiry(
        self, client: Client, room: str, recount: Callable[[], None]
    ) -> None:
        for number in range(2):
            win(client, f"{room}-{number}")
        expire(f"{room}-0")
        recount()
        win(client, room)

    def test_may_come_and_go_as_often_as_it_likes(self, client: Client, room: str, recount: Callable[[], None]) -> None:
        win(client, room + "-2")
        for number in range(5):
            client.resign(room, win(client, room)["leader_token"])
            if number == 2:
                recount()

    def test_that_resigns_what_another_led_gains_nothing(self, client: Client, room: str) -> None:
        for number in range(2):
            win(client, f"{room}-{number}")
        with caller(REMOTE_ADDR="203.0.113.9") as other:
            won = win(other, room)
        client.resign(room, won["leader_token"])
        assert told(client.campaign(room, "atlas")) == (409, "capacity_exceeded")

    def test_that_resigns_for_others_is_never_counted_below_none(
        self, client: Client, room: str, recount: Callable[[], None]
    ) -> None:
        with caller(REMOTE_ADDR="203.0.113.9") as other:
            led = {f"{room}-{number}": win(other, f"{room}-{number}")["leader_token"] for number in range(2)}
        recount()
        win(client, room)
        for theirs, leader_token in led.items():
            client.resign(theirs, leader_token)
        for number in range(2, 4):
            win(client, f"{room}-{number}")
        assert told(client.campaign(room + "-4", "atlas")) == (409, "capacity_exceeded")

    def test_is_refused_only_what_it_would_win(self, client: Client, room: str, key: str) -> None:
        won = win(client, room + "-0", key=key)
        with caller(REMOTE_ADDR="203.0.113.9") as other:
            led = win(other, room)
        win(client, room + "-1")
        assert client.campaign(room, "atlas").json()["leader"] == led["leader"]
        assert win(client, room + "-0", key=key)["leader_token"] == won["leader_token"]
        assert client.renew(room + "-0", won["leader_token"]).status_code == 200

    def test_whose_many_candidates_want_one_room_is_counted_once(self, client: Client, room: str) -> None:
        """Those who lose a race for a room were admitted to it, but lead nothing."""
        counts = services.capacity
        for _ in range(50):
            counts.admit(room, "somebody")
        counts.admit(room + "-2", "somebody")
        with pytest.raises(CapacityExceeded):
            counts.admit(room + "-3", "somebody")


class TestTheServer:
    def test_has_so_many_rooms_led_and_no_more(self, client: Client, room: str, settings: Settings) -> None:
        settings.LED_ROOMS_MAX = 2
        win(client, room + "-0")
        with caller(REMOTE_ADDR="203.0.113.9") as other:
            won = win(other, room + "-1")
            answer = client.campaign(room, "atlas")
            assert told(answer) == (409, "capacity_exceeded")
            assert answer.headers["Retry-After"] == "30"
            other.resign(room + "-1", won["leader_token"])
        win(client, room)

    def test_takes_nobody_where_none_may_lead(self, client: Client, room: str, settings: Settings) -> None:
        settings.LED_ROOMS_MAX = 0
        assert told(client.campaign(room, "atlas")) == (409, "capacity_exceeded")

    def test_counts_what_other_processes_granted(
        self, client: Client, room: str, settings: Settings, recount: Callable[[], None]
    ) -> None:
        settings.LED_ROOMS_MAX = 1
        win(client, room)
        recount()
        assert told(client.campaign(room + "-2", "atlas")) == (409, "capacity_exceeded")
