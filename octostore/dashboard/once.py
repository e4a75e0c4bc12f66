"""Forms whose answer shows a secret this once: sent again, by reloading or by pressing twice, they do nothing."""

from __future__ import annotations

from django import forms
from django.contrib.sessions.models import Session
from django.http import HttpRequest

from octostore.lib import secrets
from octostore.lib.errors import AuthenticationRequired
from octostore.teams.writing import changing

# The attempts that a browser's session remembers.
REMEMBERED = 50
_KEPT = "attempts"


class OnceForm(forms.Form):
    """`attempt` is made anew with each page; whoever sends it twice is told that it was done."""

    attempt = forms.CharField(max_length=64, widget=forms.HiddenInput, initial=lambda: secrets.encode(secrets.mint(16)))


def is_first(request: HttpRequest, form: OnceForm) -> bool:
    """Whether this valid form is sent for the first time; it is remembered then. Raises AuthenticationRequired."""
    attempt = form.cleaned_data["attempt"]
    with changing():
        # As it is by now: the same form may have come twice at once.
        kept = Session.objects.select_for_update().filter(pk=request.session.session_key).first()
        if kept is None:
            raise AuthenticationRequired
        known: list[str] = kept.get_decoded().get(_KEPT, [])
        is_new = attempt not in known
        request.session[_KEPT] = [*known, attempt][-REMEMBERED:] if is_new else known
        request.session.save()
    return is_new
