"""In which order staff see rooms, and that an order costs no more than it must."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from octostore.dashboard.queries import rooms as queries
from octostore.leases.models import Lease, LeaseEvent
from tests.dashboard.cast import Person, rows
from tests.dashboard.test_rooms import PATH, expire, first_words, lead, resign

HOUR_MS = 3_600_000
FIRST, SECOND, THIRD = "room-1111", "room-2222", "room-3333"


def change_hands(room: str, times: int) -> None:
    for _ in range(times):
        resign(room, lead(room))
    lead(room)


class TestOrder:
    @pytest.mark.parametrize(
        ("sort", "order"),
        [
            ("expiry", [SECOND, THIRD, FIRST]),
            ("newest", [THIRD, SECOND, FIRST]),
            ("longest", [FIRST, SECOND, THIRD]),
            ("name", [FIRST, SECOND, THIRD]),
            # As many terms each: the oldest first.
            ("busiest", [FIRST, SECOND, THIRD]),
        ],
    )
    def test_is_the_one_asked_for(self, staff: Person, sort: str, order: list[str]) -> None:
        for room, seconds in ((FIRST, 300), (SECOND, 20), (THIRD, 60)):
            lead(room, seconds=seconds)
        assert first_words(staff.get(PATH, {"sort": sort})) == order

    @pytest.mark.parametrize("sort", ["expiry", "longest"])
    def test_who_nobody_leads_neither_expires_nor_leads(self, staff: Person, sort: str) -> None:
        for room in (FIRST, SECOND, THIRD):
            lead(room)
        expire(FIRST)
        assert first_words(staff.get(PATH, {"sort": sort, "status": "all"})) == [SECOND, THIRD, FIRST]


class TestBusiest:
    ASKED = {"sort": "busiest", "status": "all"}

    def test_have_the_most_terms_of_the_last_hour_which_the_row_tells(self, staff: Person) -> None:
        for room, times in ((FIRST, 0), (SECOND, 3), (THIRD, 1)):
            change_hands(room, times)
        page = staff.get(PATH, self.ASKED)
        assert first_words(page) == [SECOND, THIRD, FIRST]
        assert [row.split()[-1] for row in rows(page)] == ["4", "2", "1"]

    def test_are_not_those_that_were_busy_before(self, staff: Person) -> None:
        change_hands(FIRST, 4)
        LeaseEvent.objects.update(at=F("at") - HOUR_MS - 1)
        Lease.objects.update(began_at=F("began_at") - HOUR_MS - 1)
        change_hands(SECOND, 1)
        page = staff.get(PATH, self.ASKED)
        assert first_words(page) == [SECOND, FIRST]
        assert [row.split()[-1] for row in rows(page)] == ["2", "0"]

    def test_are_those_of_so_many_events_at_most(self, staff: Person, monkeypatch: pytest.MonkeyPatch) -> None:
        change_hands(FIRST, 4)
        change_hands(SECOND, 1)
        monkeypatch.setattr(queries, "EVENTS_MAX", 3)
        LeaseEvent.objects.filter(lease__name=FIRST).update(at=F("at") - 1)
        assert first_words(staff.get(PATH, self.ASKED)) == [SECOND, FIRST]

    def test_are_found_among_those_that_the_filter_leaves(self, staff: Person) -> None:
        change_hands(FIRST, 3)
        expire(FIRST)
        change_hands(SECOND, 1)
        lead(THIRD)
        assert first_words(staff.get(PATH, {"sort": "busiest"})) == [SECOND, THIRD]


class TestWhatItCosts:
    def test_one_query_more_than_another_order(
        self, staff: Person, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for number in range(20):
            change_hands(f"room-{number:04}", 1)
        staff.get(PATH)  # takes the greeting
        with CaptureQueriesContext(connection) as others:
            staff.get(PATH)
        with django_assert_num_queries(len(others) + 1):
            staff.get(PATH, {"sort": "busiest"})

    @pytest.fixture
    def much_history(self, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A thousand rooms and their twenty terms each, of which the last five hundred events are looked at."""
        monkeypatch.setattr(queries, "EVENTS_MAX", 500)
        lead(FIRST)
        [lease], [event] = Lease.objects.all(), LeaseEvent.objects.all()
        kept = {field.attname: getattr(lease, field.attname) for field in Lease._meta.fields if field.attname != "id"}
        told = {field.attname: getattr(event, field.attname) for field in LeaseEvent._meta.fields}
        del told["id"]
        leases = Lease.objects.bulk_create(Lease(**kept | {"name": f"room-{n:04}"}) for n in range(1_000))
        LeaseEvent.objects.bulk_create(
            LeaseEvent(**told | {"lease_id": lease.pk, "n": n}) for n in range(20) for lease in leases
        )
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE leases_lease")
            cursor.execute("ANALYZE leases_leaseevent")

    @pytest.mark.only("postgresql")
    def test_events_are_found_by_their_number(self, much_history: None) -> None:
        asked = queries.Asked(search="", status="led", sort="busiest", size=100, page=1)
        with CaptureQueriesContext(connection) as captured:
            found = queries.page(asked)
        assert found.total == 1_001
        [ordering] = [
            query["sql"] for query in captured if 'AS "begun"' in query["sql"] or "COUNT(recent" in query["sql"]
        ]
        with connection.cursor() as cursor:
            # As it was sent, with numbered parameters: planned for whatever they are.
            cursor.execute(f"EXPLAIN (GENERIC_PLAN) {ordering}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
        assert "leases_leaseevent_pkey" in plan
        assert "Seq Scan on leases_leaseevent" not in plan
