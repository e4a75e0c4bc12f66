"""A process that uses everything with secrets in hand, and fails in every way, at DEBUG.

Its standard output names the secrets, its standard error is the log: none may be found there.
"""

from __future__ import annotations

import json
import logging
import sys
import uuid

import django

CANDIDATE_METADATA = "canary-metadata-5d1"
ATTEMPT = "canary-attempt-0123456789"
WRONG = "canary-wrong-capability-aaaaaaaaaaaaaaaaaaaa"
BEARER = "canary-bearer-5d1"
QUERY = "canary-query-5d1"
PATH = "canary-path-5d1"
COOKIE = "canary-cookie-5d1"
API_KEY = "osk_abcdefghijkl_canary5d1"
SIGNING = "whsec_canary5d1"
ADDRESS = "203.0.113.251"
BROKER = "canary-broker-5d1"


def elections(room: str) -> str:
    """Every verb, right and wrong; gives the capability that was handed out."""
    from django.test import Client

    client = Client(
        raise_request_exception=False,
        REMOTE_ADDR=ADDRESS,
        headers={"Authorization": f"Bearer {BEARER}", "Cookie": f"session={COOKIE}", "Idempotency-Key": ATTEMPT},
    )

    def post(verb: str, body: object, content_type: str = "application/json") -> dict[str, object]:
        answer: dict[str, object] = client.post(
            f"/elections/{room}/{verb}?{QUERY}", body, content_type=content_type
        ).json()
        return answer

    candidacy = {"candidate_id": "agent-atlas", "metadata": CANDIDATE_METADATA}
    capability = str(post("campaign", candidacy)["leader_token"])
    post("campaign", candidacy)
    post("campaign", candidacy | {"metadata": f"{CANDIDATE_METADATA} again"})
    post("campaign", json.dumps(candidacy)[:-1])
    post("campaign", json.dumps(candidacy), "text/plain")
    post("renew", {"leader_token": capability})
    post("renew", {"leader_token": WRONG})
    post("renew", {"leader_token": [capability]})
    for path in (f"/{PATH}?{QUERY}", f"/elections/{PATH}", f"/elections/{room}", "/metrics", "/status", "/ready"):
        client.get(path)
    post("resign", {"leader_token": capability})
    post("resign", {"leader_token": capability})
    return capability


def failures(capability: str) -> None:
    """Exceptions and careless lines that carry secrets, ours and the libraries'."""
    import structlog
    from django.db import DatabaseError
    from django.test import Client, override_settings

    with override_settings(ROOT_URLCONF="tests.api.careless"):
        Client(raise_request_exception=False).get("/bug", headers={"X-Capability": capability})
    row = DatabaseError(f"value too long\nDETAIL: Failing row contains ({CANDIDATE_METADATA}, {capability}).")
    for name in ("octostore", "django.db.backends", "celery.worker", "uvicorn.error", "somebody"):
        log = logging.getLogger(name)
        log.debug("asked with %s", {"leader_token": "canary-short-5d1", "metadata": CANDIDATE_METADATA})
        log.error("failed with Bearer %s at %s", BEARER, f"redis://:{BROKER}@127.0.0.1/0", exc_info=row)
        log.error("broken %s %s", capability)
    structlog.get_logger("octostore").error(
        "failed", leader_token=capability, key=API_KEY, secret=SIGNING, said=[capability]
    )


def main() -> None:
    django.setup()
    capability = elections(uuid.uuid4().hex)
    failures(capability)
    secrets = [CANDIDATE_METADATA, ATTEMPT, WRONG, BEARER, QUERY, PATH, COOKIE, API_KEY, SIGNING, ADDRESS, BROKER]
    json.dump([capability, "canary-short-5d1", "Failing row", *secrets], sys.stdout)


if __name__ == "__main__":
    main()
