"""The ground every test stands on: one database, chosen by DATABASE_URL, else a SQLite file.

The environment is set here, before the settings are read, so pyproject.toml must not name the
settings module itself. Tests marked `only("postgresql")` or `only("sqlite")` run when that is the
database of the run, and the summary names what this run could not show. Those that ask no database show the same on
both, and run on SQLite. Those marked `alone` measure what a neighbour would spoil: the workers of
`pytest -n` leave them out, and `-m alone` makes up for it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import django
import pytest

from tests.orphans import own_directory

pytest.register_assert_rewrite("tests.http")

if "PYTEST_XDIST_WORKER" not in os.environ:
    # Workers inherit all this; each has a database of its own beside the others'.
    for name in [*os.environ]:
        if name.startswith("OCTOSTORE_") and not name.startswith("OCTOSTORE_TEST_"):
            del os.environ[name]
    for name in ("REDIS_URL", "REDIS_URL_FILE", "PUBLIC_ELECTIONS", "HOST", "PORT"):
        os.environ.pop(name, None)
    os.environ["OCTOSTORE_DATA"] = str(own_directory("tests"))
    os.environ["DJANGO_SETTINGS_MODULE"] = "octostore.settings"
    # Budgets answer for load, of which tests make plenty; those that are about budgets set their own.
    os.environ |= {
        "OCTOSTORE_ELECTION_REQUESTS_PER_MINUTE": "10000000",
        "OCTOSTORE_WRONG_CAPABILITIES_PER_MINUTE": "10000000",
        "OCTOSTORE_WRONG_KEYS_PER_MINUTE": "10000000",
        "OCTOSTORE_LED_ROOMS_MAX": "100000000",
        "OCTOSTORE_LED_ROOMS_MAX_PER_CLIENT": "100000000",
        "OCTOSTORE_LOG_LEVEL": "ERROR",
    }

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.contenttypes.management import create_contenttypes  # noqa: E402
from django.contrib.contenttypes.models import ContentType  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models.signals import post_migrate  # noqa: E402

from octostore.teams import last_use  # noqa: E402
from tests.processes import WallClock, Web  # noqa: E402

# Made before any process that is to find it.
assert settings.SERVER_KEYS

STRICT = os.environ.get("OCTOSTORE_TEST_STRICT") == "1"
# Without one of these pytest-django lets no test near the tables.
DATABASE_FIXTURES = frozenset({"database", "database_url", "transactional_db", "db"})
VENDOR = "postgresql" if os.environ.get("DATABASE_URL", "").startswith("postgres") else "sqlite"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "only(vendor): runs where that is the database of the run")
    config.addinivalue_line("markers", "alone: measures time or load; runs while no other test does")
    config.addinivalue_line("markers", "soak: long; runs under `make soak` alone")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ["OCTOSTORE_DATA"], ignore_errors=True)


def pytest_report_header() -> str:
    return f"database: {VENDOR}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs elsewhere: `.ci/run` and `make test` run on each database, in parallel and then alone."""
    kept: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        (others if _runs_elsewhere(item) else kept).append(item)
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = kept


def _runs_elsewhere(item: pytest.Item) -> bool:
    if "PYTEST_XDIST_WORKER" in os.environ and item.get_closest_marker("alone"):
        return True
    vendors = [mark.args[0] for mark in item.iter_markers("only")]
    asks = item.get_closest_marker("django_db") or DATABASE_FIXTURES.intersection(getattr(item, "fixturenames", ()))
    if not vendors and not asks:
        vendors = ["sqlite"]
    return any(vendor != VENDOR for vendor in vendors)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"Nothing may be skipped here, and this was: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if STRICT and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"Nothing may be skipped here, and this was: {report.longrepr}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if not skipped:
        return
    terminalreporter.section("COULD NOT BE RUN", sep="!", red=True, bold=True)
    for report in skipped:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.line(f"{report.nodeid}: {why}", red=True)
    terminalreporter.line(f"{len(skipped)} tests could not be run on this machine; they prove nothing here.", red=True)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> None:
    """Once the tables are there: what Django writes into them after each flush, no test reads."""
    post_migrate.disconnect(create_contenttypes)
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")


@pytest.fixture
def database(transactional_db: None) -> Iterator[str]:
    """The tables, outside any transaction, so that threads and processes share what is committed.

    Gives the vendor, `sqlite` or `postgresql`. Rows are gone after the test.
    """
    yield VENDOR
    # What keys were used for is written behind the back of who used them; not behind a test's.
    last_use.flush()
    ContentType.objects.clear_cache()


@pytest.fixture(scope="session")
def database_url(django_db_setup: None) -> str:
    """The address under which another process reaches the tables of `database`."""
    settings = connection.settings_dict
    if VENDOR == "sqlite":
        return f"sqlite:///{settings['NAME']}"
    address = f"{settings['USER']}:{settings['PASSWORD']}@{settings['HOST']}:{settings['PORT']}"
    return f"postgresql://{address}/{settings['NAME']}"


@pytest.fixture(scope="session")
def two_webs(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Web]]:
    """Two web processes on the run's database, for tests that leave them as they are. Take `database` too."""
    directory = tmp_path_factory.mktemp("webs")
    with ExitStack() as stack:
        yield [stack.enter_context(Web(directory, {"DATABASE_URL": database_url})) for _ in range(2)]


@pytest.fixture
def start_web(database: str, database_url: str, tmp_path: Path) -> Iterator[Callable[..., Web]]:
    """Starts a web process of this test's own; keywords are its environment, `clock` its wall clock."""
    with ExitStack() as stack:

        def start(*, clock: WallClock | None = None, **environment: str) -> Web:
            web = Web(tmp_path, {"DATABASE_URL": database_url} | environment, clock=clock)
            return stack.enter_context(web)

        yield start
