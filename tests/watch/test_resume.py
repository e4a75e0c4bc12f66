"""A reader that comes back hears what it missed, in order and once, or is told that it must start over."""

from __future__ import annotations

import pytest

from octostore.leases import reaper
from tests.elections.rooms import expire, win
from tests.http import Client
from tests.watch.conftest import Watch
from tests.watch.frames import Frame


def change(client: Client, room: str, times: int) -> None:
    """So many changes: won and resigned in turn."""
    for _ in range(times // 2):
        client.resign(room, win(client, room)["leader_token"])
    if times % 2:
        win(client, room)


def opening(watch: Watch, last_event_id: str, frames: int) -> list[Frame]:
    """The first frames of a resumed stream, after which there is silence."""
    watcher = watch(last_event_id=last_event_id)
    found = [watcher.next() for _ in range(frames)]
    assert watcher.is_silent(0.2)
    return found


class TestMissed:
    def test_changes_come_in_order_and_then_the_present_state_without_an_id(
        self, watch: Watch, client: Client, room: str
    ) -> None:
        change(client, room, 2)
        seen = watch().next()
        change(client, room, 5)
        *missed, now = opening(watch, seen.id or "", 6)
        assert [frame.n for frame in missed] == [3, 4, 5, 6, 7]
        assert [frame.leader for frame in missed] == ["atlas", None, "atlas", None, "atlas"]
        assert {frame.event for frame in [*missed, now]} == {"state"}
        assert (now.id, now.leader) == (None, "atlas")

    def test_nothing_missed_is_just_the_present_state(self, watch: Watch, client: Client, room: str) -> None:
        change(client, room, 3)
        seen = watch().next()
        (now,) = opening(watch, seen.id or "", 1)
        assert (now.event, now.id, now.leader) == ("state", None, "atlas")

    @pytest.mark.parametrize("empty", ["", "  "])
    def test_empty_id_is_none(self, watch: Watch, client: Client, room: str, empty: str) -> None:
        change(client, room, 3)
        (now,) = opening(watch, empty, 1)
        assert (now.event, now.n, now.leader) == ("state", 3, "atlas")

    def test_everything_since_before_the_first_leader(self, watch: Watch, client: Client, room: str) -> None:
        seen = watch().next()
        change(client, room, 3)
        *missed, now = opening(watch, seen.id or "", 4)
        assert [frame.n for frame in missed] == [1, 2, 3]
        assert now.leader == "atlas"

    def test_expiry_that_nobody_marked_is_among_it(self, watch: Watch, client: Client, room: str) -> None:
        change(client, room, 1)
        seen = watch().next()
        expire(room)
        missed, now = opening(watch, seen.id or "", 2)
        assert (missed.n, missed.leader, now.leader) == (2, None, None)

    def test_changes_go_on_where_the_opening_ended(self, watch: Watch, client: Client, room: str) -> None:
        change(client, room, 2)
        seen = watch().next()
        change(client, room, 2)
        watcher = watch(last_event_id=seen.id)
        change(client, room, 2)
        assert [watcher.next_change().n for _ in range(4)] == [3, 4, 5, 6]

    def test_room_that_nobody_led_can_be_resumed(self, watch: Watch, room: str) -> None:
        (now,) = opening(watch, "0-0", 1)
        assert (now.event, now.id, now.leader) == ("state", None, None)


class TestReset:
    @pytest.mark.parametrize(
        "garbage",
        ["x", "-1", "1", "1-", "-", "1-2-3", "1--2", "+1-2", "1- 2", "٣-1", "9" * 40 + "-1", "1-" + "9" * 40, "{}"],
    )
    def test_garbage(self, watch: Watch, client: Client, room: str, garbage: str) -> None:
        win(client, room)
        watcher = watch(headers=f"Last-Event-ID: {garbage.encode().decode('latin-1')}\r\n")
        frame = watcher.next()
        assert (frame.event, frame.n, frame.leader) == ("reset", 1, "atlas")

    def test_twice(self, watch: Watch, client: Client, room: str) -> None:
        win(client, room)
        seen = watch().next()
        frame = watch(headers=f"Last-Event-ID: {seen.id}\r\nLast-Event-ID: {seen.id}\r\n").next()
        assert frame.event == "reset"

    def test_future(self, watch: Watch, client: Client, room: str) -> None:
        win(client, room)
        seen = watch().next()
        for future in (f"{seen.incarnation}-2", f"{seen.incarnation}-{2**53}", f"{seen.incarnation + 1}-1"):
            frame = watch(last_event_id=future).next()
            assert (frame.event, frame.id) == ("reset", seen.id)

    def test_another_room(self, watch: Watch, client: Client, room: str) -> None:
        win(client, room)
        win(client, room + "-other")
        there = watch(of=room + "-other").next()
        here = watch(last_event_id=there.id).next()
        assert (here.event, here.data["election_id"]) == ("reset", room)

    def test_older_than_what_is_kept(self, watch: Watch, client: Client, room: str) -> None:
        change(client, room, 2)
        seen = watch().next()
        change(client, room, 6)
        reaper.trim(terms_kept=2)
        frame = watch(last_event_id=seen.id).next()
        assert (frame.event, frame.n) == ("reset", 8)
        *missed, _ = opening(watch, f"{seen.incarnation}-4", 5)
        assert [frame.n for frame in missed] == [5, 6, 7, 8]

    def test_before_a_restore(self, watch: Watch, client: Client, room: str) -> None:
        win(client, room)
        seen = watch().next()
        reaper.after_restore(actor="operator")
        frame = watch(last_event_id=seen.id).next()
        assert (frame.event, frame.leader) == ("reset", None)
        assert frame.incarnation > seen.incarnation

    def test_is_resumed_from(self, watch: Watch, client: Client, room: str) -> None:
        win(client, room)
        reset = watch(last_event_id="garbage").next()
        (now,) = opening(watch, reset.id or "", 1)
        assert now.event == "state"
