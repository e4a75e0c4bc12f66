"""GET /locks: the team's live locks by name, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from octostore.api import cursors
from octostore.teams.models import Team
from tests.elections.rooms import told
from tests.locks.cast import Worker, expire, issue
from tests.locks.ladder import Ladder


def listed(worker: Worker, **asked: Any) -> dict[str, Any]:
    answer = worker.get("/locks", params=asked)
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    assert page.keys() == {"locks", "total", "prefix", "next_cursor"}
    return page


def names(worker: Worker, **asked: Any) -> list[str]:
    return [lock["name"] for lock in listed(worker, **asked)["locks"]]


def walk(worker: Worker, **asked: Any) -> Iterator[dict[str, Any]]:
    cursor: dict[str, str] = {}
    while True:
        page = listed(worker, **asked, **cursor)
        yield page
        if page["next_cursor"] is None:
            return
        cursor = {"cursor": page["next_cursor"]}


class TestListing:
    def test_nothing(self, worker: Worker) -> None:
        assert listed(worker) == {"locks": [], "total": 0, "prefix": None, "next_cursor": None}

    def test_tells_what_is_held_as_its_own_address_does(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock, holder="w", metadata="m")
        worker.hold(lock + "-2", session_id=worker.begin())
        page = listed(worker)
        assert page["locks"] == [worker.lock(lock), worker.lock(lock + "-2")]
        assert page["total"] == 2
        assert won["lease_id"] not in str(page)

    def test_only_what_is_live(self, worker: Worker, admin: Worker) -> None:
        for lock in "abcd":
            won = worker.hold(lock)
        worker.release("d", won["lease_id"])
        expire("c")
        admin.revoke("b", worker.lock("b")["fencing_token"])
        worker.delete(f"/sessions/{(session := worker.begin())}")
        assert session
        assert names(worker) == ["a"]
        assert listed(worker)["total"] == 1

    def test_in_the_order_of_their_bytes(self, worker: Worker) -> None:
        held = ["b", "B", "a/b", "a-b", "a.b", "a_b", "a", "é", "日", "0", "ab", "Ω"]
        for lock in held:
            worker.hold(lock)
        assert names(worker) == sorted(held, key=str.encode)

    def test_another_teams_locks_are_not_there(self, worker: Worker, outsider: Worker) -> None:
        worker.hold("a")
        outsider.hold("b")
        assert (names(worker), names(outsider)) == (["a"], ["b"])

    def test_an_acl_is_shown_at_the_locks_own_address_alone(self, worker: Worker, lock: str) -> None:
        worker.hold(lock, acl={"acquire": ["user:ci"]})
        assert "acl" not in listed(worker)["locks"][0]


class TestPrefix:
    def test_keeps_what_begins_so(self, worker: Worker) -> None:
        for lock in ("repo/a", "repo/b", "repo", "repository", "Repo/a", "xrepo/a"):
            worker.hold(lock)
        assert names(worker, prefix="repo/") == ["repo/a", "repo/b"]
        assert listed(worker, prefix="repo/")["prefix"] == "repo/"
        assert listed(worker, prefix="repo/")["total"] == 2
        assert len(names(worker, prefix="")) == 6
        assert names(worker, prefix="Repo") == ["Repo/a"]
        assert names(worker, prefix="repo/a/") == []

    @pytest.mark.parametrize("literal", ["%", "_", "re_", "re%", "[r]", "r*", "re?o", "\\", "'", " ", "\U0001f600"])
    def test_every_character_stands_for_itself(self, worker: Worker, literal: str) -> None:
        worker.hold("repo")
        worker.hold("re.o")
        assert names(worker, prefix=literal) == []

    def test_an_underscore_is_one(self, worker: Worker) -> None:
        worker.hold("a_b")
        worker.hold("axb")
        assert names(worker, prefix="a_") == ["a_b"]

    def test_of_many_bytes(self, worker: Worker) -> None:
        worker.hold("日本")
        worker.hold("日x")
        assert names(worker, prefix="日") == ["日x", "日本"]
        assert names(worker, prefix="日本") == ["日本"]

    def test_of_a_key_bounds_what_it_sees(self, worker: Worker, team: Team) -> None:
        for lock in ("repo/a", "repo/b", "other"):
            worker.hold(lock)
        with Worker(issue(team, "read", prefix="repo/")) as bound:
            assert names(bound) == ["repo/a", "repo/b"]
            assert listed(bound)["total"] == 2
            assert names(bound, prefix="re") == ["repo/a", "repo/b"]
            assert names(bound, prefix="repo/b") == ["repo/b"]
            assert names(bound, prefix="other") == []

    @pytest.mark.parametrize("bad", ["a" * 257, "é" * 129, "a\0", "a\n", "\u202e", "a\x7f"])
    def test_a_bad_one_is_named(self, worker: Worker, bad: str) -> None:
        answer = worker.get("/locks", params={"prefix": bad})
        assert told(answer) == (400, "invalid_input")
        assert "prefix" in answer.json()["details"]


class TestPages:
    def test_meet_each_lock_once(self, worker: Worker) -> None:
        held = [f"lock-{n:02}" for n in range(10)]
        for lock in held:
            worker.hold(lock)
        for limit in (1, 3, 5, 9, 10, 11):
            pages = list(walk(worker, limit=limit))
            assert [lock["name"] for page in pages for lock in page["locks"]] == held
            assert len(pages) == -(-10 // limit)
            assert {page["total"] for page in pages} == {10}

    def test_have_fifty_locks_when_nothing_is_said(self, worker: Worker) -> None:
        for n in range(52):
            worker.hold(f"lock-{n:02}")
        page = listed(worker)
        assert (len(page["locks"]), page["total"]) == (50, 52)
        assert len(names(worker, cursor=page["next_cursor"])) == 2

    def test_go_on_where_the_last_lock_is_gone(self, worker: Worker) -> None:
        leases = {lock: worker.hold(lock)["lease_id"] for lock in "abcdef"}
        page = listed(worker, limit=2)
        for lock in "bc":
            worker.release(lock, leases[lock])
        worker.hold("aa")
        worker.hold("da")
        assert names(worker, cursor=page["next_cursor"]) == ["d", "da", "e", "f"]

    @pytest.mark.parametrize("bad", ["0", "-1", "201", "1.0", "abc", "", " 5", "+5", "\u0665", str(2**63), "9" * 40])
    def test_a_bad_limit_is_named(self, worker: Worker, bad: str) -> None:
        answer = worker.get("/locks", params={"limit": bad})
        assert told(answer) == (400, "invalid_input")
        assert "limit" in answer.json()["details"]


class TestCursor:
    def cursor(self, worker: Worker, **asked: Any) -> str:
        for lock in ("repo/a", "repo/b", "repo/c"):
            worker.acquire(lock)
        cursor: str = listed(worker, limit=1, **asked)["next_cursor"]
        return cursor

    def refuses(self, answer: httpx.Response) -> None:
        assert told(answer) == (400, "invalid_input")
        assert "cursor" in answer.json()["details"]

    def test_one_that_was_tampered_with_is_refused(self, worker: Worker) -> None:
        cursor = self.cursor(worker)
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        for place, character in enumerate(cursor):
            other = alphabet[(alphabet.index(character) + 1) % 64]
            self.refuses(worker.get("/locks", params={"cursor": cursor[:place] + other + cursor[place + 1 :]}))
        for bad in (
            "",
            "x",
            cursor[:-1],
            cursor + "A",
            cursor + "=",
            " " + cursor,
            "repo/a",
            "é",
            "0",
            "-1",
            "a" * 9000,
        ):
            self.refuses(worker.get("/locks", params={"cursor": bad}))

    def test_one_of_another_team_is_refused(self, worker: Worker, outsider: Worker) -> None:
        cursor = self.cursor(worker)
        self.refuses(outsider.get("/locks", params={"cursor": cursor}))

    def test_one_of_another_prefix_is_refused(self, worker: Worker) -> None:
        cursor = self.cursor(worker, prefix="repo/")
        assert names(worker, prefix="repo/", cursor=cursor) == ["repo/b", "repo/c"]
        for other in ({}, {"prefix": "repo"}, {"prefix": "repo/b"}):
            self.refuses(worker.get("/locks", params={"cursor": cursor} | other))

    def test_one_of_another_list_is_refused(self, worker: Worker) -> None:
        self.cursor(worker)
        worker.begin()
        worker.begin()
        cursor = worker.get("/sessions", params={"limit": 1}).json()["next_cursor"]
        self.refuses(worker.get("/locks", params={"cursor": cursor}))

    def test_lasts_over_a_new_server_key(self, worker: Worker, settings: Any) -> None:
        cursor = self.cursor(worker)
        newer = type(settings.SERVER_KEYS[0])(id="newer", secret=b"n" * 32)
        settings.SERVER_KEYS = [newer, *settings.SERVER_KEYS]
        assert names(worker, cursor=cursor) == ["repo/b", "repo/c"]
        assert cursors.unseal("walk", cursors.seal("walk", "position")) == "position"


class TestLadder(Ladder):
    method = "GET"
    path = "/locks"
    scope = "read"
