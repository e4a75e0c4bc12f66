"""Ending a term on staff's word: that very term, with a reason, through the engine."""

from __future__ import annotations

from datetime import timedelta

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from octostore.api.request_id import request_id_of
from octostore.leases import engine
from octostore.leases.models import Lease
from octostore.leases.outcomes import Held, Revoked
from octostore.teams.audit import Act
from octostore.teams.models import Team, User
from octostore.teams.principals import team_uuid_of

ROOMS = "elections"


class ForceRelease(forms.Form):
    """`term` is the one that was looked at: another one that began meanwhile is left alone."""

    term = forms.IntegerField(widget=forms.HiddenInput)
    reason = forms.CharField(max_length=500, help_text="For history and audit log.")
    delay_seconds = forms.IntegerField(
        min_value=0,
        max_value=settings.LOCK_DELAY_MAX_SECONDS,
        initial=0,
        help_text="How long nobody may acquire it then.",
    )


def force_release(request: HttpRequest, lease_id: int) -> HttpResponse:
    """A form to confirm, and its consequence. 409 where the term that was shown is over."""
    lease = get_object_or_404(Lease, pk=lease_id)
    state = engine.inspect(lease.space, lease.name)
    shown = state.hold.term if isinstance(state, Held) else 0
    form = ForceRelease(request.POST or None, initial={"term": shown})
    if lease.space == ROOMS:
        form.fields["delay_seconds"].disabled, form.fields["delay_seconds"].widget = True, forms.HiddenInput()
    is_over = not isinstance(state, Held)
    if request.method == "POST" and form.is_valid():
        if end_term(request, lease, **form.cleaned_data):
            messages.success(request, f"Ended term {form.cleaned_data['term']} of {lease.name}.")
            return redirect("admin:leases_lease_change", lease.pk)
        is_over = True
    context = {"lease": lease, "state": state, "form": form, "is_over": is_over}
    return render(request, "pages/force_release.html", context, status=409 if is_over else 200)


def end_term(request: HttpRequest, lease: Lease, *, term: int, reason: str, delay_seconds: int) -> bool:
    """Whether that term was live and is over now; then history and audit say who ended it and why."""
    assert isinstance(request.user, User)
    act = Act(actor=f"staff:{request.user.email}", reason=reason, request_id=request_id_of(request))
    ended = engine.revoke(
        lease.space, lease.name, term=term, reason=reason, actor=act.actor, delay=timedelta(seconds=delay_seconds)
    )
    if not isinstance(ended, Revoked):
        return False
    kind = "room" if lease.space == ROOMS else "lock"
    act.record(_team_of(lease), f"{kind}_revoked", f"{kind}:{lease.name}", before={"term": term})
    return True


def _team_of(lease: Lease) -> int | None:
    uuid = team_uuid_of(lease.space)
    return None if uuid is None else Team.objects.values_list("id", flat=True).get(uuid=uuid)
