"""A process in which people and keys do everything with secrets in hand, right and wrong, at DEBUG.

Its standard output names the secrets, its standard error is the log: none may be found there.
"""

from __future__ import annotations

import json
import re
import sys
from unittest.mock import patch
from uuid import uuid4

import django


def main() -> None:
    django.setup()
    from django.core import mail
    from django.test.utils import setup_test_environment

    setup_test_environment()
    json.dump(
        [*of_people(), *(code for sent in mail.outbox for code in _codes(str(sent.body))), *of_keys(), *of_teams()],
        sys.stdout,
    )


def of_people() -> list[str]:
    from octostore.teams import invitations
    from octostore.teams.models import Role, User
    from tests.pages.browser import PASSWORD, Browser, somebody, text_of, totp
    from tests.teams.cast import ACT, found_team

    user = somebody(f"{uuid4().hex[:12]}@example.org")
    wrong = "canary-wrong-password"
    for path in ("/accounts/login/code/", "/accounts/password/reset/"):
        asking = Browser()
        asking.submit(path, email=user.email)
        asking.submit(f"{path}confirm/", code="AAAA-AAAA")
    browser = Browser()
    browser.raise_request_exception = False
    browser.sign_in(user, wrong)
    browser.sign_in(user)
    session, form = browser.cookies["octostore_session"].value, browser.cookies["octostore_csrf"].value
    browser.submit("/accounts/reauthenticate/", password=wrong)
    browser.submit("/accounts/reauthenticate/", password=PASSWORD)
    page = browser.get("/accounts/2fa/totp/activate/")
    (seed,) = re.findall(r'value="([A-Z2-7]{32})"', text_of(page))
    browser.fill(page, "/accounts/2fa/totp/activate/", code=totp(seed))
    recovery = text_of(browser.get("/accounts/2fa/recovery-codes/"))
    codes = re.findall(r"^(\d{8})$", recovery, re.MULTILINE)
    offered = invitations.offer(team=found_team(), email=user.email, role=Role.VIEWER, invited_by=None, act=ACT)
    for text in (offered.text, "canary-unknown-invitation"):
        browser.get(f"/accounts/invitations/{text}/")
    browser.post("/accounts/login/", {"login": user.email, "password": wrong})
    with patch.object(User, "memberships", None):
        browser.get("/accounts/")  # fails
    browser.submit(f"/accounts/invitations/{offered.text}/")
    browser.submit("/accounts/logout/")
    return [wrong, PASSWORD, session, form, seed, *codes, offered.text, "canary-unknown-invitation", user.password]


def of_keys() -> list[str]:
    from octostore.teams import keys
    from tests.locks.cast import Worker, found_team, issue
    from tests.teams.cast import ACT

    team = found_team()
    key, wrong = issue(team, prefix="repo/"), f"osk_{'a' * 12}_canary-wrong-secret-aaaaaaaaaaaaaaaaaaaaaaa"
    texts = [key, wrong]
    with Worker(wrong) as guesser:
        guesser.get("/usage")
    with Worker(key) as worker:
        worker.hold("repo/a", metadata="canary-metadata")
        rotated = worker.post("/auth/token/rotate").json()["token"]
        worker.get("/usage")
        texts.append(rotated)
    with Worker(rotated) as worker, patch.object(keys, "find", side_effect=RuntimeError(f"no {rotated}")):
        worker.event_hooks = {"response": []}
        worker.get("/usage")  # fails
    keys.revoke(team_id=team.id, visible=key[4:16], act=ACT)
    with Worker(rotated) as worker:
        worker.get("/usage")
    return [*texts, *(text[17:] for text in texts), "canary-metadata"]


def of_teams() -> list[str]:
    """What a team's pages show once: keys that were made and replaced there, and links of invitations."""
    from octostore.teams.models import Role
    from tests.dashboard.cast import Person
    from tests.pages.browser import text_of
    from tests.teams.cast import found_team

    team = found_team()
    admin = Person.of(team, Role.ADMIN)
    pages = f"/t/{team.slug}"
    shown = text_of(admin.submit(f"{pages}/keys/new", name="ci", scopes=["read"], lasts="30"))
    (key,) = re.findall(r"osk_[a-z0-9]{12}_[\w-]{43}", shown)
    shown = text_of(admin.submit(f"{pages}/keys/{key[4:16]}/rotate", ends_in="3600"))
    (replaced,) = re.findall(r"osk_[a-z0-9]{12}_[\w-]{43}", shown)
    form = admin.get(f"{pages}/members")
    shown = text_of(admin.fill(form, f"{pages}/members/invite", emails="canary@example.org", role="viewer"))
    (link,) = re.findall(r"/accounts/invitations/([\w-]{43})/", shown)
    admin.get(f"/accounts/invitations/{link}/", {"mailed": "canary-wrong-proof"})
    admin.submit(f"{pages}/keys/{replaced[4:16]}/revoke", reason="done")
    return [key, key[17:], replaced, replaced[17:], link, "canary-wrong-proof"]


def _codes(body: str) -> list[str]:
    return re.findall(r"^([A-Z0-9]{3,}-[A-Z0-9]{3,})$", body, re.MULTILINE)


if __name__ == "__main__":
    main()
