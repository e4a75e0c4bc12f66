"""What allauth asks us: who may sign up, whom a request comes from, how secrets are kept."""

from __future__ import annotations

import base64
from smtplib import SMTPException
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest

from octostore.api.client import client_of
from octostore.lib.errors import Unavailable
from octostore.pages.invitations import invited_email, may_sign_up


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Sign-up is open to all or, where it is closed, to who was invited, under the address that was."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return may_sign_up(request)

    def clean_email(self, email: str) -> str:
        if settings.SIGNUP == "closed" and self.request.user.is_anonymous:
            invited = invited_email(self.request)
            if invited and email.lower() != invited:
                raise ValidationError("The invitation is for another address.")
        return super().clean_email(email)  # type: ignore[no-any-return]

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_of(request)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        try:
            super().send_mail(template_prefix, email, context)
        except (OSError, SMTPException) as error:
            raise Unavailable("Mail cannot be sent now; try again later") from error


class GitHubAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    def get_app(self, request: HttpRequest, provider: str, client_id: str | None = None) -> SocialApp:
        """GitHub's pages are there where GitHub is set up."""
        try:
            return super().get_app(request, provider, client_id)
        except SocialApp.DoesNotExist as error:
            raise Http404 from error

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        if settings.SIGNUP == "open":
            return True
        addresses = {one.email.lower() for one in sociallogin.email_addresses if one.verified}
        return invited_email(request) in addresses


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Seeds of authenticator apps are kept encrypted: the database alone cannot sign anybody in."""

    def encrypt(self, text: str) -> str:
        return _keys().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        return _keys().decrypt(encrypted_text.encode()).decode()


def _keys() -> MultiFernet:
    derived = [key.derive("second factor") for key in settings.SERVER_KEYS]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(secret)) for secret in derived])
