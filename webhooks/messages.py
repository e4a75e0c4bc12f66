"""What is said of an event: to whom, under which id, and in which bytes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import msgspec
from msgspec import UNSET, UnsetType

from octostore.api.timing import instant
from octostore.leases.models import LeaseEvent, OwedEvent
from octostore.leases.pseudonyms import holder_id
from octostore.lib import secrets

Kind = Literal["acquired", "released", "renewed", "expired"]
KINDS: tuple[Kind, ...] = ("acquired", "released", "renewed", "expired")
# What who asks for nothing in particular is told of: renewals are many.
USUAL: tuple[Kind, ...] = ("acquired", "released", "expired")
EVERY = "*"
TEST = "test"

# An operator's end is told as a release, with its reason.
_TOLD_AS: dict[str, Kind] = {
    LeaseEvent.Kind.ACQUIRED: "acquired",
    LeaseEvent.Kind.RELEASED: "released",
    LeaseEvent.Kind.EXPIRED: "expired",
    LeaseEvent.Kind.REVOKED: "released",
    OwedEvent.RENEWED: "renewed",
}


class Data(msgspec.Struct, kw_only=True):
    lock: str
    holder_id: str
    holder: str | None
    fencing_token: int
    expires_at: str
    revision: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    # Nothing happened: somebody wants to see whether calls arrive.
    test: Literal[True] | UnsetType = UNSET


class Envelope(msgspec.Struct, kw_only=True):
    type: str
    timestamp: str
    data: Data


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One event as it is sent to every endpoint that asks for it."""

    id: str
    kind: str
    lock: str
    body: str

    @classmethod
    def of(cls, event: OwedEvent) -> Self:
        kind = _TOLD_AS[event.kind]
        revision = UNSET if event.n is None else f"{event.incarnation}-{event.n}"
        data = Data(
            lock=event.name,
            holder_id=holder_id(event.space, event.name, term=event.term, group_id=event.group_id),
            holder=event.holder or None,
            fencing_token=event.term,
            expires_at=instant(event.expires_at),
            revision=revision,
            reason="revoked" if event.kind == LeaseEvent.Kind.REVOKED else event.reason or UNSET,
        )
        return cls(id=_id_of(event), kind=kind, lock=event.name, body=_body(kind, event.at, data))

    @classmethod
    def test(cls, *, nonce: str, lock: str, at: int) -> Self:
        """A call that looks like one for an acquired lock and says that it is none; `at` in milliseconds."""
        data = Data(
            lock=lock,
            holder_id=holder_id("test", lock, term=1, group_id=nonce),
            holder="example",
            fencing_token=1,
            expires_at=instant(at + 60_000),
            test=True,
        )
        return cls(id=_as_id(secrets.digest("webhook test", nonce)), kind=TEST, lock=lock, body=_body(TEST, at, data))


def type_of(kind: str) -> str:
    """The type in a message's body."""
    return f"webhook.{kind}" if kind == TEST else f"lock.{kind}"


def asks_for(events: str, lock_pattern: str, *, kind: str, lock: str) -> bool:
    """Whether an endpoint with these `events` and this pattern is to be told."""
    asked = events.split()
    return (EVERY in asked or kind in asked) and _fits(lock_pattern, lock)


def asks_for_renewals(events: str) -> bool:
    return not {EVERY, "renewed"}.isdisjoint(events.split())


def _fits(lock_pattern: str, lock: str) -> bool:
    # No name has a star.
    return lock.startswith(lock_pattern[:-1]) if lock_pattern.endswith(EVERY) else lock == lock_pattern


def _id_of(event: OwedEvent) -> str:
    """The same, whoever hands the event over and however often."""
    place = f"{event.incarnation}-{event.n}" if event.n is not None else f"{event.term}+{event.renewals}"
    return _as_id(secrets.digest("webhook message", event.space, event.name, place))


def _as_id(raw: bytes) -> str:
    return f"msg_{secrets.encode(raw[:20])}"


def _body(kind: str, at: int, data: Data) -> str:
    return msgspec.json.encode(Envelope(type=type_of(kind), timestamp=instant(at), data=data)).decode("utf-8")
