"""Owners are mailed when an endpoint of their team was switched off: once for each time."""

from __future__ import annotations

from smtplib import SMTPException
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from octostore.teams.models import Role, Team
from tests.leases.threads import together
from tests.teams.cast import join, person
from tests.webhooks.cast import SHOWN, URL, Keeper, go_back
from webhooks import telling
from webhooks.models import Endpoint


class TestOwners:
    @pytest.fixture
    def off(self, keeper: Keeper, team: Team) -> dict[str, Any]:
        """An endpoint that was answered 410, of a team with owners and others."""
        join(team, Role.OWNER, person("ann"))
        join(team, Role.OWNER, person("ben"))
        join(team, Role.ADMIN, person("cat"))
        made = keeper.register(URL)
        Endpoint.objects.update(off="gone", off_at=timezone.now())
        return made

    def test_are_told_once(self, off: dict[str, Any], team: Team) -> None:
        assert [telling.tell_owners() for _ in range(3)] == [1, 0, 0]
        (message,) = mail.outbox
        assert sorted(message.to) == ["ann@example.org", "ben@example.org"]
        assert str(team) in message.subject
        assert "410" in message.body
        assert SHOWN in message.body
        assert off["id"] in message.body
        assert "canary" not in f"{message.subject}{message.body}"

    def test_are_told_once_by_many_at_once(self, off: dict[str, Any]) -> None:
        assert sum(together(4, lambda _: telling.tell_owners())) == 1
        assert len(mail.outbox) == 1

    def test_are_told_again_of_another_time(self, keeper: Keeper, off: dict[str, Any]) -> None:
        telling.tell_owners()
        keeper.change(off["id"], active=True)
        assert telling.tell_owners() == 0
        Endpoint.objects.update(off="failing", off_at=timezone.now())
        assert telling.tell_owners() == 1
        assert "5 days" in mail.outbox[1].body

    def test_are_not_told_of_what_they_asked_for(self, keeper: Keeper, off: dict[str, Any]) -> None:
        keeper.change(off["id"], active=True)
        keeper.change(off["id"], active=False)
        assert telling.tell_owners() == 0

    def test_are_not_told_of_what_is_no_more(self, keeper: Keeper, off: dict[str, Any]) -> None:
        keeper.remove(off["id"])
        assert telling.tell_owners() == 0

    def test_are_told_later_when_mail_is_down(self, off: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: Any) -> None:
            raise SMTPException("try later")

        with monkeypatch.context() as down:
            down.setattr(telling, "send_mail", fail)
            assert telling.tell_owners() == 0
        assert telling.tell_owners() == 0
        go_back(Endpoint.objects.all(), telling.TELLING, "telling_until")
        assert telling.tell_owners() == 1

    def test_are_told_though_the_one_who_began_to_was_killed(self, off: dict[str, Any]) -> None:
        Endpoint.objects.update(telling_until=timezone.now() + telling.TELLING)
        assert telling.tell_owners() == 0
        go_back(Endpoint.objects.all(), telling.TELLING, "telling_until")
        assert telling.tell_owners() == 1

    def test_are_told_bit_by_bit_when_mail_takes_long(self, keeper: Keeper) -> None:
        for _ in range(3):
            keeper.register()
        Endpoint.objects.update(off="gone", off_at=timezone.now())
        assert [telling.tell_owners(seconds=0) for _ in range(4)] == [1, 1, 1, 0]

    def test_may_be_none(self, keeper: Keeper) -> None:
        keeper.register()
        Endpoint.objects.update(off="gone", off_at=timezone.now())
        assert telling.tell_owners() == 1
        assert mail.outbox == []
