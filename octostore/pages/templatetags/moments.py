"""`{% load moments %}`: instants and lengths. Instants are milliseconds since 1970, or datetimes."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from octostore.pages import wording

register = template.Library()

Instant = int | datetime


@register.simple_tag(takes_context=True)
def moment(context: Context, at: Instant | None, now: int | None = None) -> SafeString | str:
    """`<time>`: as the reader wants times (`octostore.pages.display`), its title the exact one. A dash for None.

    `now` is the instant the page was read at, on the same clock; without it, this process's.
    """
    if at is None:
        return "—"
    instant = milliseconds(at)
    times = str(context.get("times", "relative"))
    name = {"relative": "age", "local": "local"}.get(times)
    text = wording.utc(instant)
    if times == "relative":
        text = wording.age((_or_now(now) - instant) / 1000)
    return format_html(
        '<time datetime="{}" title="{}"{}>{}</time>',
        wording.iso(instant),
        wording.utc_exactly(instant),
        format_html(' data-{}="{}"', name, instant) if name else "",
        text,
    )


@register.simple_tag
def as_of(now: int) -> SafeString:
    """How old what stands around it is: at the end of every live panel."""
    return format_html(
        '<p class="hint" data-now="{}">Read <time data-read data-age="{}" datetime="{}" title="{}">at {}</time></p>',
        now,
        now,
        wording.iso(now),
        wording.utc_exactly(now),
        wording.utc(now),
    )


@register.simple_tag
def countdown(until: int, now: int, label: str) -> SafeString:
    """What is left until an instant; it goes on in the browser, by the server's clock. `label` names it to ears."""
    left = wording.span(-(-max(0, until - now) // 1000))
    return format_html('<span role="timer" aria-label="{}" data-until="{}">{}</span>', label, until, left)


@register.filter
def duration(length: timedelta | float | None) -> str:
    """A length, seconds or timedelta, in words; a dash for None."""
    if length is None:
        return "—"
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    return f"{seconds * 1000:.0f} ms" if 0 < seconds < 1 else wording.span(seconds)


@register.filter
def clock(at: Instant) -> str:
    """An instant as the time of day in UTC."""
    return wording.utc(milliseconds(at))[11:]


@register.simple_tag
def server_time() -> SafeString:
    """The instant at which the page was made."""
    now = _or_now(None)
    return format_html('<time datetime="{}">{}</time>', wording.iso(now), wording.utc(now))


def milliseconds(at: Instant) -> int:
    return round(at.timestamp() * 1000) if isinstance(at, datetime) else at


def _or_now(now: int | None) -> int:
    return now or time.time_ns() // 1_000_000
