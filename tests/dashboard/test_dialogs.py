"""What asks whether to do something: a page to whom opens its address, and what a dialog shows to htmx."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from octostore.dashboard import access
from octostore.teams.models import ApiKey, Team
from tests.dashboard.cast import Person, errors_in, text_of
from tests.locks.cast import Worker

HTMX = {"HX-Request": "true", "HX-Request-Type": "partial"}


@pytest.fixture
def asking(team: Team, worker: Worker) -> str:
    """The address of one that ends a term."""
    worker.hold("deploy/production")
    return f"/t/{team.slug}/locks/deploy/production/revoke"


@pytest.fixture
def send(owner: Person, asking: str) -> Callable[..., Any]:
    """Sends the form as the dialog does."""

    def sent(**given: str) -> Any:
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', text_of(owner.part(asking))))
        return owner.post(asking, hidden | given, headers=HTMX)

    return sent


def test_it_is_the_same_heading_words_and_form_without_the_page(owner: Person, asking: str) -> None:
    page, dialog = text_of(owner.get(asking)), text_of(owner.part(asking))
    assert dialog.lstrip().startswith("<div")
    assert "<main" in page
    assert "<main" not in dialog
    for part in ("Force-release", "The holder is not stopped by this", 'name="again"', 'name="csrfmiddlewaretoken"'):
        assert part in page
        assert part in dialog


def test_only_a_dialogs_form_is_sent_by_htmx(owner: Person, asking: str) -> None:
    form = re.compile(rf'<form method="post" action="{asking}"[^>]*hx-post="{asking}"[^>]*hx-target="#dialog"')
    assert form.search(text_of(owner.part(asking)))
    assert "hx-post" not in text_of(owner.get(asking))


def test_what_is_refused_comes_back_as_a_dialog(send: Callable[..., Any]) -> None:
    answer = send(again="another/one", reason="its host is gone")
    assert answer.status_code == 422
    assert errors_in(answer)
    assert "<main" not in text_of(answer)


def test_what_is_done_leads_the_whole_page_on(send: Callable[..., Any], team: Team, worker: Worker) -> None:
    answer = send(again="deploy/production", reason="its host is gone", delay_seconds="0")
    assert (answer.status_code, answer["HX-Redirect"]) == (200, f"/t/{team.slug}/locks/deploy/production")
    assert "Location" not in answer
    assert worker.lock("deploy/production")["status"] == "free"


def test_who_signed_in_long_ago_is_led_there_first(
    owner: Person, team: Team, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"/t/{team.slug}/keys/{ApiKey.objects.get().visible}/revoke"
    assert "HX-Redirect" not in owner.part(address)
    monkeypatch.setattr(access, "LATELY", timedelta(0))
    assert owner.part(address)["HX-Redirect"].startswith("/accounts/reauthenticate/?next=")
