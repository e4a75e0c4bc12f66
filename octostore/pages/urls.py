"""The addresses of pages; none lies under a path of the API."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path, register_converter
from django.urls.converters import StringConverter
from django.views.generic import RedirectView

# Registers what staff see: here, because processes without addresses need none of it and start sooner.
from octostore.pages import display, landing, live, room_views, staff, status, views  # noqa: F401


class FormConverter(StringConverter):
    """In which form a room is wanted."""

    regex = "json|txt|svg"


register_converter(FormConverter, "form")

urlpatterns = [
    path("", landing.root, name="landing"),
    path("status", status.status, name="status_page"),
    path("status.json", status.components, name="components"),
    path("try", landing.open_room, name="try"),
    path("start", landing.start, name="start"),
    path("start/<str:election_id>", landing.started, name="started"),
    path("start/<str:election_id>/progress", landing.progress, name="start_progress"),
    path("r/<str:election_id>/state", room_views.state, name="room_state"),
    path("r/<str:election_id>/terms", room_views.older, name="room_terms"),
    path("r/<str:election_id>.<form:form>", room_views.room, name="room_as"),
    path("r/<str:election_id>", room_views.room, name="room"),
    path("live", live.live, name="live"),
    path("display", display.choose, name="display"),
    path("keyboard", views.shortcuts, name="shortcuts"),
    path("accounts", RedirectView.as_view(pattern_name="account_home")),
    path("accounts/", views.home, name="account_home"),
    path("accounts/invitations/<str:text>/", views.invitation, name="invitation"),
    path("accounts/", include("allauth.urls")),
    path("staff", RedirectView.as_view(pattern_name="admin:index")),
    path("staff/", admin.site.urls),
]
