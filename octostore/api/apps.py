"""The API's app: who may call it from a browser."""

from __future__ import annotations

from typing import Any

from corsheaders.signals import check_request_enabled
from django.apps import AppConfig
from django.http import HttpRequest

# Nothing below these needs a credential, so every origin may ask, and none may send one.
PUBLIC_PATHS = ("/elections",)


class ApiConfig(AppConfig):
    name = "octostore.api"
    label = "api"
    verbose_name = "API"

    def ready(self) -> None:
        check_request_enabled.connect(is_public, dispatch_uid="octostore.api.is_public")


def is_public(sender: Any, request: HttpRequest, **kwargs: Any) -> bool:
    """Whether any origin may read the answer; all others need CORS_ALLOWED_ORIGINS."""
    return any(request.path_info == path or request.path_info.startswith(f"{path}/") for path in PUBLIC_PATHS)
