"""`{% load pictures %}`: charts, drawn on the server. Each stands beside a table or a sentence that says the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from octostore.pages import wording

register = template.Library()

LEFT, RIGHT, ROW, BAR = 78, 900, 24, 14
LABEL_MAX = 20
NOTCH_ROOM = 4.0
STEPS_MS = tuple(1000 * seconds for seconds in (5, 15, 30, 60, 180, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400))
HATCH = (
    '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line class="hatch" x1="0" x2="0" y1="0" y2="6"/></pattern></defs>'
)
# By how a term ended.
ENDS = {"expired": "cross", "released": "ring", "revoked": "triangle"}
# What is no sentence of a person's.
REASONS = {"session_deleted": "with its session"}
WORDS = {"expired": "expired", "released": "released", "revoked": "force-released", "": "running"}


class Term(Protocol):
    """One term of a history, instants in milliseconds since 1970; `ended_at` is None while it lasts."""

    @property
    def term(self) -> int: ...
    @property
    def holder(self) -> str: ...
    @property
    def began_at(self) -> int: ...
    @property
    def ended_at(self) -> int | None: ...
    @property
    def ending(self) -> str | None: ...
    @property
    def renewals(self) -> int: ...


@dataclass(frozen=True)
class _Axis:
    """Milliseconds since 1970 to the picture's width."""

    begin: int
    now: int

    def x(self, instant: int) -> float:
        share = (max(instant, self.begin) - self.begin) / max(1, self.now - self.begin)
        return LEFT + (RIGHT - LEFT) * min(1.0, share)

    def ticks(self) -> Iterator[int]:
        length = self.now - self.begin
        step = next((one for one in STEPS_MS if length / one <= 6), 86_400_000 * math.ceil(length / 6 / 86_400_000))
        yield from range(self.now, self.begin - 1, -step)


@register.simple_tag
def terms_picture(terms: Sequence[Term], now: int, begin: int = 0, released: str = "released") -> SafeString | str:
    """A bar for each term, newest last: notches are renewals, a mark tells the end, hatched is vacant.

    `terms` come newest first; the axis begins at `begin`, or with the oldest of them. `released` is the
    word for a term that its holder ended.
    """
    if not terms:
        return ""
    rows = [*reversed(terms)]
    axis = _Axis(max(begin, rows[0].began_at), now)
    words = WORDS | {"released": released}
    height = ROW * len(rows) + 24
    return format_html(
        '<svg class="terms" viewBox="0 0 960 {}" role="img" aria-label="{}">{}{}{}</svg>',
        height,
        _sentence(rows, axis, words),
        mark_safe(HATCH),
        format_html_join("", "{}", ((_tick(axis, at, height),) for at in axis.ticks())),
        format_html_join(
            "", "{}", ((_row(axis, term, rows[n - 1] if n else None, n, words),) for n, term in enumerate(rows))
        ),
    )


@register.simple_tag
def sparkline(values: Sequence[float], label: str) -> SafeString:
    """A line of figures, the last one marked; `label` says in words what it shows."""
    top = max([*values, 1])
    width = 96 / max(1, len(values) - 1)
    points = [(2 + n * width, 20 - 18 * value / top) for n, value in enumerate(values)]
    x, y = points[-1] if points else (2.0, 20.0)
    return format_html(
        '<svg class="spark" viewBox="0 0 100 22" role="img" aria-label="{}"><polyline points="{}"/>'
        '<circle cx="{}" cy="{}" r="2"/></svg>',
        label,
        " ".join(f"{px:.1f},{py:.1f}" for px, py in points),
        _one(x),
        _one(y),
    )


@register.filter
def last_six(term: int) -> str:
    """The end of a term, which has eleven digits; the whole one belongs into a title."""
    return f"…{term % 1_000_000:06}" if term >= 1_000_000 else str(term)


@register.filter
def ending(term: Term, released: str = "released") -> str:
    """How a term ended, in a word; `released` is the one for a term that its holder ended."""
    return (WORDS | {"released": released})[term.ending or ""]


@register.filter
def why(reason: str) -> str:
    """Why a term ended, in words; what somebody wrote as it is."""
    return REASONS.get(reason, reason)


