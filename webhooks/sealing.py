"""An endpoint's signing secrets, which rest sealed under the server's key."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings

from octostore.lib import sealing
from webhooks.models import Endpoint


def seal(endpoint: Endpoint, secret: str) -> str:
    """The secret as the endpoint's row keeps it, and as no other row can."""
    return sealing.seal(secret, keys=settings.SERVER_KEYS, bound_to=f"webhook {endpoint.uuid}")


def secret_of(endpoint: Endpoint) -> str:
    """Raises Unavailable where this process lacks the server key it was sealed under."""
    return unseal(endpoint, endpoint.secret)


def signing_secrets(endpoint: Endpoint, at: datetime) -> list[str]:
    """The secrets that sign at that instant, the newest first. Raises Unavailable as `secret_of` does."""
    overlaps = endpoint.previous_until is not None and at < endpoint.previous_until
    return [unseal(endpoint, one) for one in (endpoint.secret, *([endpoint.previous_secret] if overlaps else []))]


def unseal(endpoint: Endpoint, sealed: str) -> str:
    return sealing.unseal(sealed, keys=settings.SERVER_KEYS, bound_to=f"webhook {endpoint.uuid}")
