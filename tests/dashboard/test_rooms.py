"""All rooms, for staff: found, put in order, looked into, and vacated on their word."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from octostore.dashboard.queries import rooms as queries
from octostore.leases import engine, reaper
from octostore.leases.models import Lease, LeaseEvent
from octostore.leases.outcomes import Granted, Held, Vacant
from octostore.teams.models import AuditEntry
from tests.dashboard.cast import Person, alike, errors_in, rows, seen, text_of
from tests.locks.cast import age
from tests.pages.browser import Browser

PATH = "/ops/rooms"
ROOM = "nightly-etl-7f3a"


def lead(room: str = ROOM, candidate: str = "worker-a", seconds: float = 60, **more: Any) -> Granted:
    outcome = engine.acquire("elections", room, holder=candidate, ttl=timedelta(seconds=seconds), **more)
    assert isinstance(outcome, Granted)
    return outcome


def resign(room: str, led: Granted) -> None:
    engine.release("elections", room, capability=led.capability)


def expire(room: str) -> None:
    row = Lease.objects.get(space="elections", name=room)
    Lease.objects.filter(pk=row.pk).update(expires_at=row.began_at)


def figures(page: Any) -> dict[str, str]:
    return dict(re.findall(r"<span>([^<]+)</span><strong>([^<]+)</strong>", text_of(page)))


def first_words(page: Any) -> list[str]:
    return [row.split()[0] for row in rows(page)]


class TestWhoComesIn:
    PATHS = (PATH, f"{PATH}/figures", f"{PATH}/{ROOM}", f"{PATH}/{ROOM}/vacate")

    @pytest.mark.parametrize("path", PATHS)
    def test_staff_alone(self, anonymous: Browser, owner: Person, staff: Person, path: str) -> None:
        lead()
        assert anonymous.get(path)["Location"].startswith("/accounts/login/?next=/ops/")
        assert owner.get(path).status_code == 403
        assert staff.get(path).status_code == 200

    @pytest.mark.parametrize("path", PATHS)
    def test_with_a_second_factor_where_it_is_asked_for(self, staff: Person, settings: Settings, path: str) -> None:
        settings.STAFF_SECOND_FACTOR = True
        lead()
        assert staff.get(path)["Location"] == "/accounts/2fa/totp/activate/"

    def test_nobody_elses_form_ends_a_term(self, owner: Person) -> None:
        led = lead()
        form = owner.get(f"/t/{owner.member.team.slug}/members/{owner.member.pk}/remove")
        sent = {"term": str(led.hold.term), "again": ROOM[-4:], "reason": "x"}
        assert owner.fill(form, f"{PATH}/{ROOM}/vacate", False, **sent).status_code == 403
        assert isinstance(engine.inspect("elections", ROOM), Held)

    def test_answers_are_kept_by_no_cache(self, staff: Person) -> None:
        answer = staff.get(PATH)
        assert answer["Cache-Control"] == "private, no-store"
        assert {"Cookie", "HX-Request"} <= {one.strip() for one in answer["Vary"].split(",")}


class TestListing:
    def test_row_says_who_leads_under_which_term_for_how_long(self, staff: Person) -> None:
        led = lead()
        [row] = rows(staff.get(PATH))
        for part in (ROOM, "Held", "worker-a", str(led.hold.term)[-6:], "1 min"):
            assert part in row
        assert f'title="{led.hold.term}"' in text_of(staff.get(PATH))

    def test_locks_are_no_rooms(self, staff: Person) -> None:
        engine.acquire("locks/x", "a", holder="w", ttl=timedelta(minutes=1))
        assert rows(staff.get(PATH, {"status": "all"})) == []

    def test_capability_is_nowhere(self, staff: Person) -> None:
        led = lead()
        for path in (PATH, f"{PATH}/{ROOM}", f"{PATH}/{ROOM}/vacate", f"{PATH}/figures"):
            assert led.capability not in text_of(staff.get(path))

    @pytest.mark.parametrize(
        ("status", "found"),
        [
            ("led", {"room-held", "room-expiring", "room-flaps"}),
            ("held", {"room-held", "room-flaps"}),
            ("expiring", {"room-expiring"}),
            ("flapping", {"room-flaps"}),
            ("free", {"room-vacant"}),
            ("all", {"room-held", "room-expiring", "room-flaps", "room-vacant"}),
        ],
    )
    def test_status(self, staff: Person, status: str, found: set[str]) -> None:
        for room in ("room-held", "room-expiring", "room-vacant"):
            lead(room)
        age("room-expiring", 45)
        expire("room-vacant")
        for _ in range(4):
            resign("room-flaps", lead("room-flaps"))
        lead("room-flaps")
        assert set(first_words(staff.get(PATH, {"status": status}))) == found

    @pytest.mark.parametrize(
        ("search", "found"),
        [
            ("room", 2),
            ("room-a", 1),
            ("oom", 0),
            ("worker-2", 1),
            ("Worker-2", 1),
            ("%", 0),
            ("_", 0),
            ("", 2),
            ("ROOM", 0),
        ],
    )
    def test_search_is_for_the_beginning_of_an_id_or_a_leader(self, staff: Person, search: str, found: int) -> None:
        lead("room-aaaa", "worker-1")
        lead("room-bbbb", "worker-2")
        assert len(rows(staff.get(PATH, {"q": search}))) == found

    def test_page_by_page(self, staff: Person) -> None:
        for number in range(26):
            lead(f"room-{number:04}")
        asked = {"sort": "name", "size": "25"}
        first = staff.get(PATH, asked)
        assert len(rows(first)) == 25
        assert "26 rooms" in seen(first)
        link = text_of(first).partition('rel="next" href="')[2].partition('"')[0]
        assert "sort=name" in link
        assert first_words(staff.get(PATH + link)) == ["room-0025"]

    @pytest.mark.parametrize(
        "wrong",
        [{"status": "x"}, {"sort": "x"}, {"size": "7"}, {"page": "0"}, {"page": "9999"}, {"q": "\0"}, {"q": "x" * 65}],
        ids=str,
    )
    def test_what_is_no_list_is_refused(self, staff: Person, wrong: dict[str, str]) -> None:
        assert staff.get(PATH, wrong).status_code == 400

    def test_line_of_elections_counts_minutes(self, staff: Person) -> None:
        for _ in range(3):
            resign(ROOM, lead())
        lead()
        LeaseEvent.objects.order_by("id").filter(kind="acquired").update(at=LeaseEvent.objects.latest("id").at)
        assert "4 elections in the last 30 minutes" in text_of(staff.get(PATH))

    def test_hostile_text_is_text(self, staff: Person) -> None:
        lead(metadata="<script>alert(1)</script>")
        Lease.objects.update(holder="<img src=x>")
        for path in (PATH, f"{PATH}/{ROOM}", f"{PATH}/{ROOM}/vacate"):
            page = staff.get(path).content.decode()
            assert "<script>alert" not in page
            assert "<img src=x>" not in page

    def test_htmx_gets_the_list_alone(self, staff: Person) -> None:
        lead()
        part = text_of(staff.part(PATH)).strip()
        assert part.startswith('<section id="rows"')
        assert "<html" not in part

    def test_many_cost_no_more_queries_than_one(
        self, staff: Person, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for number in range(20):
            lead(f"room-{number:04}")
        staff.get(PATH)  # takes the greeting
        # Session, user; clock, rooms, their latest terms, terms a minute, how many; figures: clock, counts, the
        # oldest end, latest terms, how far events reach, elections.
        with django_assert_num_queries(13):
            staff.get(PATH)


class TestFigures:
    def test_count_what_there_is(self, staff: Person) -> None:
        for room in ("room-held", "room-expiring", "room-vacant"):
            lead(room)
        age("room-expiring", 45)
        expire("room-vacant")
        told = figures(staff.get(f"{PATH}/figures"))
        assert (told["Rooms known"], told["Leaders now"], told["Expiring"], told["Flapping"]) == ("3", "2", "1", "0")

    def test_tell_how_far_the_sweeper_is_behind(self, staff: Person) -> None:
        lead()
        assert figures(staff.get(f"{PATH}/figures"))["Sweeper behind"] == "0 s"
        age(ROOM, 60 + 90)
        assert figures(staff.get(f"{PATH}/figures"))["Sweeper behind"].startswith("1 min 30 s")
        reaper.sweep()
        assert figures(staff.get(f"{PATH}/figures"))["Sweeper behind"] == "0 s"

    def test_elections_are_of_the_last_hour_minute_by_minute(self, staff: Person) -> None:
        for _ in range(3):
            resign(ROOM, lead())
        begun = list(LeaseEvent.objects.filter(kind="acquired").order_by("id"))
        for event, minutes in zip(begun, (61, 59, 1), strict=True):
            LeaseEvent.objects.filter(pk=event.pk).update(at=event.at - minutes * 60_000 - 500)
        page = staff.get(f"{PATH}/figures")
        assert figures(page)["Elections in the last minute"] == "1"
        assert "2 elections in the last 60 minutes" in text_of(page)

    def test_no_more_than_so_many_events_are_looked_at(self, staff: Person, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(queries, "EVENTS_MAX", 2)
        for _ in range(3):
            resign(ROOM, lead())
        LeaseEvent.objects.filter(n__lte=4).update(at=LeaseEvent.objects.latest("id").at - 5 * 60_000 - 500)
        assert "1 election in the last 5 minutes" in text_of(staff.get(f"{PATH}/figures"))


class TestDetail:
    def test_tells_state_terms_and_events(self, staff: Person) -> None:
        resign(ROOM, lead(candidate="worker-a"))
        led = lead(candidate="worker-b", metadata="says hello")
        page = staff.get(f"{PATH}/{ROOM}")
        for part in ("worker-b", str(led.hold.term), "says hello", "an unknown party wrote", "Force-vacate"):
            assert part in seen(page)
        assert [row.split()[1] for row in rows(page)] == ["acquired", "released", "acquired"]

    def test_of_a_vacant_one(self, staff: Person) -> None:
        resign(ROOM, lead())
        assert "Nobody leads" in seen(staff.get(f"{PATH}/{ROOM}"))

    @pytest.mark.parametrize("room", ["never-led-1234", "a b", "x" * 300, "%00"])
    def test_what_is_not_there_looks_the_same(self, staff: Person, room: str) -> None:
        lead()
        assert alike(staff.get(f"{PATH}/{room}"))[0] == 404


class TestVacating:
    def vacate(self, staff: Person, form: Any = None, **given: str) -> Any:
        path = f"{PATH}/{ROOM}/vacate"
        return staff.fill(form or staff.get(path), path, False, **({"again": ROOM[-4:], "reason": "it hangs"} | given))

    def test_page_says_that_the_leader_is_not_stopped(self, staff: Person) -> None:
        led = lead()
        text = seen(staff.get(f"{PATH}/{ROOM}/vacate"))
        for part in (str(led.hold.term), "worker-a", "The leader is not stopped by this"):
            assert part in text
        assert isinstance(engine.inspect("elections", ROOM), Held)

    def test_term_ends_and_events_and_audit_say_who_and_why(self, staff: Person) -> None:
        led = lead()
        answer = self.vacate(staff)
        assert answer["Location"] == f"{PATH}/{ROOM}"
        assert isinstance(engine.inspect("elections", ROOM), Vacant)
        entry = AuditEntry.objects.get()
        assert (entry.team, entry.actor, entry.action, entry.object, entry.reason, entry.before) == (
            None,
            f"staff:{staff.user.email}",
            "room_revoked",
            f"room:{ROOM}",
            "it hangs",
            {"term": led.hold.term},
        )
        assert entry.request_id == answer["X-Request-Id"]
        page = staff.get(f"{PATH}/{ROOM}")
        assert f"staff:{staff.user.email} it hangs" in rows(page)[0]

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ({"again": ""}, "The last four"),
            ({"again": ROOM}, "The last four"),
            ({"again": ROOM[-4:].upper()}, "The last four"),
            ({"reason": " "}, "Reason"),
            ({"reason": "x" * 501}, "Reason"),
            ({"term": "x"}, "Term"),
        ],
        ids=str,
    )
    def test_what_is_missing_is_named_and_nothing_ends(self, staff: Person, wrong: dict[str, str], field: str) -> None:
        lead()
        page = self.vacate(staff, **wrong)
        assert page.status_code == 422
        [complaint] = errors_in(page)
        assert complaint.startswith(field)
        assert isinstance(engine.inspect("elections", ROOM), Held)
        assert not AuditEntry.objects.exists()

    def test_term_that_is_over_is_told_with_both(self, staff: Person) -> None:
        first = lead()
        form = staff.get(f"{PATH}/{ROOM}/vacate")
        resign(ROOM, first)
        second = lead(candidate="worker-b")
        page = self.vacate(staff, form)
        assert page.status_code == 409
        for part in (str(first.hold.term), str(second.hold.term), "worker-b", "it hangs"):
            assert part in seen(page)
        assert isinstance(engine.inspect("elections", ROOM), Held)
        assert not AuditEntry.objects.exists()

    def test_vacant_room_has_no_form(self, staff: Person) -> None:
        resign(ROOM, lead())
        assert "nothing to end" in seen(staff.get(f"{PATH}/{ROOM}/vacate"))
