"""The webhooks of a team: where calls go, what was sent attempt by attempt, and sending it again."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from octostore.api.request_id import request_id_of
from octostore.dashboard import once
from octostore.dashboard.queries import leases
from octostore.dashboard.queries import webhooks as queries
from octostore.dashboard.showing import show
from octostore.dashboard.webhook_forms import NewEndpointForm, RecoverForm, RotateSecretForm, SettingsForm
from octostore.lib.errors import Conflict, InvalidInput
from octostore.teams.models import Membership
from webhooks import deliveries, endpoints, sealing
from webhooks import messages as events
from webhooks.endpoints import Manager
from webhooks.models import Delivery, Endpoint

AGAIN = "That was done already; a signing secret is shown only once. Rotate it if you did not keep it."


@require_safe
def index(request: HttpRequest, by: Membership) -> HttpResponse:
    context = {"webhooks": queries.listing(_manager(request, by)), "now": leases.now()}
    return show(request, by, "webhooks/index.html", context, fragment="webhooks/_table.html")


@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest, by: Membership) -> HttpResponse:
    """A form, and its answer: the signing secret, this once."""
    initial = {"events": events.USUAL, "lock_pattern": events.EVERY}
    form = NewEndpointForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        if not once.is_first(request, form):
            return _done_already(request, by)
        given = form.cleaned_data
        try:
            made = endpoints.create(
                by=_manager(request, by),
                url=given["url"],
                events=given["events"],
                lock_pattern=given["lock_pattern"],
                secret=None,
            )
        except (InvalidInput, Conflict) as error:
            form.add_error("url" if isinstance(error, InvalidInput) else None, error.details or error.text)
        else:
            return _secret(request, by, made, sealing.secret_of(made))
    return show(request, by, "webhooks/new.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
def detail(request: HttpRequest, by: Membership, webhook: UUID) -> HttpResponse:
    state = request.GET.get("state") or None
    if state is not None and state not in Delivery.State.values:
        raise InvalidInput("There is no such list of deliveries")
    manager = _manager(request, by)
    context = {
        "webhook": queries.one(manager, str(webhook)),
        "page": queries.page(manager, str(webhook), state=state, cursor=request.GET.get("cursor")),
        "state": state,
        "states": Delivery.State.values,
        "now": leases.now(),
    }
    return show(request, by, "webhooks/detail.html", context, fragment="webhooks/_deliveries.html")


@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest, by: Membership, webhook: UUID) -> HttpResponse:
    manager = _manager(request, by)
    endpoint = endpoints.find(by=manager, public_id=str(webhook))
    asked = endpoint.events.split()
    initial = {
        "url": endpoint.url,
        "events": list(events.KINDS) if events.EVERY in asked else asked,
        "lock_pattern": endpoint.lock_pattern,
        "active": endpoint.is_active,
    }
    form = SettingsForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            endpoints.change(by=manager, public_id=str(webhook), **form.cleaned_data)
        except InvalidInput as error:
            form.add_error("url", error.details or error.text)
        else:
            messages.success(request, "Changed.")
            return redirect("team_webhook", by.team.slug, webhook)
    context = {"form": form, "webhook": queries.one(manager, str(webhook))}
    return show(request, by, "webhooks/settings.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def rotate(request: HttpRequest, by: Membership, webhook: UUID) -> HttpResponse:
    """A new signing secret, shown this once."""
    manager = _manager(request, by)
    found = queries.one(manager, str(webhook))
    form = RotateSecretForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if not once.is_first(request, form):
            return _done_already(request, by)
        endpoint, secret = endpoints.rotate(by=manager, public_id=str(webhook), now=bool(form.cleaned_data["now"]))
        return _secret(request, by, endpoint, secret)
    context = {"form": form, "webhook": found}
    return show(request, by, "webhooks/rotate.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, by: Membership, webhook: UUID) -> HttpResponse:
    manager = _manager(request, by)
    found = queries.one(manager, str(webhook))
    if request.method == "POST":
        endpoints.delete(by=manager, public_id=str(webhook))
        messages.success(request, f"Deleted the webhook to {found.host}. Nothing that waited is sent.")
        return redirect("team_webhooks", by.team.slug)
    return show(request, by, "webhooks/delete.html", {"webhook": found})


@require_POST
def test(request: HttpRequest, by: Membership, webhook: UUID) -> HttpResponse:
    try:
        sent = deliveries.test(by=_manager(request, by), public_id=str(webhook))
    except Conflict as error:
        messages.error(request, error.details or error.text)
        return redirect("team_webhook", by.team.slug, webhook)
    return redirect("team_delivery", by.team.slug, webhook, sent.uuid)


@require_http_methods(["GET", "HEAD", "POST"])
def recover(request: HttpRequest, by: Membership, webhook: UUID) -> HttpResponse:
    manager = _manager(request, by)
    found = queries.one(manager, str(webhook))
    form = RecoverForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            count = deliveries.recover(by=manager, public_id=str(webhook), since=form.instant())
        except Conflict as error:
            form.add_error(None, error.details or error.text)
        else:
            messages.success(request, f"{count} deliver{'y is' if count == 1 else 'ies are'} sent again.")
            return redirect("team_webhook", by.team.slug, webhook)
    context = {"form": form, "webhook": found}
    return show(request, by, "webhooks/recover.html", context, status=422 if form.errors else 200)


@require_safe
def delivery(request: HttpRequest, by: Membership, webhook: UUID, delivery: UUID) -> HttpResponse:
    manager = _manager(request, by)
    sent, look_at = queries.delivery(manager, str(webhook), str(delivery))
    context = {
        "webhook": queries.one(manager, str(webhook)),
        "sent": sent,
        "look_at": look_at,
        "now": leases.now(),
    }
    return show(request, by, "webhooks/delivery.html", context, fragment="webhooks/_delivery.html")


@require_POST
def redeliver(request: HttpRequest, by: Membership, webhook: UUID, delivery: UUID) -> HttpResponse:
    try:
        deliveries.redeliver(by=_manager(request, by), public_id=str(webhook), delivery_id=str(delivery))
    except Conflict as error:
        messages.error(request, error.details or error.text)
    else:
        messages.success(request, "It is sent again, under the same message id.")
    return redirect("team_delivery", by.team.slug, webhook, delivery)


def _manager(request: HttpRequest, by: Membership) -> Manager:
    return Manager.of_member(by, request_id=request_id_of(request))


def _secret(request: HttpRequest, by: Membership, endpoint: Endpoint, secret: str) -> HttpResponse:
    found = queries.one(_manager(request, by), str(endpoint.uuid))
    return show(request, by, "webhooks/secret.html", {"webhook": found, "secret": secret})


def _done_already(request: HttpRequest, by: Membership) -> HttpResponse:
    messages.info(request, AGAIN)
    return redirect("team_webhooks", by.team.slug)
