"""The doors of webhooks: parse, one step, render."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from octostore.api.bodies import read_object
from octostore.api.door import caller_of, respond
from octostore.api.views import JsonView
from webhooks import docs, verbs


class WebhooksView(JsonView):
    @docs.create
    def post(self, request: Request) -> HttpResponse:
        return respond(verbs.create(lambda: read_object(request), caller_of(request)))

    @docs.walk
    def get(self, request: Request) -> HttpResponse:
        return respond(verbs.walk(caller_of(request)))


class WebhookView(JsonView):
    @docs.show
    def get(self, request: Request, webhook_id: str) -> HttpResponse:
        return respond(verbs.show(webhook_id, caller_of(request)))

    @docs.change
    def patch(self, request: Request, webhook_id: str) -> HttpResponse:
        return respond(verbs.change(webhook_id, lambda: read_object(request), caller_of(request)))

    @docs.delete
    def delete(self, request: Request, webhook_id: str) -> HttpResponse:
        return respond(verbs.delete(webhook_id, caller_of(request)))


class RotateView(JsonView):
    @docs.rotate
    def post(self, request: Request, webhook_id: str) -> HttpResponse:
        return respond(verbs.rotate(webhook_id, lambda: read_object(request), caller_of(request)))


class TestView(JsonView):
    @docs.test
    def post(self, request: Request, webhook_id: str) -> HttpResponse:
        return respond(verbs.test(webhook_id, lambda: read_object(request), caller_of(request)))


class RecoverView(JsonView):
    @docs.recover
    def post(self, request: Request, webhook_id: str) -> HttpResponse:
        return respond(verbs.recover(webhook_id, lambda: read_object(request), caller_of(request)))


class DeliveriesView(JsonView):
    @docs.walk_deliveries
    def get(self, request: Request, webhook_id: str) -> HttpResponse:
        asked = request.query_params
        return respond(
            verbs.walk_deliveries(
                webhook_id,
                caller_of(request),
                cursor=asked.get("cursor"),
                limit=asked.get("limit"),
                state=asked.get("state"),
            )
        )


class DeliveryView(JsonView):
    @docs.show_delivery
    def get(self, request: Request, webhook_id: str, delivery_id: str) -> HttpResponse:
        return respond(verbs.show_delivery(webhook_id, delivery_id, caller_of(request)))


class RedeliverView(JsonView):
    @docs.redeliver
    def post(self, request: Request, webhook_id: str, delivery_id: str) -> HttpResponse:
        return respond(verbs.redeliver(webhook_id, delivery_id, lambda: read_object(request), caller_of(request)))
