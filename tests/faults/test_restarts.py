"""kill -9 of web processes with leases held: terms, leases and ends survive, none is stretched (G1, G2)."""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import uuid4

from octostore.leases.models import Lease
from tests.conftest import VENDOR
from tests.faults.load import load, wait_for_renewals
from tests.invariants import violations
from tests.players import collect_events, now_ms
from tests.processes import Web


def test_what_was_answered_survives_the_death_of_every_process(start_web: Callable[..., Web]) -> None:
    held, left = f"room-{uuid4().hex}", f"room-{uuid4().hex}"
    webs = [start_web(), start_web()]
    with webs[0].client() as client:
        won, resigned = client.campaign(held, "atlas").json(), client.campaign(left, "atlas").json()
        client.resign(left, resigned["leader_token"])
    for web in webs:
        web.kill()
    for web in webs:
        web.start(wait=False)
    for web in webs:
        web.wait_until_ready()
    with webs[1].client() as client:
        assert client.room(held).json()["leader"] == won["leader"]
        assert client.campaign(held, "borea").json()["leader"] == won["leader"]
        assert client.renew(held, won["leader_token"]).json()["leader"]["term"] == won["leader"]["term"]
        assert client.room(left).json()["status"] == "vacant"
        refused = client.renew(left, resigned["leader_token"])
        assert (refused.status_code, refused.json()["ended"]) == (404, "released")
        assert client.campaign(left, "borea").json()["leader"]["term"] > resigned["leader"]["term"]


def test_restarts_stretch_no_lease(start_web: Callable[..., Web]) -> None:
    room = f"room-{uuid4().hex}"
    web = start_web()
    with web.client() as client:
        won = client.campaign(room, "atlas", ttl_seconds=300).json()
        web.kill()
        web.start()
        assert client.room(room).json()["leader"] == won["leader"]
        # The rest of the lease passes while nobody serves.
        web.kill()
        Lease.objects.update(expires_at=now_ms() + 20)
        web.start()
        assert client.room(room).json()["status"] == "vacant"
        assert client.renew(room, won["leader_token"]).json()["ended"] == "expired"
        assert client.campaign(room, "borea").json()["leader"]["term"] > won["leader"]["term"]


def test_one_process_may_die_again_and_again_under_load(start_web: Callable[..., Web]) -> None:
    webs = [start_web(), start_web()]
    with load(webs) as history:
        for _ in range(2):
            wait_for_renewals(history, 20, within=10)
            webs[0].kill()
            wait_for_renewals(history, 20, within=10)
            webs[0].start()
        wait_for_renewals(history, 20, within=10)
    collect_events(history)
    assert violations(history) == []
    assert history.count("renew", "unknown") > 0
    assert history.count("renew", "refused") == 0


def test_a_paused_process_costs_no_term(start_web: Callable[..., Web]) -> None:
    webs = [start_web(), start_web()]
    with load(webs, clients=4) as history:
        wait_for_renewals(history, 20, within=10)
        webs[0].pause()
        if VENDOR == "postgresql":
            wait_for_renewals(history, 20, within=10)
        else:
            # It may hold the file's only write lock: others are told so within the bounded wait.
            time.sleep(1)
        webs[0].resume()
        wait_for_renewals(history, 20, within=10)
    collect_events(history)
    assert violations(history) == []
    assert history.count("renew", "refused") == 0
