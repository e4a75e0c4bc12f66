"""A process that uses every verb of locks and sessions with secrets in hand, right and wrong, at DEBUG.

Its standard output tells the secrets and where they may stand; its standard error is the log.
"""

from __future__ import annotations

import json
import logging
import sys

import django

METADATA = "canary-metadata-7e2"
ATTEMPT = "canary-attempt-7e2-0123456789"
WRONG_LEASE = "ca9a7e20-0000-4000-8000-000000000001"
WRONG_KEY = "osk_canary7e2aaa_" + "canary7e2" * 4 + "aaaaaaa"
LOCK = "repo/canary-lock-7e2"


def main() -> None:
    django.setup()
    # The caller's own log, which is no part of the service.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    from octostore.api.metrics import exposition
    from tests.locks.cast import Worker, address, expire, expire_session, found_team, issue

    team = found_team()
    key = issue(team, "admin")
    leases, sessions, told = [], [], []
    with Worker(key) as worker, Worker(WRONG_KEY) as stranger:
        sessions += [worker.begin(), worker.begin()]
        leases.append(worker.hold(LOCK, metadata=METADATA, attempt=ATTEMPT)["lease_id"])
        worker.hold(LOCK, metadata=METADATA, attempt=ATTEMPT)
        told += [
            worker.acquire(LOCK, metadata=METADATA),
            worker.acquire(LOCK, metadata=METADATA + "!", attempt=ATTEMPT),
            worker.acquire(LOCK, session_id=WRONG_LEASE),
            worker.acquire(LOCK, metadata=METADATA * 100),
            worker.renew_lock(LOCK, WRONG_LEASE),
            worker.release(LOCK, leases[0], delay=True),
            worker.post(f"{address(LOCK)}/renew", json={"lease_id": [leases[0]]}),
            worker.put(f"{address(LOCK)}/acl", json={"acl": 1}, headers={"X-Lease-Id": leases[0]}),
            stranger.acquire(LOCK, metadata=METADATA, attempt=ATTEMPT),
            stranger.keep(sessions[0]),
        ]
        worker.renew_lock(LOCK, leases[0])
        worker.release(LOCK, leases[0])
        told.append(worker.release(LOCK, leases[0]))
        leases.append(worker.hold(LOCK, session_id=sessions[0], ephemeral=True)["lease_id"])
        worker.keep(sessions[0])
        worker.delete(f"/sessions/{sessions[0]}")
        leases.append(worker.hold(LOCK, session_id=sessions[1], ephemeral=True)["lease_id"])
        expire_session(sessions[1])
        told += [worker.acquire(LOCK, session_id=sessions[1]), worker.keep(sessions[1])]
        won = worker.hold(LOCK)
        leases.append(won["lease_id"])
        worker.revoke(LOCK, won["fencing_token"])
        leases.append(worker.hold(LOCK, lock_delay_seconds=5)["lease_id"])
        expire(LOCK)
        told += [worker.acquire(LOCK), worker.get("/locks"), worker.get(f"{address(LOCK)}/history")]
    answers = "".join(answer.text for answer in told) + exposition().decode()
    json.dump({"leases": leases, "sessions": sessions, "key": key, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
