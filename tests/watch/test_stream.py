"""A stream begins with the present state and then tells of every change."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from octostore.leases import engine, reaper
from octostore.leases.models import Lease, LeaseEvent
from tests.elections.rooms import expire, instant, win
from tests.http import Client
from tests.players import SPACE, now_ms
from tests.processes import Web
from tests.watch.conftest import Watch
from tests.watch.watcher import Watcher


class TestOpening:
    def test_room_nobody_ever_led_is_vacant(self, watch: Watch, room: str) -> None:
        before = now_ms()
        frame = watch().next()
        assert (frame.event, frame.id, frame.retry) == ("state", "0-0", 1000)
        assert before - 1000 < instant(frame.data.pop("observed_at")) <= now_ms() + 1000
        assert frame.data == {
            "schema_version": 1,
            "election_id": room,
            "status": "vacant",
            "leader": None,
            "retry_after_ms": 0,
        }

    def test_leader_is_told_as_status_tells(self, watch: Watch, client: Client, room: str) -> None:
        won = win(client, room, metadata="line\nbreak \u2028", ttl_seconds=20)
        frame = watch().next()
        assert frame.data["status"] == "leader"
        assert frame.data["leader"] == won["leader"] == client.room(room).json()["leader"]
        assert 19_000 < frame.data["retry_after_ms"] <= 24_000
        assert frame.id == f"{won['leader']['term']}-1"

    def test_metadata_is_absent_when_none_was_given(self, watch: Watch, client: Client, room: str) -> None:
        win(client, room)
        assert "metadata" not in watch().next().data["leader"]

    def test_nothing_follows_while_nothing_happens(self, watch: Watch, client: Client, room: str) -> None:
        win(client, room)
        watcher = watch()
        watcher.next()
        assert watcher.is_silent(1.5)

    def test_first_frame_comes_at_once(self, watch: Watch) -> None:
        watcher = watch()
        assert watcher.next().at - watcher.began < 1

    def test_capability_is_in_no_frame(self, watch: Watch, client: Client, room: str) -> None:
        watcher = watch()
        first = watcher.next()
        leader_token = win(client, room)["leader_token"]
        assert leader_token not in repr([first, watcher.next()])


class TestHeaders:
    def test_proxies_are_told_to_keep_their_hands_off(self, watch: Watch) -> None:
        headers = watch(headers="Accept-Encoding: gzip, br, deflate\r\n").headers
        assert headers["content-type"] == "text/event-stream"
        assert headers["cache-control"] == "no-cache, no-transform"
        assert headers["x-accel-buffering"] == "no"
        assert "content-encoding" not in headers
        assert "content-length" not in headers
        assert headers["x-request-id"].startswith("req_")

    def test_any_origin_may_watch_without_credentials(self, watch: Watch) -> None:
        origin = "https://elsewhere.example"
        headers = watch(headers=f"Origin: {origin}\r\n", last_event_id="1-1").headers
        assert headers["access-control-allow-origin"] in {"*", origin}
        assert "access-control-allow-credentials" not in headers
        assert "x-request-id" in headers["access-control-expose-headers"].lower()

    def test_head_is_answered_and_over(self, client: Client, room: str) -> None:
        answer = client.head(f"/elections/{room}/watch")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/event-stream"
        assert "content-length" not in answer.headers

    def test_old_protocol_gets_bare_frames_until_the_close(self, watch: Watch, client: Client, room: str) -> None:
        watcher = watch(version="1.0")
        assert watcher.next().event == "state"
        assert "transfer-encoding" not in watcher.headers
        win(client, room)
        assert watcher.next().leader == "atlas"


class TestRefusals:
    @pytest.mark.parametrize("bad", ["short", "with%20space-", "x" * 65])
    def test_bad_id(self, client: Client, bad: str) -> None:
        answer = client.get(f"/elections/{bad}/watch")
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")

    def test_other_methods(self, client: Client, room: str) -> None:
        answer = client.post(f"/elections/{room}/watch")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


class TestChanges:
    def test_each_is_told_with_its_count_and_the_state_it_led_to(self, watch: Watch, client: Client, room: str) -> None:
        watcher = watch()
        watcher.next()
        won = win(client, room, ttl_seconds=20)
        frame = watcher.next()
        assert (frame.event, frame.id) == ("state", f"{won['leader']['term']}-1")
        assert frame.data["leader"] == won["leader"]
        assert 20_000 <= frame.data["retry_after_ms"] <= 24_000
        client.resign(room, won["leader_token"])
        frame = watcher.next()
        assert (frame.event, frame.n, frame.data["status"], frame.data["leader"]) == ("state", 2, "vacant", None)
        assert frame.data["retry_after_ms"] == 0
        win(client, room, "borea")
        frame = watcher.next()
        assert (frame.n, frame.leader) == (3, "borea")
        assert frame.incarnation == won["leader"]["term"]

    def test_retry_is_never_further_away_than_anywhere_else(self, watch: Watch, client: Client, room: str) -> None:
        watcher = watch()
        watcher.next()
        win(client, room, ttl_seconds=300)
        assert 55_000 <= watcher.next().data["retry_after_ms"] <= 60_000
        assert 55_000 <= watch(last_event_id="0-0").next().data["retry_after_ms"] <= 60_000

    def test_renewal_moves_the_deadline_and_has_no_id(self, watch: Watch, client: Client, room: str) -> None:
        leader_token = win(client, room)["leader_token"]
        watcher = watch()
        watcher.next()
        renewed = client.renew(room, leader_token, ttl_seconds=60).json()
        frame = watcher.next()
        assert (frame.event, frame.id) == ("state", None)
        assert frame.data["leader"] == renewed["leader"]

    def test_takeover_of_an_unmarked_lease_is_two_changes(self, watch: Watch, client: Client, room: str) -> None:
        win(client, room)
        watcher = watch()
        watcher.next()
        expire(room)
        deadline = Lease.objects.get(space=SPACE, name=room).expires_at
        win(client, room, "borea")
        ended, won = watcher.next(), watcher.next()
        assert (ended.n, ended.data["leader"], instant(ended.data["observed_at"])) == (2, None, deadline)
        assert (won.n, won.leader) == (3, "borea")

    def test_removal_is_told(self, watch: Watch, client: Client, room: str) -> None:
        term = win(client, room)["leader"]["term"]
        watcher = watch()
        watcher.next()
        engine.revoke(SPACE, room, term=term, reason="", actor="operator")
        assert watcher.next().data["status"] == "vacant"

    def test_other_rooms_are_not_told_of(self, watch: Watch, client: Client, room: str) -> None:
        watcher = watch()
        watcher.next()
        win(client, room + "-other")
        assert watcher.is_silent(1.5)

    def test_all_watchers_get_the_same_bytes(self, watch: Watch, client: Client, room: str) -> None:
        watchers = [watch() for _ in range(5)]
        for watcher in watchers:
            watcher.next()
        win(client, room)
        told = [watcher.next() for watcher in watchers]
        assert len({repr((frame.id, frame.data)) for frame in told}) == 1


class TestBehindTheEngine:
    """What no hint tells of is found within a second or two."""

    def test_restore_starts_over(self, watch: Watch, client: Client, room: str) -> None:
        won = win(client, room)
        watcher = watch()
        watcher.next()
        reaper.after_restore(actor="operator")
        frame = watcher.next(3)
        assert (frame.event, frame.data["status"]) == ("reset", "vacant")
        assert frame.incarnation > won["leader"]["term"]
        win(client, room)
        assert (following := watcher.next()).n == frame.n + 1
        assert following.incarnation == frame.incarnation

    def test_forgotten_room_starts_over(self, watch: Watch, client: Client, room: str) -> None:
        client.resign(room, win(client, room)["leader_token"])
        watcher = watch()
        watcher.next()
        LeaseEvent.objects.filter(lease__name=room).delete()
        Lease.objects.filter(name=room).delete()
        frame = watcher.next(3)
        assert (frame.event, frame.id, frame.data["leader"]) == ("reset", "0-0", None)
        won = win(client, room)
        assert watcher.next().id == f"{won['leader']['term']}-1"

    def test_end_that_a_sweep_marked(self, watch: Watch, client: Client, room: str) -> None:
        win(client, room)
        watcher = watch()
        watcher.next()
        expire(room)
        reaper.sweep()
        assert (frame := watcher.next(3)).data["leader"] is None
        assert frame.n == 2

    def test_renewal_that_another_program_made(self, watch: Watch, client: Client, room: str) -> None:
        win(client, room)
        watcher = watch()
        watcher.next()
        Lease.objects.filter(name=room).update(expires_at=(until := now_ms() + 90_000))
        frame = watcher.next(3)
        assert (frame.id, instant(frame.data["leader"]["expires_at"])) == (None, until)


class TestProcesses:
    def test_change_in_another_process_is_told_at_once(
        self, watch: Watch, webs: list[Web], client: Client, room: str
    ) -> None:
        watcher = watch(webs[1])
        watcher.next()
        late = []
        for _ in range(10):
            began = time.monotonic()
            leader_token = win(client, room)["leader_token"]
            late.append(watcher.next().at - began)
            client.resign(room, leader_token)
            watcher.next()
        # The comparison once a second would take half a second on average.
        assert sorted(late)[len(late) // 2] < 0.2, late


class TestSettings:
    def test_stream_ends_with_a_farewell_when_it_has_lived_long_enough(
        self, start_web: Callable[..., Web], room: str
    ) -> None:
        web = start_web(OCTOSTORE_STREAM_SECONDS="2")
        with Watcher(web.port, f"/elections/{room}/watch") as watcher:
            *_, last = watcher.rest()
            assert (last.event, last.data) == ("bye", {"reason": "max_age"})
            assert 2 <= last.at - watcher.began < 5

    def test_switched_off_elections_have_no_streams(self, start_web: Callable[..., Web], room: str) -> None:
        web = start_web(PUBLIC_ELECTIONS="false")
        with web.client() as client:
            for answer in (
                client.get(f"/elections/{room}/watch"),
                client.campaign(room, "atlas", wait_seconds=30),
            ):
                assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
