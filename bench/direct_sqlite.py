"""The engine's transactions on SQLite, issued directly by threads of one process.

Runs as a process of its own, `python -m bench.direct_sqlite VERB CLIENTS SECONDS`, and prints `Figures`.
"""

from __future__ import annotations

import os
import secrets
import sys
import threading
import time
from collections.abc import Callable

import django

from bench.figures import Figures, summarise

django.setup()

from octostore.leases.rows import Grant  # noqa: E402
from octostore.leases.sqlite import transitions  # noqa: E402

SPACE = "bench"
DIGEST = b"d" * 32


def grant(name: str) -> Grant:
    return Grant(
        space=SPACE,
        name=name,
        holder="bench",
        metadata=None,
        group_id=None,
        bound=False,
        charged_to="",
        ttl_ms=300_000,
        first_ms=300_000,
        delay_ms=0,
        nonce=secrets.token_bytes(32),
        key_id="bench",
        capability_digest=DIGEST,
        attempt_digest=None,
        content_digest=DIGEST,
        acl=None,
        principal=None,
        principal_name=None,
        quota=None,
    )


def cycle(name: str) -> None:
    transitions.read(SPACE, name)
    assert transitions.take(grant(name))
    assert transitions.release(SPACE, name, DIGEST, False)


def renew(name: str) -> None:
    assert transitions.renew(SPACE, name, DIGEST, None)


def read(name: str) -> None:
    assert transitions.read(SPACE, name)


VERBS: dict[str, Callable[[str], None]] = {"cycle": cycle, "renew": renew, "read": read, "lose": read, "lock": cycle}


def play(verb: str, clients: int, seconds: float) -> Figures:
    names = [f"{verb}-{os.getpid()}-{0 if verb == 'lose' else number}" for number in range(clients)]
    for name in set(names):
        transitions.found(SPACE, name)
        if verb not in ("cycle", "lock"):
            assert transitions.take(grant(name))
    units: list[tuple[float, float]] = []
    since = time.perf_counter()
    until = since + seconds

    def work(name: str) -> None:
        while (began := time.perf_counter()) < until:
            VERBS[verb](name)
            units.append((began, time.perf_counter()))

    threads = [threading.Thread(target=work, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return summarise(units, since, until)


if __name__ == "__main__":
    print(play(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])).to_json())
