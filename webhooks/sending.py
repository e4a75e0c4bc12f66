"""Calls to receivers: one thread asks the database, many wait for customers.

So what waits for customers holds no connection and no row of the database, and the more there is to
do, the more is done in one transaction.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue

import structlog
from django.conf import settings
from django.db import connection
from django.utils import timezone

from octostore.lib import outbound
from octostore.lib.errors import Unavailable
from webhooks import endpoints, sealing, signing
from webhooks.claiming import Claim, claim_due
from webhooks.recording import Ended, record

# Sized for transactions well under 50 ms.
BATCH = 25
AGAIN_SECONDS = 0.5

log = structlog.get_logger(__name__)


def call(claim: Claim) -> Ended:
    """Make the attempt. Raises Unavailable where this process cannot open the signing secret."""
    now, body = timezone.now(), claim.body.encode("utf-8")
    secrets = sealing.signing_secrets(claim.endpoint, now)
    signed = signing.signed_headers(secrets, message_id=claim.message_id, at=now, body=body)
    headers = {"Content-Type": "application/json", **signed}
    outcome = outbound.post(claim.endpoint.url, body=body, headers=headers, policy=endpoints.policy())
    return Ended(claim=claim, outcome=outcome)


class Sender:
    """Claims what is due, has it called, and writes down what came of it, until it is stopped."""

    def __init__(self) -> None:
        self._callers = ThreadPoolExecutor(settings.WEBHOOK_THREADS, thread_name_prefix="webhook-call")
        # Calls that are over; None for word that something may be due.
        self._news: SimpleQueue[Future[Ended] | None] = SimpleQueue()
        self._under_way = 0
        self._unwritten: list[Ended] = []
        self._is_stopping = False
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def look(self) -> None:
        """Something may be due."""
        self._news.put(None)
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="webhook-sender", daemon=True)
                self._thread.start()

    def begin_to_stop(self) -> None:
        """From now on no attempt is begun."""
        self._is_stopping = True

    def stop(self) -> None:
        """Wait until what is under way is over and written down."""
        self.begin_to_stop()
        with self._starting:
            if self._thread is not None:
                self._news.put(None)
                self._thread.join()

    def _run(self) -> None:
        try:
            while not self._is_stopping or self._under_way or self._unwritten:
                self._take_news()
                self._write_down()
                if not self._is_stopping:
                    self._begin()
        except Exception as error:
            # A bug, told here and not on standard error, with all that a database says. The next look starts anew.
            log.error("sender_failed", exc_info=error)
            raise SystemExit from error
        finally:
            connection.close()

    def _take_news(self) -> None:
        """Wait for news, and take all there are."""
        try:
            ended = self._news.get(timeout=AGAIN_SECONDS if self._unwritten else None)
            while True:
                self._take(ended)
                ended = self._news.get_nowait()
        except Empty:
            pass

    def _take(self, ended: Future[Ended] | None) -> None:
        if ended is None:
            return
        self._under_way -= 1
        if error := ended.exception():
            # Its claim runs out, and then it is tried again.
            log.error("call_failed", exc_info=error)
        else:
            self._unwritten.append(ended.result())

    def _write_down(self) -> None:
        """For as long as nobody else may call again: an outcome that is lost is one call more."""
        now = timezone.now()
        todo = [one for one in self._unwritten if one.claim.until > now]
        self._unwritten = []
        while todo:
            batch, todo = todo[:BATCH], todo[BATCH:]
            try:
                self._unwritten += record(batch)
            except Unavailable as error:
                log.warning("outcomes_wait", count=len(batch), cause=type(error.__cause__).__name__)
                self._unwritten += batch

    def _begin(self) -> None:
        at_most = min(BATCH, settings.WEBHOOK_THREADS - self._under_way)
        try:
            claims = claim_due(at_most=at_most) if at_most else []
        except Unavailable as error:
            log.warning("claims_wait", cause=type(error.__cause__).__name__)
            return
        for claim in claims:
            under_way = self._callers.submit(call, claim)
            # Not before: where no thread can be had, none comes back.
            self._under_way += 1
            under_way.add_done_callback(self._news.put)
        if claims and len(claims) == at_most:
            # There may be more.
            self._news.put(None)
