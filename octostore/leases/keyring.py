"""The server's keys: the current one derives new capabilities, older ones answer for live grants."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from octostore.leases.models import KnownKey, Lease
from octostore.lib import secrets
from octostore.lib.errors import Unavailable
from octostore.lib.secrets import ServerKey


def current() -> ServerKey:
    """The key under which new grants are made."""
    key: ServerKey = settings.SERVER_KEYS[0]
    return key


def capability(key_id: str, nonce: bytes, space: str, name: str, form: Callable[[bytes], str] = secrets.encode) -> str:
    """The secret of one grant, its 32 bytes written by `form` (43 characters without one).

    Raises Unavailable when this process lacks the key.
    """
    for key in settings.SERVER_KEYS:
        if key.id == key_id:
            return form(key.derive("capability", nonce, space.encode(), name.encode()))
    raise Unavailable("That grant was made under a server key which this process does not have")


def digest(capability: str) -> bytes:
    """What a row keeps of a capability: its SHA-256, 32 bytes."""
    return secrets.digest("capability", capability)


def adopt(key: ServerKey) -> None:
    """Let the database be served under `key` from now on."""
    KnownKey.objects.get_or_create(key_id=key.id)


def require_known_key() -> None:
    """Refuse to start under a key the database does not know.

    A database that knows no key and has no lease adopts the current one. Raises
    ImproperlyConfigured with the cause and the way out.
    """
    key = current()
    if KnownKey.objects.filter(key_id=key.id).exists():
        return
    if KnownKey.objects.exists() or Lease.objects.exists():
        raise ImproperlyConfigured(
            f"The database does not know the server key {key.id}: start with the key it was served under"
            " (OCTOSTORE_SERVER_KEY, or server.key in the data directory), or run `manage.py adopt_server_key`"
            " if this key is meant to follow it."
        )
    adopt(key)
