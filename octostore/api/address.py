"""Where the caller reached this service: what absolute addresses in answers begin with."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from rest_framework.request import Request


def service_url(request: HttpRequest | Request) -> str:
    """Scheme and host without a path, like `https://octo.example`.

    A Host header that names none of the allowed hosts gives the first of these that is a name.
    """
    scheme = "https" if settings.HTTPS else request.scheme
    try:
        host = request.get_host()
    except DisallowedHost:
        named = [one.removeprefix(".") for one in settings.ALLOWED_HOSTS if "*" not in one]
        host = named[0] if named else f"{request.META['SERVER_NAME']}:{request.META['SERVER_PORT']}"
    return f"{scheme}://{host}"
