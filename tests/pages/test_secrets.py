"""Passwords, codes, seeds, sessions, invitations and keys: in no log line, and in no table as they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from django.db import connection


@pytest.fixture
def run(database: str, database_url: str) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"DATABASE_URL": database_url, "OCTOSTORE_LOG_LEVEL": "DEBUG"}
    run = subprocess.run([sys.executable, "-m", "tests.pages.canaries"], env=environ, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    return run


def test_no_secret_is_found_in_any_line(run: subprocess.CompletedProcess[str]) -> None:
    secrets = json.loads(run.stdout)
    assert len(secrets) >= 25
    assert all(len(secret) >= 8 for secret in secrets)
    lines = run.stderr.splitlines()
    assert sum('"internal_error"' in line for line in lines) == 2
    assert [secret for secret in secrets if any(secret in line for line in lines)] == []


def test_no_key_code_or_seed_is_found_in_any_table(run: subprocess.CompletedProcess[str]) -> None:
    secrets = json.loads(run.stdout)
    # A session is known to the table of sessions, a hash to that of users, metadata to that of leases.
    known = {"django_session": 1, "teams_user": 1, "leases_lease": 1, "leases_leaseevent": 1}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            rows = repr(cursor.fetchall())
            found = {secret for secret in secrets if secret in rows}
            assert len(found) <= known.get(table, 0), f"{table} holds {found}"
