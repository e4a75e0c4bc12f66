"""What people fill in about webhooks. Shapes and bounds; rules stay with the services."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone

from octostore.dashboard.once import OnceForm
from octostore.lib.errors import InvalidInput
from webhooks import messages, rules

EVENT_WORDS = {
    "acquired": "acquired: somebody holds the lock now",
    "released": "released: its holder gave it back, or a member ended the term",
    "expired": "expired: its holder was not heard of in time",
    "renewed": "renewed: its holder goes on; there are many of these",
}
SINCE = {
    "3600": "The last hour",
    "86400": "The last 24 hours",
    "604800": "The last 7 days",
    "2592000": "The last 30 days",
}
_PLAIN = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}


class EndpointForm(forms.Form):
    """Where calls go, and what for."""

    url = forms.CharField(
        label="URL",
        max_length=2048,
        help_text="It begins with https:// and answers from a public address.",
        widget=forms.URLInput(attrs={**_PLAIN, "inputmode": "url"}),
    )
    events = forms.MultipleChoiceField(
        label="Events", choices=list(EVENT_WORDS.items()), widget=forms.CheckboxSelectMultiple
    )
    lock_pattern = forms.CharField(
        label="Locks",
        strip=False,
        help_text="A lock's name, or the beginning of names and a star: repo/* . A star alone is all locks.",
        widget=forms.TextInput(attrs=_PLAIN),
    )

    def clean_events(self) -> list[str]:
        chosen: list[str] = self.cleaned_data["events"]
        return [messages.EVERY] if set(chosen) == set(messages.KINDS) else chosen

    def clean_lock_pattern(self) -> str:
        try:
            return rules.lock_pattern(self.cleaned_data["lock_pattern"]) or messages.EVERY
        except InvalidInput as error:
            raise forms.ValidationError(error.details or error.text) from error


class NewEndpointForm(EndpointForm, OnceForm):
    """Its answer shows the signing secret."""

    field_order = ("url", "events", "lock_pattern")


class SettingsForm(EndpointForm):
    active = forms.BooleanField(
        label="Make calls", required=False, help_text="Switched off, nothing that waits is sent."
    )


class RotateSecretForm(OnceForm):
    now = forms.ChoiceField(
        label="The old secret",
        choices=[("", "signs beside the new one for 24 hours"), ("now", "signs no more from now on: it leaked")],
        required=False,
        widget=forms.RadioSelect,
        initial="",
    )


class RecoverForm(forms.Form):
    since = forms.ChoiceField(
        label="What failed in", choices=list(SINCE.items()), widget=forms.RadioSelect, initial="86400"
    )

    def instant(self) -> Any:
        return timezone.now() - timedelta(seconds=int(self.cleaned_data["since"]))
