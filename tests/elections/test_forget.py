"""Idle rooms are forgotten with their history; what was once granted stays in the past."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from pytest_django.fixtures import Settings

from elections import tasks
from octostore.leases import reaper
from octostore.leases.models import Lease
from tests.elections.rooms import age, stored, win
from tests.http import Client
from tests.leases.moving_time import pass_time

pytestmark = pytest.mark.usefixtures("database")

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def lead_and_resign(client: Client, room: str) -> int:
    won = win(client, room)
    client.resign(room, won["leader_token"])
    term: int = won["leader"]["term"]
    return term


class TestAnIdleRoom:
    def test_is_forgotten_after_a_day(self, client: Client, room: str) -> None:
        lead_and_resign(client, room)
        pass_time(DAY + HOUR)
        tasks.forget_idle_rooms()
        assert stored() == []

    def test_reads_as_if_nobody_had_led_it(self, client: Client, room: str) -> None:
        term = lead_and_resign(client, room)
        pass_time(DAY + HOUR)
        tasks.forget_idle_rooms()
        assert client.room(room).json()["status"] == "vacant"
        assert client.get(f"/elections/{room}/terms").json()["terms"] == []
        assert client.get(f"/elections/{room}/terms/{term}").json()["status"] == "unknown"

    def test_never_sees_an_old_term_again(self, client: Client, room: str) -> None:
        term = lead_and_resign(client, room)
        pass_time(DAY + HOUR)
        tasks.forget_idle_rooms()
        assert win(client, room)["leader"]["term"] > term

    def test_that_expired_is_forgotten_once_that_was_marked(self, client: Client, room: str) -> None:
        win(client, room)
        pass_time(DAY + HOUR)
        reaper.sweep()
        tasks.forget_idle_rooms()
        assert stored() == []

    def test_may_be_kept_for_longer(self, client: Client, room: str, settings: Settings) -> None:
        settings.ROOM_IDLE_SECONDS = 3 * 86_400
        lead_and_resign(client, room)
        pass_time(2 * DAY)
        tasks.forget_idle_rooms()
        assert Lease.objects.count() == 1


class TestWhatStays:
    def test_a_room_that_is_led(self, client: Client, room: str) -> None:
        won = win(client, room)
        pass_time(2 * DAY)
        Lease.objects.update(expires_at=F("expires_at") + 2 * 86_400_000)
        tasks.forget_idle_rooms()
        assert client.renew(room, won["leader_token"]).status_code == 200

    def test_a_room_led_within_the_day(self, client: Client, room: str) -> None:
        lead_and_resign(client, room)
        pass_time(DAY - HOUR)
        before = stored()
        tasks.forget_idle_rooms()
        assert stored() == before

    def test_a_room_whose_term_could_come_again(self, client: Client, room: str) -> None:
        lead_and_resign(client, room)
        age(room, 2 * 86_400)
        tasks.forget_idle_rooms()
        assert Lease.objects.count() == 1
