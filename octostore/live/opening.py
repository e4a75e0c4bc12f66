"""How a stream begins: where the reader left off, or with what is now."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from octostore.leases.outcomes import Revision
from octostore.leases.watching import Look, look
from octostore.live.hints import Name
from octostore.live.tickets import Encoder, WatchTicket
from octostore.teams.principals import Principal


def open_watch(
    name: Name,
    encoder: Encoder,
    *,
    last_event_id: str | None,
    take_seat: Callable[[], Callable[[], None]],
    principal: Principal | None = None,
) -> WatchTicket:
    """A stream of the name's news, from `last_event_id` on where that is one of its ids.

    An empty one counts as none. The stream ends when the key of `principal` does. Raises what taking
    a seat raises.
    """
    since = Revision.parse(last_event_id) if last_event_id else None
    garbage = bool(last_event_id) and since is None
    give_back = take_seat()
    with ExitStack() as unless_opened:
        unless_opened.callback(give_back)
        seen = look(*name, since)
        opening = _opening(encoder, replace(seen, reset=seen.reset or garbage), resumes=bool(last_event_id))
        unless_opened.pop_all()
    return WatchTicket(
        name=name, encoder=encoder, opening=opening, state=seen.state, give_back=give_back, principal=principal
    )


def _opening(encoder: Encoder, seen: Look, *, resumes: bool) -> bytes:
    """The present state, behind what a resuming reader missed."""
    if seen.reset:
        return encoder.state(seen.state, kind="reset", with_id=True)
    missed = b"".join(encoder.event(event) for event in seen.events)
    return missed + encoder.state(seen.state, with_id=not resumes)