@register.filter
def lasted(term: Term) -> str:
    """How long a term lasted; a dash for one that still does."""
    return "—" if term.ended_at is None else wording.span((term.ended_at - term.began_at) / 1000)


def _sentence(rows: Sequence[Term], axis: _Axis, words: dict[str, str]) -> str:
    counted = {word: sum((term.ending or "") == end for term in rows) for end, word in words.items()}
    told = ", ".join(f"{count} {word}" for word, count in counted.items() if count)
    length = wording.span((axis.now - axis.begin) / 1000)
    return f"{wording.counted(len(rows), 'term')} within {length}: {told}."


def _tick(axis: _Axis, at: int, height: int) -> SafeString:
    text = "now" if at == axis.now else f"\N{MINUS SIGN}{wording.span((axis.now - at) / 1000)}"
    return format_html(
        '<line class="axis" x1="{0}" x2="{0}" y1="0" y2="{1}"/><text x="{0}" y="{2}" text-anchor="middle">{3}</text>',
        _one(axis.x(at)),
        height - 24,
        height - 8,
        text,
    )


def _row(axis: _Axis, term: Term, before: Term | None, n: int, words: dict[str, str]) -> SafeString:
    top = n * ROW + 4
    begin, end = axis.x(term.began_at), axis.x(axis.now if term.ended_at is None else term.ended_at)
    width = max(2.0, end - begin)
    mark = _mark(ENDS[term.ending], begin + width + 9, top + BAR / 2) if term.ending in ENDS else ""
    name = term.holder if len(term.holder) <= LABEL_MAX else f"{term.holder[: LABEL_MAX - 1]}…"
    # To the right of the mark where there is room, else before the bar, else on it.
    fits = begin + width + 20 + 7 * len(name) < 956
    gap, free = "", begin
    if before and before.ended_at is not None and axis.x(term.began_at) - axis.x(before.ended_at) > 1:
        free = axis.x(before.ended_at)
        gap = format_html(
            '<rect class="gap" x="{}" y="{}" width="{}" height="{}"/>',
            _one(free),
            top,
            _one(begin - free),
            BAR,
        )
    label_end = max(LEFT + 7 * len(name), free - 6)
    place = ' text-anchor="end" class="on"' if label_end > begin else ' text-anchor="end"'
    return format_html(
        '<g><title>{}</title><text x="0" y="{}">{}</text>{}'
        '<rect class="{}" x="{}" y="{}" width="{}" height="{}" rx="2"/>{}{}'
        '<text x="{}" y="{}"{}>{}</text></g>',
        f"{term.holder}, term {term.term}, began {wording.utc(term.began_at)}, {words[term.ending or '']}, "
        f"{wording.counted(term.renewals, 'renewal')}",
        top + 11,
        last_six(term.term),
        gap,
        "now" if term.ended_at is None else "term",
        _one(begin),
        top,
        _one(width),
        BAR,
        _notches(term.renewals, begin, width, top),
        mark,
        _one(begin + width + 20 if fits else label_end),
        top + 11,
        "" if fits else mark_safe(place),
        name,
    )


def _notches(renewals: int, begin: float, width: float, top: int) -> SafeString | str:
    """As many as there were, evenly: when each came is not recorded. None where they would run together."""
    step = width / (renewals + 1)
    if step < NOTCH_ROOM:
        return ""
    return format_html_join(
        "",
        '<line class="notch" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>',
        ((_one(begin + step * (n + 1)), top + BAR - 5, top + BAR) for n in range(renewals)),
    )


def _mark(kind: str, x: float, y: float) -> SafeString:
    match kind:
        case "cross":
            path = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0-8l-8 8"
        case "triangle":
            path = f"M{x:.1f} {y - 5:.1f}l5 9h-10z"
        case _:
            path = f"M{x - 4:.1f} {y:.1f}a4 4 0 108 0 4 4 0 10-8 0"
    return format_html('<path class="end" d="{}"/>', path)


def _one(value: float) -> str:
    """To a tenth of a pixel."""
    return f"{value:.1f}"
