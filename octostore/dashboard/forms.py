"""What people fill in on a team's pages. Shapes and bounds; rules stay with the services."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, validate_email
from django.utils import timezone

from locks import rules
from octostore.dashboard.once import OnceForm
from octostore.dashboard.queries import audit, leases, locks, rooms
from octostore.lib import ids
from octostore.teams import keys
from octostore.teams.models import Role
from octostore.teams.principals import SCOPES, Scope

SCOPE_WORDS: dict[Scope, str] = {
    "read": "Look at locks, who holds them and their history, and at the team's usage",
    "locks": "Take, renew and give back locks, and keep sessions alive; includes looking",
    "webhooks": "Manage webhooks: endpoints, signing secrets, deliveries",
    "admin": "Everything, and also end the terms of others and change any acl",
}
LASTING = {"30": "30 days", "90": "90 days", "365": "1 year"}
ENDINGS = {"0": "Now", "3600": "In 1 hour", "86400": "In 24 hours", "604800": "In 7 days"}
INVITED_MAX = 20
_DAYS = [
    MinValueValidator(datetime(2020, 1, 1).date(), "Choose a later day."),
    MaxValueValidator(datetime(2100, 1, 1).date(), "Choose an earlier day."),
]


class Day(forms.DateField):
    """A day in UTC."""

    def __init__(self, **options: Any) -> None:
        super().__init__(widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"), validators=_DAYS, **options)


class KeyForm(OnceForm):
    name = forms.RegexField(
        rf"\A{ids.CANDIDATE_ID.pattern}\Z",
        strip=True,
        help_text=f"Who will carry it: {ids.CANDIDATE_ID_RULE}.",
        error_messages={"invalid": f"A name has {ids.CANDIDATE_ID_RULE}."},
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "maxlength": "64"}),
    )
    scopes = forms.MultipleChoiceField(
        label="What it may do",
        choices=[(scope, f"{scope}: {SCOPE_WORDS[scope]}") for scope in SCOPES],
        widget=forms.CheckboxSelectMultiple,
        initial=["locks"],
    )
    locks = forms.CharField(
        label="For locks that begin with",
        required=False,
        strip=False,
        help_text="Like repo/; empty for all locks.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    lasts = forms.ChoiceField(
        label="Expires",
        choices=[
            *((days, f"After {words}") for days, words in LASTING.items()),
            ("until", "After the day below"),
            ("never", "Never: only revoking ends it"),
        ],
        widget=forms.RadioSelect,
        initial="90",
    )
    until = Day(label="Last day", required=False, help_text="In UTC; for a day of your choice.")

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if given.get("lasts") == "until":
            if not given.get("until") and "until" not in self.errors:
                self.add_error("until", "Choose the last day.")
            elif given.get("until") and _end_of(given["until"]) <= timezone.now():
                self.add_error("until", "This day is over.")
        return given

    def expires_at(self) -> datetime | None:
        """When a key of this form expires; None for never."""
        lasts = self.cleaned_data["lasts"]
        if lasts == "until":
            return _end_of(self.cleaned_data["until"])
        return None if lasts == "never" else keys.lasting(timedelta(days=int(lasts)))


class RotateForm(OnceForm):
    ends_in = forms.ChoiceField(
        label="The old key ends", choices=list(ENDINGS.items()), widget=forms.RadioSelect, initial="3600"
    )

    def length(self) -> timedelta:
        return timedelta(seconds=int(self.cleaned_data["ends_in"]))


class ReasonForm(forms.Form):
    reason = forms.CharField(max_length=rules.REASON_MAX_CHARACTERS, help_text="For history and audit log.")


class OptionalReasonForm(forms.Form):
    reason = forms.CharField(max_length=rules.REASON_MAX_CHARACTERS, required=False, help_text="For the audit log.")


class EndTermForm(ReasonForm):
    """`term` is the one that was looked at: another one that began meanwhile is left alone."""

    field_order = ("term", "again", "reason", "delay_seconds")

    term = forms.IntegerField(min_value=1, max_value=rules.TERM_MAX, widget=forms.HiddenInput)
    again = forms.CharField(
        strip=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}),
    )

    def __init__(self, *args: Any, expected: str, label: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._expected = expected
        self.fields["again"].label = label

    def clean_again(self) -> str:
        again: str = self.cleaned_data["again"]
        if again != self._expected:
            raise ValidationError("That is something else. Look whether it is the one you mean.")
        return again


class RevokeLockForm(EndTermForm):
    delay_seconds = forms.IntegerField(
        label="Seconds until it can be acquired again",
        min_value=0,
        max_value=settings.LOCK_DELAY_MAX_SECONDS,
        help_text="Time for the old holder to notice, if it looks.",
    )


class InviteForm(OnceForm):
    emails = forms.CharField(
        label="E-mail addresses",
        max_length=10_000,
        help_text=f"Up to {INVITED_MAX}, separated by spaces, commas or lines.",
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(choices=Role.choices, initial=Role.MEMBER)

    def __init__(self, *args: Any, roles: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = [choice for choice in Role.choices if choice[0] in roles]  # type: ignore[attr-defined]

    def clean_emails(self) -> list[str]:
        emails = list(dict.fromkeys(self.cleaned_data["emails"].lower().replace(",", " ").replace(";", " ").split()))
        if len(emails) > INVITED_MAX:
            raise ValidationError(f"Invite at most {INVITED_MAX} at once.")
        for email in emails:
            try:
                validate_email(email)
            except ValidationError as error:
                raise ValidationError("%(email)s is no e-mail address.", params={"email": email}) from error
        return emails


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)


class AuditForm(forms.Form):
    """Which entries of the audit log are wanted; everything may be left out."""

    actor = forms.CharField(required=False, max_length=300)
    group = forms.ChoiceField(
        label="About",
        required=False,
        choices=[("", "Everything"), *((group, group.capitalize()) for group in audit.GROUPS)],
    )
    object = forms.CharField(required=False, max_length=300)
    since = Day(label="From", required=False)
    until = Day(label="To", required=False)

    def asked(self) -> audit.Asked:
        return audit.Asked(**{name: self.cleaned_data[name] for name in ("actor", "group", "object", "since", "until")})


class ExportForm(AuditForm):
    format = forms.ChoiceField(choices=[("csv", "CSV"), ("jsonl", "JSON lines")])


class LocksForm(forms.Form):
    """Which locks are wanted."""

    # As it stands in addresses; what Django calls so of a form is another thing.
    prefix = forms.CharField(label="Begins with", required=False, max_length=256, strip=False)  # type: ignore[assignment]
    status = forms.ChoiceField(
        choices=[
            (locks.ACTIVE, "Held or delayed"),
            *((status, status.capitalize()) for status in leases.STATUSES),
            (locks.ALL, "All"),
        ],
    )
    holder = forms.CharField(label="Holder has", required=False, max_length=64)


class RoomsForm(forms.Form):
    """Which rooms are wanted, in which order."""

    q = forms.CharField(label="Id or leader", required=False, max_length=64)
    status = forms.ChoiceField(choices=list(rooms.STATUSES.items()))
    sort = forms.ChoiceField(choices=list(rooms.SORTS.items()))
    size = forms.TypedChoiceField(label="Rows", choices=[(size, size) for size in rooms.SIZES], coerce=int)
    page = forms.IntegerField(min_value=1, max_value=rooms.PAGES_MAX, widget=forms.HiddenInput)

    def asked(self) -> rooms.Asked:
        given = self.cleaned_data
        return rooms.Asked(
            search=given["q"], status=given["status"], sort=given["sort"], size=given["size"], page=given["page"]
        )


def _end_of(day: Any) -> datetime:
    return datetime.combine(day, time(), UTC) + timedelta(days=1)
