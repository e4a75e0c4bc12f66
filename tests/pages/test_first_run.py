"""The first start of an embedded service makes whoever started it its owner, and says so once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from octostore.pages.first_run import EMAIL, SLUG, create_owner
from octostore.teams.models import AuditEntry, Role, Team, User
from tests.pages.browser import Browser, somebody
from tests.server.service import Service


class TestOwner:
    def test_owns_a_team_is_staff_and_signs_in(self, browser: Browser) -> None:
        owner = create_owner()
        assert owner
        member = Team.objects.get(slug=SLUG).memberships.get()
        assert (member.role, member.user.email, member.user.is_staff) == (Role.OWNER, EMAIL, True)
        browser.sign_in(member.user, owner.password)
        assert browser.is_signed_in()
        assert browser.get("/staff/").status_code == 200
        assert [entry.action for entry in AuditEntry.objects.order_by("id")] == ["team_created", "member_added"]

    def test_password_is_long_and_not_shown_by_accident(self, database: str) -> None:
        owner = create_owner()
        assert owner
        assert len(owner.password) >= 20
        assert owner.password not in repr(owner)

    def test_nobody_is_made_where_somebody_is(self, database: str) -> None:
        somebody()
        assert create_owner() is None
        assert User.objects.count() == 1


@pytest.mark.only("sqlite")
class TestServe:
    @pytest.fixture
    def service(self, tmp_path: Path) -> Iterator[Service]:
        data = tmp_path / "data"
        data.mkdir()
        with Service(data) as service:
            yield service

    def test_password_is_told_at_the_first_start_alone(self, service: Service) -> None:
        first = service.output()
        (password,) = re.findall(r"with the password\s+(\S+)\n", first)
        assert first.count(password) == 1
        with httpx.Client(base_url=service.url, trust_env=False) as client:
            page = client.get("/accounts/login/").text
            (token,) = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
            form = {"login": EMAIL, "password": password, "csrfmiddlewaretoken": token}
            assert client.post("/accounts/login/", data=form).status_code == 302
            assert EMAIL in client.get("/accounts/").text
        assert service.output().count(password) == 1
        service.stop()
        service.start()
        assert "with the password" not in service.output()
