"""A person at a browser: follows forms, keeps cookies, trusts nobody's CSRF."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from uuid import uuid4

from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.test import Client

from octostore.teams.models import User

PASSWORD = "tide-table-and-kelp"
_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


class Browser(Client):
    """Django's client, with CSRF checks."""

    def __init__(self, **environ: Any) -> None:
        super().__init__(enforce_csrf_checks=True, **environ)

    def submit(self, path: str, follow: bool = False, **fields: Any) -> Any:
        """Send the form on the page at `path`, with what it hides."""
        return self.fill(self.get(path), path, follow=follow, **fields)

    def fill(self, page: Any, path: str, follow: bool = False, **fields: Any) -> Any:
        """Send the form on `page`, which has been got; not those at its foot."""
        form = text_of(page).partition("<footer")[0]
        return self.post(path, dict(_HIDDEN.findall(form)) | fields, follow=follow)

    def sign_in(self, user: User, password: str = PASSWORD) -> Any:
        return self.submit("/accounts/login/", login=user.email, password=password)

    def is_signed_in(self) -> bool:
        return self.get("/accounts/").status_code == 200


def text_of(page: Any) -> str:
    text: str = page.content.decode()
    return unescape(text)


def errors_on(page: Any) -> list[str]:
    """What the page's forms complain of."""
    return re.findall(
        r"<li>([^<]+)</li>", "".join(re.findall(r'<ul class="errorlist.*?</ul>', text_of(page), re.DOTALL))
    )


def somebody(email: str = "", *, password: str = PASSWORD, verified: bool = True, **fields: Any) -> User:
    """A user who can sign in."""
    user = User.objects.create_user(email or f"{uuid4().hex[:12]}@example.org", password, **fields)
    EmailAddress.objects.create(user=user, email=user.email, verified=verified, primary=True)
    return user


def code_in(mail: Any) -> str:
    """The code that a mail is about."""
    code: str
    (code,) = re.findall(r"^([A-Z0-9]{3,}(?:-[A-Z0-9]{3,})?)$", mail.body, re.MULTILINE)
    return code


def totp(seed: str) -> str:
    """What an authenticator app shows now."""
    shown: str = format_hotp_value(hotp_value(seed, next(yield_hotp_counters_from_time())))
    return shown
