"""Who may read the metrics: a bearer of the configured secret, or a configured address."""

from __future__ import annotations

from django.conf import settings
from rest_framework.request import Request

from octostore.api.client import certain_address_of
from octostore.lib.errors import AuthenticationFailed, AuthenticationRequired
from octostore.lib.secrets import digest, same


def require_reader(request: Request) -> None:
    """Raises AuthenticationRequired or AuthenticationFailed."""
    if _comes_from_a_known_address(request):
        return
    scheme, _, credential = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not credential:
        raise AuthenticationRequired
    if not settings.METRICS_BEARER or not same(_digest(credential), _digest(settings.METRICS_BEARER)):
        raise AuthenticationFailed


def _comes_from_a_known_address(request: Request) -> bool:
    address = certain_address_of(request)
    return address is not None and any(address in network for network in settings.METRICS_ADDRESSES)


def _digest(secret: str) -> bytes:
    return digest("metrics bearer", secret.strip())
