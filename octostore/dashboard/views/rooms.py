"""All rooms, for staff, and the end of a term on their word."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from elections.services import SPACE
from octostore.dashboard.forms import EndTermForm, RoomsForm
from octostore.dashboard.queries import rooms as queries
from octostore.dashboard.queries.rooms import Detail
from octostore.leases.models import Lease
from octostore.lib.errors import InvalidInput, NotFound
from octostore.pages.force_release import end_term
from octostore.pages.fragments import asks_for_part, page_or_fragment

FIRST = {"status": "led", "sort": "expiry", "size": "50", "page": "1"}


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    form = RoomsForm(FIRST | request.GET.dict())
    if not form.is_valid():
        raise InvalidInput("There is no such list of rooms")
    page = queries.page(form.asked())
    # The figures are read where they are shown: not for a part of the page.
    context = {"form": form, "page": page, "now": page.at, "figures": queries.figures}
    return page_or_fragment(request, "dashboard/rooms/index.html", "dashboard/rooms/_table.html", context)


@require_safe
def figures(request: HttpRequest) -> HttpResponse:
    """The figures on top of the list, which are got again apart from it."""
    return render(request, "dashboard/rooms/_figures.html", {"figures": queries.figures()})


@require_safe
def detail(request: HttpRequest, election_id: str) -> HttpResponse:
    found = _found(election_id)
    context = {
        "room": found.line,
        "terms": found.terms,
        "events": found.events,
        "now": found.at,
        "is_part": asks_for_part(request),
    }
    return page_or_fragment(request, "dashboard/rooms/detail.html", "dashboard/rooms/_state.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def vacate(request: HttpRequest, election_id: str) -> HttpResponse:
    """A form to confirm, and its consequence. 409 where the term that was shown is over."""
    found = _found(election_id)
    initial = {"term": found.line.term, "reason": request.GET.get("reason", "")}
    label = "The last four characters of the id"
    form = EndTermForm(request.POST or None, initial=initial, expected=election_id[-4:], label=label)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        lease = get_object_or_404(Lease.objects.only("space", "name"), space=SPACE, name=election_id)
        if end_term(request, lease, term=given["term"], reason=given["reason"], delay_seconds=0):
            messages.success(request, f"Ended term {given['term']} of {election_id}.")
            return redirect("ops_room", election_id)
        present = _found(election_id)
        over = {"room": present.line, "now": present.at, "given": given}
        return render(request, "dashboard/rooms/over.html", over, status=409)
    context = {"room": found.line, "now": found.at, "form": form}
    return render(request, "dashboard/rooms/vacate.html", context, status=422 if form.errors else 200)


def _found(election_id: str) -> Detail:
    found = queries.detail(election_id)
    if found is None:
        raise NotFound
    return found
