"""Which host and port are the service's own, as its settings name them."""

from __future__ import annotations

import dj_database_url
import pytest

from octostore.backing import services
from octostore.lib.destinations import Policy, Refusal, Refused, check

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")

SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": "octostore.sqlite3"}


class TestADatabase:
    @pytest.mark.parametrize(
        ("url", "own"),
        [
            ("postgres://user:password@db.corp:6432/name", {("db.corp", 6432)}),
            ("postgres://user:password@DB.corp/name", {("db.corp", 5432)}),
            ("postgres://user:password@[::1]:5432/name", {("::1", 5432)}),
            ("postgres://user:password@one,two/name", {("one", 5432), ("two", 5432)}),
            ("postgres://user@db.corp/name?hostaddr=10.0.0.5", {("db.corp", 5432), ("10.0.0.5", 5432)}),
            ("postgres://user@%2Frun%2Fpostgresql:5433/name", {("localhost", 5433)}),
            ("postgres:///name", {("localhost", 5432)}),
        ],
    )
    def test_is_where_its_url_says(self, url: str, own: set[tuple[str, int]]) -> None:
        assert services(dict(dj_database_url.parse(url)), "") == own

    def test_in_a_file_is_nowhere(self) -> None:
        assert services(SQLITE, "") == frozenset()


class TestABroker:
    @pytest.mark.parametrize(
        ("url", "own"),
        [
            ("redis://:password@127.0.0.1:43117/0", ("127.0.0.1", 43117)),
            ("rediss://Redis.corp/0", ("redis.corp", 6379)),
        ],
    )
    def test_is_where_its_url_says(self, url: str, own: tuple[str, int]) -> None:
        assert services(SQLITE, url) == {own}

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.1", "[::ffff:127.0.0.1]"])
    def test_that_is_bundled_is_never_called(self, host: str) -> None:
        policy = Policy(allow_private=True, own=services(SQLITE, "redis://:password@127.0.0.1:43117/0"))
        with pytest.raises(Refused) as caught:
            check(f"http://{host}:43117/", policy)
        assert caught.value.reason is Refusal.OWN_SERVICE
