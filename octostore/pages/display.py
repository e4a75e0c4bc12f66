"""How a person wants pages to look: kept in cookies of their browser, for those who are not signed in too."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from octostore.lib.errors import Forbidden, InvalidInput

YEAR = 365 * 86_400
# The first of each is what a browser without a cookie gets.
CHOICES = {
    "theme": ("auto", "light", "dark"),
    "times": ("relative", "local", "utc"),
    "keys": ("on", "off"),
}


def display(request: HttpRequest) -> dict[str, Any]:
    """For templates: what was chosen, as `theme`, `times` and `keys`, and all there is as `display_choices`."""
    chosen = {name: _chosen(request, name) for name in CHOICES}
    return {**chosen, "display_choices": [(name, values, chosen[name]) for name, values in CHOICES.items()]}


@csrf_exempt
@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keep one choice, and go back to where it was made.

    No CSRF secret is asked for, so that pages which send no referrer can have the form and pages without
    any other form need no cookie; what another site says is refused where the browser tells of it.
    """
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
        raise Forbidden
    chosen = {name: request.POST[name] for name in CHOICES if name in request.POST}
    if not chosen or any(value not in CHOICES[name] for name, value in chosen.items()):
        raise InvalidInput("There is no such choice")
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        back = "/"
    response = HttpResponseRedirect(back)
    for name, value in chosen.items():
        response.set_cookie(
            f"octostore_{name}", value, max_age=YEAR, secure=settings.HTTPS, httponly=True, samesite="Lax"
        )
    return response


def _chosen(request: HttpRequest, name: str) -> str:
    value = request.COOKIES.get(f"octostore_{name}", "")
    return value if value in CHOICES[name] else CHOICES[name][0]
