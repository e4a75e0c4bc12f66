"""EMAIL_URL, read strictly."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from octostore.mail import settings_from


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("console:", {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}),
        ("dummy:", {"EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"}),
        (
            "smtp://ann%40example.org:p%3Aw@mail.example.org",
            {
                "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
                "EMAIL_HOST": "mail.example.org",
                "EMAIL_PORT": 587,
                "EMAIL_HOST_USER": "ann@example.org",
                "EMAIL_HOST_PASSWORD": "p:w",
                "EMAIL_USE_TLS": True,
                "EMAIL_USE_SSL": False,
                "EMAIL_TIMEOUT": 10,
            },
        ),
    ],
)
def test_address_becomes_settings(url: str, meant: dict[str, Any]) -> None:
    assert settings_from(url) == meant


@pytest.mark.parametrize(
    ("url", "port", "starttls", "tls"),
    [
        ("smtp://h:2525", 2525, True, False),
        ("smtps://h", 465, False, True),
        ("smtp+plain://h", 25, False, False),
        ("smtp://[::1]:25", 25, True, False),
    ],
)
def test_scheme_says_how_it_is_protected(url: str, port: int, starttls: bool, tls: bool) -> None:
    settings = settings_from(url)
    assert (settings["EMAIL_PORT"], settings["EMAIL_USE_TLS"], settings["EMAIL_USE_SSL"]) == (port, starttls, tls)


@pytest.mark.parametrize(
    "url",
    ["smtp://", "http://secret-word@h", "secret-word", "smtp://h:secret-word", "smtp://h:99999", "smtp://[secret-word"],
)
def test_impossible_address_stops_the_start_without_its_secrets(url: str) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        settings_from(url)
    assert "secret-word" not in str(refused.value)
