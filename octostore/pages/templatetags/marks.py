"""`{% load marks %}`: status words with their glyphs, and the octopus, drawn on the server."""

from __future__ import annotations

from dataclasses import dataclass

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from octostore.pages import wording

register = template.Library()

GLYPHS = {
    "dot": '<circle cx="5" cy="5" r="5"/>',
    "triangle": '<path d="M5 0 10 10H0z"/>',
    "ring": '<path d="M5 0a5 5 0 100 10A5 5 0 005 0zm0 2a3 3 0 110 6 3 3 0 010-6z"/>',
    "half": '<path d="M5 0a5 5 0 100 10zm0 0a5 5 0 010 10V8.5a3.5 3.5 0 000-7z"/>',
    "arrows": '<path d="M0 5 3 1v2h4V1l3 4-3 4V7H3v2z"/>',
    "cross": '<path d="M1 2.5 2.5 1 5 3.5 7.5 1 9 2.5 6.5 5 9 7.5 7.5 9 5 6.5 2.5 9 1 7.5 3.5 5z"/>',
}
# word → glyph and tone, which is a class of the stylesheet.
STATUSES = {
    "held": ("dot", "held"),
    "leading": ("dot", "held"),
    "active": ("dot", "held"),
    "ok": ("dot", "held"),
    "delivered": ("dot", "held"),
    "expiring": ("triangle", "expiring"),
    "pending": ("half", "info"),
    "retrying": ("triangle", "expiring"),
    "slow": ("triangle", "expiring"),
    "vacant": ("ring", "vacant"),
    "free": ("ring", "vacant"),
    "paused": ("ring", "vacant"),
    "expired": ("ring", "vacant"),
    "revoked": ("cross", "vacant"),
    "delayed": ("half", "delayed"),
    "flapping": ("arrows", "flapping"),
    "failing": ("cross", "lost"),
    "failed": ("cross", "lost"),
    "disabled": ("cross", "lost"),
    "down": ("cross", "lost"),
    "unknown": ("ring", "vacant"),
}


@register.simple_tag
def badge(status: str, word: str = "") -> SafeString:
    """A status as glyph, word and tone; `word` where it is to read otherwise. One nobody knows has a ring."""
    glyph, tone = STATUSES.get(status.lower(), ("ring", "vacant"))
    return format_html(
        '<span class="badge {}"><svg viewBox="0 0 10 10" aria-hidden="true">{}</svg>{}</span>',
        tone,
        mark_safe(GLYPHS[glyph]),
        word or status.capitalize(),
    )


@dataclass(frozen=True)
class _Arm:
    """One arm, from under the head to its tip."""

    path: str
    tip_x: float
    tip_y: float


def _arm(n: int) -> _Arm:
    x = 36 + 8.6 * n
    out = -1 if n < 4 else 1
    reach = abs(n - 3.5)
    tip_x, tip_y = x + out * (6 + 5.2 * reach), 106 - 6.2 * reach
    path = f"M{x:.1f} 62 C{x + out * 2:.1f} 84 {tip_x - out * 10:.1f} 82 {tip_x:.1f} {tip_y:.1f}"
    return _Arm(path, round(tip_x, 1), round(tip_y, 1))


ARMS = [_arm(n) for n in range(8)]
LEADING = 6
RADIUS = 17
# Arms light up from the middle outwards, so a few look like a few.
ORDER = (3, 4, 2, 5, 1, 7, 0)
PICTURES = {
    "held": "The leading arm holds the lease, with {} percent of its time left",
    "expiring": "The lease is about to expire: {} percent of its time is left",
    "vacant": "No arm holds the lease",
    "delayed": "No arm holds the lease, and none may take it yet",
}


@register.simple_tag
def gauge(
    status: str, until: int = 0, now: int = 0, whole_ms: int = 0, others: int = 0, flapping: bool = False
) -> SafeString:
    """The octopus: the coral arm holds a ring, whose arc is what is left of `whole_ms` until `until`.

    `others` arms are dark, for as many who led lately. Instants are milliseconds since 1970.
    """
    is_held = status in {"held", "expiring"}
    share = max(0.0, min(1.0, (until - now) / whole_ms)) if is_held and whole_ms else 0.0
    label = PICTURES[status].format(round(share * 100)) + (
        f"; {wording.counted(others, 'other')} led lately" if others else ""
    )
    lit = set(ORDER[:others])
    leads = {LEADING, LEADING - 1} if flapping else {LEADING}
    arms = format_html_join(
        "",
        '<path class="{}" d="{}"/>',
        (
            (
                ("lead dashed" if flapping else "lead") if is_held and n in leads else "on" if n in lit else "arm",
                arm.path,
            )
            for n, arm in enumerate(ARMS)
        ),
    )
    eyes = '<circle class="eye" cx="57" cy="42" r="3.4"/><circle class="eye" cx="75" cy="42" r="3.4"/>'
    lids = '<path class="lid" d="M53 42h8M71 42h8"/>'
    x, y = (ARMS[LEADING].tip_x, round(ARMS[LEADING].tip_y + 18, 1)) if is_held else (66.0, 126.0)
    ring = (
        format_html(
            '<circle class="ring" cx="{0}" cy="{1}" r="{2}" data-until="{3}" data-whole="{4}" '
            'pathLength="1" stroke-dasharray="{5} 1" transform="rotate(-90 {0} {1})"/>',
            x,
            y,
            RADIUS,
            until,
            whole_ms,
            round(share, 3),
        )
        if is_held
        else ""
    )
    return format_html(
        '<svg class="gauge {}" viewBox="0 0 132 148" role="img" aria-label="{}">{}'
        '<circle class="head" cx="66" cy="38" r="30"/>{}<circle class="track" cx="{}" cy="{}" r="{}"/>{}</svg>',
        status,
        label,
        arms,
        mark_safe(eyes if is_held else lids),
        x,
        y,
        RADIUS,
        ring,
    )


@register.simple_tag
def octopus() -> SafeString:
    """The small mark: a head and four arms, one of them coral."""
    return mark_safe(
        '<svg class="octopus" viewBox="0 0 32 32" aria-hidden="true"><path d="M10 17c-1 4-4 4-5 8M14 18c0 4-2 5-2 9'
        'M18 18c0 4 2 5 2 9"/><path class="lead" d="M22 17c1 4 4 4 5 8"/><circle class="head" cx="16" cy="11" r="8"/>'
        '<circle class="eye" cx="13" cy="11" r="1.5"/><circle class="eye" cx="19" cy="11" r="1.5"/></svg>'
    )


@register.simple_tag
def icon(status: str) -> SafeString:
    """The tab's own mark for `held`, `expiring` or `vacant`; while the connection is lost script shows another one."""
    shown, stale = (static(f"pages/icons/{name}.svg") for name in (status, "stale"))
    return format_html(
        '<link rel="icon" id="icon" type="image/svg+xml" href="{0}" data-href="{0}" data-stale-href="{1}">',
        shown,
        stale,
    )
