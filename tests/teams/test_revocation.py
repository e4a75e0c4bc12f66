"""What was begun with a key ends with it: within 15 s, and nothing else does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from queue import Queue

import httpx
import pytest
from django.utils import timezone

from octostore.teams import keys
from octostore.teams.models import ApiKey, Team
from octostore.teams.revocation import still_valid
from tests.locks.cast import Worker, found_team, issue
from tests.processes import Web
from tests.teams.cast import ACT

SECONDS = 15
PATIENCE_SECONDS = 25


def revoke(key: str) -> None:
    found = ApiKey.objects.get(visible=key[4:16])
    keys.revoke(team_id=found.team_id, visible=found.visible, act=ACT)


def rotate(key: str) -> None:
    found = ApiKey.objects.get(visible=key[4:16])
    keys.rotate(team_id=found.team_id, visible=found.visible, act=ACT)


def expire(key: str) -> None:
    ApiKey.objects.filter(visible=key[4:16]).update(expires_at=timezone.now())


def narrow(key: str) -> None:
    ApiKey.objects.filter(visible=key[4:16]).update(scopes="webhooks")


def confine(key: str) -> None:
    ApiKey.objects.filter(visible=key[4:16]).update(prefix="elsewhere/")


ENDINGS = [revoke, rotate, expire, narrow, confine]


class TestStillValid:
    @pytest.mark.parametrize("end", ENDINGS)
    def test_a_key_that_is_not_what_it_was_is_not(self, team: Team, end: Callable[[str], None]) -> None:
        gone, stays = issue(team), issue(found_team())
        principals = {keys.find(gone), keys.find(stays)}
        assert still_valid(principals) == principals
        end(gone)
        assert still_valid(principals) == {keys.find(stays)}

    def test_key_that_expires_later_is_valid(self, team: Team) -> None:
        principal = keys.find(issue(team, expires_at=keys.lasting(timedelta(hours=1))))
        assert still_valid({principal}) == {principal}

    def test_it_is_one_query_for_all(self, team: Team, django_assert_num_queries: object) -> None:
        principals = {keys.find(issue(team)) for _ in range(10)}
        with django_assert_num_queries(1):  # type: ignore[operator]
            assert still_valid(principals) == principals


@contextmanager
def watching(web: Web, key: str, lock: str) -> Iterator[Queue[str]]:
    """The lines of a stream as they come; an empty one more when it has ended."""
    lines: Queue[str] = Queue()
    opened = threading.Event()

    def read() -> None:
        with (
            httpx.Client(base_url=web.url, trust_env=False, timeout=PATIENCE_SECONDS) as client,
            client.stream("GET", f"/locks/{lock}/watch", headers={"Authorization": f"Bearer {key}"}) as answer,
        ):
            assert answer.status_code == 200
            opened.set()
            for line in answer.iter_lines():
                lines.put(line)
        lines.put("over")

    pool = ThreadPoolExecutor(1)
    try:
        reading = pool.submit(read)
        assert opened.wait(PATIENCE_SECONDS)
        yield lines
        reading.result(PATIENCE_SECONDS)
    finally:
        # A stream that never ends is told of, not waited for.
        pool.shutdown(wait=False)


def rest(lines: Queue[str]) -> list[str]:
    """What the stream still says, up to its end."""
    said = []
    while (line := lines.get(timeout=PATIENCE_SECONDS)) != "over":
        said.append(line)
    return said


class TestOpenStream:
    @pytest.mark.parametrize("end", [revoke, rotate])
    def test_ends_with_a_farewell(self, team: Team, two_webs: list[Web], end: Callable[[str], None]) -> None:
        key = issue(team)
        with watching(two_webs[0], key, "repo-a") as lines:
            began_at = time.monotonic()
            end(key)
            said = rest(lines)
        assert time.monotonic() - began_at < SECONDS
        assert said[-3:-1] == ["event: bye", 'data: {"reason":"revoked"}']

    def test_of_another_key_goes_on(self, team: Team, two_webs: list[Web]) -> None:
        key, other = issue(team), issue(team)
        with watching(two_webs[0], key, "repo-b") as goes_on, watching(two_webs[0], other, "repo-b") as ends:
            revoke(other)
            rest(ends)
            with Worker(key, base_url=two_webs[1].url) as worker:
                worker.hold("repo-b")
            while "acquired" not in goes_on.get(timeout=PATIENCE_SECONDS):
                pass
            revoke(key)


class TestWait:
    def test_is_answered_401(self, team: Team, two_webs: list[Web]) -> None:
        holder, waiter = issue(team), issue(team)
        with (
            Worker(holder, base_url=two_webs[0].url) as one,
            Worker(waiter, base_url=two_webs[0].url) as other,
            Worker(issue(team), base_url=two_webs[0].url) as third,
            ThreadPoolExecutor(2) as pool,
        ):
            one.hold("repo-c", ttl_seconds=300)
            ahead = pool.submit(third.acquire, "repo-c", wait_seconds=PATIENCE_SECONDS)
            while one.get("/usage").json()["waits"]["used"] < 1:
                time.sleep(0.02)
            waiting = pool.submit(other.acquire, "repo-c", wait_seconds=PATIENCE_SECONDS)
            while one.get("/usage").json()["waits"]["used"] < 2:
                time.sleep(0.02)
            began_at = time.monotonic()
            revoke(waiter)
            answer = waiting.result(PATIENCE_SECONDS)
            assert time.monotonic() - began_at < SECONDS
            assert (answer.status_code, answer.json()["code"]) == (401, "authentication_failed")
            assert not ahead.done()
            revoke(third.key or "")
            assert ahead.result(PATIENCE_SECONDS).status_code == 401
