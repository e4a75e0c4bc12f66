"""The apps of pages, and of the libraries they stand on."""

from __future__ import annotations

from allauth.account.apps import AccountConfig
from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig


class PagesConfig(AppConfig):
    default = True
    name = "octostore.pages"
    label = "pages"
    verbose_name = "Pages"


class SignInConfig(AccountConfig):  # type: ignore[misc]
    """allauth's app, whose middleware runs on pages alone."""

    def ready(self) -> None:
        from allauth.account import checks  # noqa: F401 - as allauth's own app does


class StaffConfig(SimpleAdminConfig):
    """Django's admin, with our site and nothing in it but what we register."""

    default_site = "octostore.pages.site.StaffSite"
