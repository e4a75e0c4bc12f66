"""A room for machines: JSON, one line of text, a badge."""

from __future__ import annotations

import msgspec
from django.http import HttpResponse
from django.utils.html import format_html

from elections import answers, shapes
from octostore.api.timing import instant
from octostore.pages.rooms import Room

# As in light pages; a badge stands on somebody else's page, where tokens are not to be had.
COLOURS = {"held": "#0b6347", "expiring": "#7d4a00", "vacant": "#545f69"}
CHARACTER = 7


class RoomJson(msgspec.Struct, kw_only=True):
    """Who leads and who led; the same shapes as in the API."""

    election_id: str
    status: str
    leader: shapes.Leader | None
    retry_after_ms: int
    observed_at: str
    terms: list[shapes.TermOutput]


def as_json(room: Room) -> HttpResponse:
    told = answers.state(room.election_id, room.state)
    shown = RoomJson(
        election_id=room.election_id,
        status="leader" if room.leader else "vacant",
        leader=answers.leader(room.leader) if room.leader else None,
        retry_after_ms=told.retry_after_ms,
        observed_at=instant(room.now),
        terms=[answers.term(one) for one in room.past],
    )
    return HttpResponse(msgspec.json.encode(shown), content_type="application/json")


def as_text(room: Room) -> HttpResponse:
    """`HELD worker-a term=42 expires_in=18`, or `VACANT`, with the last term where there was one."""
    if room.leader:
        left = max(0, room.leader.expires_at - room.now) // 1000
        line = f"HELD {room.leader.holder} term={room.leader.term} expires_in={left}"
    else:
        line = f"VACANT last_term={room.last.term}" if room.last else "VACANT"
    return HttpResponse(f"{line}\n", content_type="text/plain; charset=utf-8")


def as_badge(room: Room | None, *, status: int = 200) -> HttpResponse:
    """Two fields as on other badges: what it is about, and who leads."""
    word, tone = "unknown", COLOURS["vacant"]
    if room:
        word, tone = (room.leader.holder if room.leader else "vacant")[:40], COLOURS[room.status]
    left, right = 6 * CHARACTER + 16, len(word) * CHARACTER + 16
    picture = format_html(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="22" role="img" aria-label="leader: {1}">'
        '<title>leader: {1}</title><rect width="{2}" height="22" fill="#43505c"/>'
        '<rect x="{2}" width="{3}" height="22" fill="{4}"/>'
        '<g fill="#fff" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="11" text-anchor="middle">'
        '<text x="{5}" y="15">leader</text><text x="{6}" y="15">{1}</text></g></svg>',
        left + right,
        word,
        left,
        right,
        tone,
        left / 2,
        left + right / 2,
    )
    return HttpResponse(picture, status=status, content_type="image/svg+xml")
