"""A process that uses every verb of webhooks, and sends with every outcome, with secrets in hand, at DEBUG.

Its standard output tells the secrets and where they may stand; its standard error is the log.
"""

from __future__ import annotations

import base64
import json
import logging
import sys
from contextlib import ExitStack
from typing import Any

import django

GIVEN = "whsec_" + base64.b64encode(b"canary-secret-9c4-0123456789").decode()
QUERY = "canary-query-9c4"
METADATA = "canary-metadata-9c4"
LOCK = "repo/canary-lock-9c4"
ANSWER = "canary-answer-9c4"


def main() -> None:
    django.setup()
    # The caller's own log, which is no part of the service.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    from celery.signals import before_task_publish
    from django.test import override_settings

    import octostore.celery  # noqa: F401  whose broker the messages go to
    from octostore.api.metrics import exposition
    from octostore.teams.models import Role
    from tests.locks.cast import found_team, issue
    from tests.server.service import wait_until
    from tests.teams.cast import join
    from tests.webhooks.cast import Keeper, become_due, due
    from tests.webhooks.receivers import Receiver, answering, receiving, resetting
    from webhooks import tasks
    from webhooks.claiming import claim_due
    from webhooks.models import Delivery, Endpoint
    from webhooks.sending import Sender

    messages: list[str] = []

    def note(body: Any, headers: Any, **_: Any) -> None:
        messages.append(repr((body, headers)))

    before_task_publish.connect(note)

    def work() -> None:
        """What the worker does, and what the broker carries of it."""
        tasks.dispatch.apply()
        sender = Sender()
        sender.look()
        assert wait_until(lambda: not due())
        sender.stop()
        become_due()

    team = found_team()
    join(team, Role.OWNER)
    secrets, told = [GIVEN], []
    with ExitStack() as stack:
        stack.enter_context(override_settings(EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend"))
        keeper = stack.enter_context(Keeper(issue(team, "admin")))
        stranger = stack.enter_context(Keeper(issue(found_team(), "admin")))

        def receiver(status: str, *headers: str) -> Receiver:
            return stack.enter_context(receiving(answering(status, *headers, body=ANSWER.encode())))

        def register(url: str, **asked: Any) -> str:
            made = keeper.register(f"{url}?key={QUERY}", **asked)
            secrets.append(made["secret"])
            webhook_id: str = made["id"]
            return webhook_id

        good = register(receiver("200 OK").url(), secret=GIVEN, events=["*"])
        bad = register(receiver("500 Oops").url())
        gone = register(receiver("410 Gone").url())
        register(receiver("302 There", f"Location: http://127.0.0.1:1/?key={QUERY}").url())
        register(stack.enter_context(receiving(resetting)).url())
        register("http://127.0.0.1:1/")
        register("https://127.0.0.1:1/")
        register("http://nowhere.invalid/")
        secrets.append(keeper.rotate(good)["secret"])
        lease_id = keeper.hold(LOCK, metadata=METADATA)["lease_id"]
        keeper.renew_lock(LOCK, lease_id)
        work()
        keeper.release(LOCK, lease_id)
        work()
        keeper.change(bad, url=f"http://127.0.0.1:1/?key={QUERY}-2", lock_pattern="other")
        keeper.try_out(good)
        delivery_id = keeper.deliveries(bad)[0]["id"]
        keeper.redeliver(bad, delivery_id)
        (claim,) = claim_due(at_most=1, endpoint_id=Endpoint.objects.get(uuid=good).pk)
        keeper.recover(bad)
        work()
        tasks.tell_owners.apply()
        tasks.forget_old_deliveries.apply()
        tasks.reseal_secrets.apply()
        told += [
            keeper.post("/webhooks", json={"url": f"http://10.0.0.1/{QUERY}?{QUERY}", "secret": GIVEN[:-1]}),
            keeper.post("/webhooks", json={"url": f"ftp://{QUERY}.example/?{QUERY}"}),
            keeper.post("/webhooks", json={"url": [QUERY]}),
            keeper.patch(f"/webhooks/{good}?{QUERY}", json={"url": f"https://user:{QUERY}@example.com/"}),
            keeper.post(f"/webhooks/{good}/rotate", json={"secret": f"{GIVEN} "}),
            keeper.post(f"/webhooks/{gone}/test"),
            stranger.post(f"/webhooks/{good}/rotate", json={"secret": GIVEN}),
            keeper.get(f"/webhooks/{good}/deliveries"),
        ]
        listed = [keeper.get("/webhooks"), keeper.get(f"/webhooks/{good}")]
        # A row that opens no more is a bug, told with a traceback.
        Endpoint.objects.filter(uuid=good).update(secret=Endpoint.objects.get(uuid=bad).secret)
        Delivery.objects.update(state="pending", round_made=0)
        work()
    json.dump(
        {
            "secrets": secrets,
            "told": "".join(answer.text for answer in told) + exposition().decode(),
            "listed": "".join(answer.text for answer in listed),
            "messages": messages,
            "repr": repr(claim) + "".join(map(repr, [*Endpoint.objects.all(), *Delivery.objects.all()])),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
