"""The tables are what the models say, and tuned where the database lets them be."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection

from octostore.leases.models import Lease, LeaseEvent
from tests.leases.acts import NAME, SPACE, grant, row

pytestmark = pytest.mark.usefixtures("database")


def ask(statement: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


class TestMigrations:
    def test_are_complete(self) -> None:
        call_command("makemigrations", "--check", "--dry-run", stdout=StringIO(), stderr=StringIO())

    def test_are_all_applied(self) -> None:
        call_command("migrate", "--check", stdout=StringIO())


class TestTheTables:
    def test_keep_one_row_for_each_name(self) -> None:
        grant()
        with pytest.raises(IntegrityError):
            Lease.objects.create(space=SPACE, name=NAME)

    def test_keep_one_event_for_each_count(self) -> None:
        grant()
        event = LeaseEvent.objects.get()
        with pytest.raises(IntegrityError):
            LeaseEvent.objects.create(
                lease_id=row().pk,
                incarnation=event.incarnation,
                n=1,
                kind="expired",
                at=0,
                term=0,
                holder="",
                expires_at=0,
                renewals=0,
            )

    def test_index_no_column_that_a_renewal_changes(self) -> None:
        with connection.cursor() as cursor:
            constraints = connection.introspection.get_constraints(cursor, "leases_lease").values()
        indexes = [constraint for constraint in constraints if constraint["index"] or constraint["unique"]]
        indexed = {column for index in indexes for column in index["columns"]}
        assert indexed - {"id"} == {"space", "name", "group_id", "open_in"}


@pytest.mark.only("postgresql")
class TestPostgreSQL:
    def test_leaves_room_on_pages_and_vacuums_early(self) -> None:
        for table in ("leases_lease", "leases_leasegroup"):
            [(options,)] = ask(f"SELECT reloptions FROM pg_class WHERE oid = '{table}'::regclass")
            assert options == ["fillfactor=60", "autovacuum_vacuum_scale_factor=0.01"]

    def test_compares_names_by_their_bytes(self) -> None:
        columns = ask(
            "SELECT attname, collname FROM pg_attribute JOIN pg_collation ON pg_collation.oid = attcollation"
            " WHERE attrelid = 'leases_lease'::regclass AND attname IN ('space', 'name') ORDER BY 1"
        )
        assert columns == [("name", "C"), ("space", "C")]


@pytest.mark.only("sqlite")
class TestSQLite:
    def test_forgets_no_commit_on_power_loss(self) -> None:
        assert ask("PRAGMA synchronous") == [(2,)]
        assert ask("PRAGMA journal_mode") == [("wal",)]

    def test_gives_no_row_number_twice(self) -> None:
        grant()
        first = row().pk
        Lease.objects.all().delete()
        grant()
        assert row().pk > first
