"""`{% load dialogs %}`: links to pages that ask whether to do something, which open over the page where script runs."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def asks(name: str, *parts: Any, **query: Any) -> SafeString:
    """The attributes of such a link: `<a class="button" {% asks "team_revoke_lock" team.slug lock.name %}>`."""
    address = reverse(name, args=parts) + (f"?{urlencode(query)}" if query else "")
    return format_html('href="{0}" hx-get="{0}" hx-target="#dialog" hx-swap="innerHTML"', address)
