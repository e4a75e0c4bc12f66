"""Who comes into the staff area."""

from __future__ import annotations

from typing import Any

from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from octostore.lib.errors import Forbidden


class StaffSite(AdminSite):
    """Staff alone, by our own sign-in and, where the setting asks for it, with a second factor."""

    site_header = site_title = "OctoStore staff"
    index_title = "All teams"
    site_url = "/accounts/"

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and not _lacks_second_factor(request)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Where whoever may not come in is sent to."""
        if not request.user.is_authenticated:
            return redirect_to_login(request.GET.get("next") or request.get_full_path())
        if super().has_permission(request) and _lacks_second_factor(request):
            messages.info(request, "The staff area needs a second factor: set up an authenticator app first.")
            return redirect("mfa_activate_totp")
        raise Forbidden("This is for the staff of the service")


def _lacks_second_factor(request: HttpRequest) -> bool:
    # One who has it was asked for it at sign-in.
    return settings.STAFF_SECOND_FACTOR and not is_mfa_enabled(request.user)
