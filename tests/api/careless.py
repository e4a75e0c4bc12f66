"""A view that fails with a secret in a local variable and in what it says."""

from __future__ import annotations

from django.http import HttpResponse
from django.urls import path
from rest_framework.request import Request

from octostore.api.views import JsonView


class CarelessView(JsonView):
    def get(self, request: Request) -> HttpResponse:
        capability = request.headers["X-Capability"]
        raise RuntimeError(f"cannot use {capability}")


urlpatterns = [path("bug", CarelessView.as_view())]

handler500 = "octostore.api.errors.handler500"
