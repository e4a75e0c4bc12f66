"""The addresses of the service itself."""

from __future__ import annotations

from django.urls import path

from octostore.api import service, team

urlpatterns = [
    path("", service.RootView.as_view(), name="root"),
    path("health", service.HealthView.as_view(), name="health"),
    path("ready", service.ReadyView.as_view(), name="ready"),
    path("status", service.StatusView.as_view(), name="status"),
    path("metrics", service.MetricsView.as_view(), name="metrics"),
    path("openapi.json", service.OpenApiJsonView.as_view(), name="openapi_json"),
    path("openapi.yaml", service.OpenApiYamlView.as_view(), name="openapi_yaml"),
    path("docs", service.DocsView.as_view(), name="docs"),
    path("auth/token/rotate", team.RotateView.as_view(), name="rotate_key"),
    path("usage", team.UsageView.as_view(), name="usage"),
]
