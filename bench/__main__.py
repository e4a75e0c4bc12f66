"""`python -m bench`: Markdown tables of the service's verbs, streams and waits, on both databases.

PostgreSQL is a throw-away server, or the one DATABASE_URL names, whose tables are written to.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench import direct_postgresql, live, machine
from bench.figures import Figures
from tests import postgres
from tests.processes import ROOT, Web

VERBS = {
    "cycle": "campaign + resign",
    "renew": "renew",
    "read": "read",
    "lose": "lose, all on one name",
    "lock": "acquire + release, a team each",
}
# Admission is not what is measured, and every client here has one address.
LIMITS = {
    "OCTOSTORE_ELECTION_REQUESTS_PER_MINUTE": "10000000",
    "OCTOSTORE_WRONG_CAPABILITIES_PER_MINUTE": "10000000",
    "OCTOSTORE_LED_ROOMS_MAX": "100000000",
    "OCTOSTORE_LED_ROOMS_MAX_PER_CLIENT": "100000000",
    "OCTOSTORE_STREAMS_MAX": "1000000",
    "OCTOSTORE_STREAMS_MAX_PER_CLIENT": "1000000",
    "OCTOSTORE_LOG_LEVEL": "WARNING",
}
TEAMS = 64
HEADER = "| database | clients | verb | HTTP /s | p50 · p99 ms | direct /s | p50 · p99 ms | HTTP : direct |"
RULE = "|---|---:|---|---:|---:|---:|---:|---:|"


def main() -> None:
    options = _options()
    disk = Path(tempfile.gettempdir())
    fsync_ms = machine.fsync_ms(disk)
    print(f"{machine.describe()}; clients, service and database share the cores.")
    print(f"\n`{' '.join(['python -m bench', *sys.argv[1:]])}`\n\n{HEADER}\n{RULE}", flush=True)
    told: list[str] = []
    for database in options.database:
        with _served(database, options.processes) as (webs, environment, url, name):
            for clients in options.clients:
                for verb in options.verb:
                    over_http = _over_http(webs, environment, verb, clients, options.seconds)
                    directly = _directly(environment, url, verb, clients, options.seconds)
                    print(_line(name, clients, verb, over_http, directly), flush=True)
            told += live.lines(webs[0], name, streams=options.streams, waiters=options.waiters)
    print("", live.HEADER, live.RULE, *told, sep="\n")
    print(f"\nfsync: {fsync_ms:.2f} ms before, {machine.fsync_ms(disk):.2f} ms after.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5, help="for each figure, after a second of warming up (5)")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--database", nargs="+", default=["sqlite", "postgresql"], choices=["sqlite", "postgresql"])
    parser.add_argument("--verb", nargs="+", default=list(VERBS), choices=list(VERBS))
    parser.add_argument("--processes", type=int, default=1, help="of the service, among which clients are spread (1)")
    parser.add_argument("--streams", type=int, default=1000, help="open at once; 0 leaves them out (1000)")
    parser.add_argument("--waiters", type=int, default=200, help="for one room; 0 leaves them out (200)")
    parser.add_argument("--quick", action="store_true", help="a second each, 1 and 64 clients: a look, no measurement")
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.clients, options.streams, options.waiters = 1, [1, 64], 100, 20
    return options


@contextmanager
def _served(database: str, processes: int) -> Iterator[tuple[list[Web], dict[str, str], str, str]]:
    """Web processes on a fresh data directory: they, their environment, their database's address and name."""
    with tempfile.TemporaryDirectory(prefix="octostore-bench-") as directory, _database(database, directory) as at:
        url, name = at
        environment = LIMITS | {"OCTOSTORE_DATA": directory, "DATABASE_URL": url, "REDIS_URL": ""}
        settings = os.environ | environment | {"DJANGO_SETTINGS_MODULE": "octostore.settings"}
        migrate = [sys.executable, str(ROOT / "manage.py"), "migrate", "--verbosity", "0"]
        subprocess.run(migrate, env=settings, cwd=ROOT, check=True)
        teams = [sys.executable, "-m", "bench.teams", str(TEAMS)]
        environment["BENCH_KEYS"] = subprocess.run(
            teams, env=settings, cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
        with ExitStack() as stack:
            webs = [stack.enter_context(Web(Path(directory), environment)) for _ in range(processes)]
            yield webs, environment, url, name


@contextmanager
def _database(database: str, directory: str) -> Iterator[tuple[str, str]]:
    given = os.environ.get("DATABASE_URL", "")
    if database == "sqlite":
        yield f"sqlite:///{directory}/bench.sqlite3", "SQLite"
    elif given.startswith("postgres"):
        yield given, "PostgreSQL"
    else:
        with postgres.server() as server:
            yield server.url(), server.origin.partition(" (")[0]


def _over_http(webs: list[Web], environment: dict[str, str], verb: str, clients: int, seconds: float) -> Figures:
    ports = ",".join(str(web.port) for web in webs)
    command = [sys.executable, "-m", "bench.load", ports, verb, str(clients), str(seconds)]
    try:
        return Figures.of(command, os.environ | environment)
    except SystemExit as error:
        raise SystemExit("\n".join([str(error), *(web.output()[-4000:] for web in webs)])) from error


def _directly(environment: dict[str, str], url: str, verb: str, clients: int, seconds: float) -> Figures:
    if url.startswith("postgres"):
        return direct_postgresql.play(url, verb, clients, seconds)
    command = [sys.executable, "-m", "bench.direct_sqlite", verb, str(clients), str(seconds)]
    return Figures.of(command, os.environ | environment | {"DJANGO_SETTINGS_MODULE": "octostore.settings"})


def _line(database: str, clients: int, verb: str, over_http: Figures, directly: Figures) -> str:
    figures = [f"{one.rate:,.0f} | {one.p50_ms:.1f} · {one.p99_ms:.1f}" for one in (over_http, directly)]
    ratio = f"{over_http.rate / directly.rate:.2f}"
    return f"| {database} | {clients} | {VERBS[verb]} | {' | '.join(figures)} | {ratio} |"


if __name__ == "__main__":
    main()
