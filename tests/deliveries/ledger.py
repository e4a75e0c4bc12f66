"""What receivers were sent, and whether that is what they were promised (I9)."""

from __future__ import annotations

import socket
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from standardwebhooks import Webhook

from tests.http import strict_json
from tests.webhooks.receivers import Behaviour, answering

# How old an attempt's timestamp may be on arrival: waits for a place in the queue are not among it.
FRESH_SECONDS = 5
# How long before its arrival was noted a call may have come.
WRITTEN_SECONDS = 0.5

# A lock and the place of one of its events, as a watch tells it.
Event = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request as it came, at an instant in seconds since 1970."""

    at: float
    message_id: str
    timestamp: int
    signature: str
    body: bytes

    @classmethod
    def of(cls, request: bytes) -> Call:
        at = time.time()
        head, _, body = request.partition(b"\r\n\r\n")
        lines = [line.partition(":") for line in head.decode("ascii").split("\r\n")[1:]]
        headers = {name.lower(): value.strip() for name, _, value in lines}
        return cls(
            at=at,
            message_id=headers["webhook-id"],
            timestamp=int(headers["webhook-timestamp"]),
            signature=headers["webhook-signature"],
            body=body,
        )

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = strict_json(self.body)["data"]
        return data

    @property
    def event(self) -> Event:
        return self.data["lock"], self.data["revision"]

    def is_signed_with(self, secret: str) -> bool:
        at = datetime.fromtimestamp(self.timestamp, UTC)
        return Webhook(secret).sign(self.message_id, at, self.body.decode()) in self.signature.split(" ")


class Ledger:
    """A receiver's behaviour: writes each call down and then does as `then` does."""

    def __init__(self, then: Behaviour | None = None) -> None:
        self.calls: list[Call] = []
        self.then = then or answering()

    def __call__(self, connection: socket.socket, request: bytes) -> None:
        self.calls.append(Call.of(request))
        self.then(connection, request)

    def events(self) -> set[Event]:
        return {call.event for call in [*self.calls]}

    def copies(self) -> dict[str, list[Call]]:
        """The calls of each message."""
        found = defaultdict(list)
        for call in [*self.calls]:
            found[call.message_id].append(call)
        return found

    def repeats(self) -> list[tuple[Call, Call]]:
        """Calls that brought nothing new, each after the one before it of the same message."""
        return [two for calls in self.copies().values() for two in pairwise(calls)]


def violations(ledger: Ledger, events: Collection[Event], secret: str, *, killed_at: Sequence[float] = ()) -> list[str]:
    """How what came differs from each of these events under one id, with one more call for each kill at most."""
    copies = ledger.copies()
    ids: dict[Event, set[str]] = defaultdict(set)
    for message_id, calls in copies.items():
        ids[calls[0].event].add(message_id)
    return [
        *(f"{event} never came" for event in sorted(set(events) - ids.keys())),
        *(f"{event} never happened" for event in sorted(ids.keys() - set(events))),
        *(f"{event} came under {known}" for event, known in ids.items() if len(known) > 1),
        *(
            f"{again.message_id} came again, and nothing was killed in between"
            for before, again in ledger.repeats()
            if not any(before.at - WRITTEN_SECONDS <= at <= again.at for at in killed_at)
        ),
        *(f"{one} came in different bytes" for one, calls in copies.items() if len({call.body for call in calls}) > 1),
        *_badly_signed(ledger.calls, secret),
    ]


def _badly_signed(calls: Iterable[Call], secret: str) -> list[str]:
    return [
        *(f"{call.message_id} was not signed" for call in calls if not call.is_signed_with(secret)),
        *(
            f"{call.message_id} was signed {call.at - call.timestamp:.1f} s before it came"
            for call in calls
            # The timestamp has whole seconds.
            if not 0 <= call.at - call.timestamp <= FRESH_SECONDS + 1
        ),
    ]
