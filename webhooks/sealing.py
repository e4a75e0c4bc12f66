"""An endpoint's signing secrets, which rest sealed under the server's key."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.utils import timezone

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
    return [unseal(endpoint, sealed) for sealed in _signing(endpoint, at)]


def can_sign(endpoint: Endpoint) -> bool:
    """Whether this process has the server keys for it; of one that is missing, resealing tells."""
    known = {key.id for key in settings.SERVER_KEYS}
    return all(sealed.partition(".")[0] in known for sealed in _signing(endpoint, timezone.now()))


def unseal(endpoint: Endpoint, sealed: str) -> str:
    return sealing.unseal(sealed, keys=settings.SERVER_KEYS, bound_to=f"webhook {endpoint.uuid}")


def _signing(endpoint: Endpoint, at: datetime) -> list[str]:
    overlaps = endpoint.previous_until is not None and at < endpoint.previous_until
    return [endpoint.secret, endpoint.previous_secret] if overlaps else [endpoint.secret]
