"""Composition only: which app answers which address, and who answers when none does."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("", include("elections.urls")),
    path("", include("locks.urls")),
    path("", include("webhooks.urls")),
    # Before the API's, whose / and /status they share with it.
    path("", include("octostore.pages.urls")),
    path("", include("octostore.api.urls")),
    path("", include("octostore.dashboard.urls")),
]

handler400 = "octostore.pages.errors.handler400"
handler403 = "octostore.pages.errors.handler403"
handler404 = "octostore.pages.errors.handler404"
# As sign-in asks for it.
handler429 = "octostore.pages.errors.handler429"
handler500 = "octostore.pages.errors.handler500"
