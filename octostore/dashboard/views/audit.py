"""A team's audit log, on a page and as a file."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_POST, require_safe

from octostore.api.request_id import request_id_of
from octostore.dashboard import exporting
from octostore.dashboard.forms import AuditForm, ExportForm
from octostore.dashboard.queries import audit as queries
from octostore.dashboard.showing import show
from octostore.lib.errors import InvalidInput
from octostore.teams.audit import Act
from octostore.teams.models import Membership


@require_safe
def index(request: HttpRequest, by: Membership) -> HttpResponse:
    form = AuditForm(request.GET)
    is_sound = form.is_valid()
    page = queries.page(by.team, form.asked(), request.GET.get("cursor")) if is_sound else None
    context = {"form": form, "page": page, "most": queries.EXPORT_MAX}
    status = 200 if is_sound else 422
    return show(request, by, "audit/index.html", context, fragment="audit/_table.html", status=status)


@require_POST
def export(request: HttpRequest, by: Membership) -> HttpResponseBase:
    """The entries that a page shows, and all that follow; that it was asked for is an entry of its own."""
    form = ExportForm(request.POST)
    if not form.is_valid():
        raise InvalidInput("There is no such export")
    asked, kind = form.asked(), form.cleaned_data["format"]
    Act(actor=by.actor, request_id=request_id_of(request)).record(
        by.team_id, "audit_exported", f"team:{by.team.slug}", after={"format": kind} | asked.as_json()
    )
    content_type, write = exporting.FORMATS[kind]
    response = StreamingHttpResponse(write(queries.export(by.team, asked)), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{by.team.slug}-audit.{kind}"'
    return response
