"""Forms whose answer shows a secret this once: sent again, by reloading that page, they do nothing."""

from __future__ import annotations

from django import forms
from django.http import HttpRequest

from octostore.lib import secrets

# The attempts that a browser's session remembers.
REMEMBERED = 50
_KEPT = "attempts"


class OnceForm(forms.Form):
    """`attempt` is made anew with each page; whoever sends it twice is told that it was done."""

    attempt = forms.CharField(max_length=64, widget=forms.HiddenInput, initial=lambda: secrets.encode(secrets.mint(16)))


def is_first(request: HttpRequest, form: OnceForm) -> bool:
    """Whether this valid form is sent for the first time; it is remembered then."""
    attempt = form.cleaned_data["attempt"]
    known: list[str] = request.session.get(_KEPT, [])
    if attempt in known:
        return False
    request.session[_KEPT] = [*known, attempt][-REMEMBERED:]
    return True
