"""How mail is sent, from one address: `EMAIL_URL`."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

TIMEOUT_SECONDS = 10
_BACKENDS = "django.core.mail.backends"


def settings_from(url: str) -> dict[str, Any]:
    """Django's settings for mail. Raises ImproperlyConfigured, without repeating the address: it holds a password.

    `console:` prints mails, `dummy:` drops them; `smtp://user:password@host:587` asks for STARTTLS,
    `smtps://user:password@host:465` speaks TLS from the start, `smtp+plain://host:25` neither.
    """
    try:
        address = urlsplit(url)
        port = address.port
    except ValueError as error:
        raise ImproperlyConfigured("EMAIL_URL is not an address like smtp://user:password@host:587.") from error
    if address.scheme in {"console", "dummy"}:
        return {"EMAIL_BACKEND": f"{_BACKENDS}.{address.scheme}.EmailBackend"}
    if address.scheme not in {"smtp", "smtps", "smtp+plain"} or not address.hostname:
        raise ImproperlyConfigured("EMAIL_URL must be console:, dummy:, smtp://..., smtps://... or smtp+plain://...")
    return {
        "EMAIL_BACKEND": f"{_BACKENDS}.smtp.EmailBackend",
        "EMAIL_HOST": address.hostname,
        "EMAIL_PORT": port or {"smtp": 587, "smtps": 465, "smtp+plain": 25}[address.scheme],
        "EMAIL_HOST_USER": unquote(address.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(address.password or ""),
        "EMAIL_USE_TLS": address.scheme == "smtp",
        "EMAIL_USE_SSL": address.scheme == "smtps",
        "EMAIL_TIMEOUT": TIMEOUT_SECONDS,
    }
