"""The addresses of pages; none lies under a path of the API."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

# Registers what staff see: here, because processes without addresses need none of it and start sooner.
from octostore.pages import display, live, staff, views  # noqa: F401

urlpatterns = [
    path("live", live.live, name="live"),
    path("display", display.choose, name="display"),
    path("keyboard", views.shortcuts, name="shortcuts"),
    path("accounts/", views.home, name="account_home"),
    path("accounts/invitations/<str:text>/", views.invitation, name="invitation"),
    path("accounts/", include("allauth.urls")),
    path("staff/", admin.site.urls),
]
