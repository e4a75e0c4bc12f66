"""Inviting: by mail, whose link proves the address, and by a link to copy, which does not."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.utils import timezone

from octostore.lib.errors import NotFound
from octostore.teams import invitations
from octostore.teams.models import Invitation, Role, Team
from tests.dashboard.cast import Person, errors_in, seen, text_of
from tests.pages.browser import PASSWORD, Browser, somebody
from tests.teams.cast import entries, found_team, join

Outbox = list[EmailMessage]


def invite(person: Person, team: Team, emails: str, role: str = "member", **more: Any) -> Any:
    page = person.get(f"/t/{team.slug}/members")
    return person.fill(page, f"/t/{team.slug}/members/invite", emails=emails, role=role, **more)


def links_in(text: str) -> list[str]:
    """The paths of the links to invitations."""
    return re.findall(r"http://testserver(/accounts/invitations/[\w-]{43}/(?:\?mailed=[\w-]{43})?)", text)


class TestInviting:
    def test_each_address_gets_a_mail_with_its_link(self, admin: Person, team: Team, mailoutbox: Outbox) -> None:
        page = invite(admin, team, "Ann@Example.org, bo@example.org\ncy@example.org ann@example.org", "viewer")
        assert page.status_code == 200
        assert [mail.to for mail in mailoutbox] == [["ann@example.org"], ["bo@example.org"], ["cy@example.org"]]
        assert {one.role for one in Invitation.objects.all()} == {Role.VIEWER}
        for mail in mailoutbox:
            [link] = links_in(str(mail.body))
            assert "?mailed=" in link
            assert team.slug in mail.subject
            assert admin.user.email in str(mail.body)
        assert entries(team)[0] == (admin.member.actor, "member_invited", "user:ann@example.org")

    def test_mailed_link_lets_join_without_another_proof(self, admin: Person, team: Team, mailoutbox: Outbox) -> None:
        invite(admin, team, "ann@example.org")
        [link] = links_in(str(mailoutbox[0].body))
        ann = Browser()
        ann.get(link)
        sent = {"email": "ann@example.org", "password1": PASSWORD, "password2": PASSWORD, "next": link}
        ann.submit("/accounts/signup/", False, **sent)
        ann.submit(link)
        assert team.memberships.filter(user__email="ann@example.org", role=Role.MEMBER).exists()

    def test_link_on_the_page_opens_the_team_and_proves_no_address(
        self, admin: Person, team: Team, mailoutbox: Outbox
    ) -> None:
        [link] = links_in(text_of(invite(admin, team, "ann@example.org")))
        assert "mailed" not in link
        ann = Browser()
        assert team.slug in text_of(ann.get(link))
        sent = {"email": "ann@example.org", "password1": PASSWORD, "password2": PASSWORD, "next": link}
        ann.submit("/accounts/signup/", False, **sent)
        assert not ann.is_signed_in()

    def test_link_is_shown_once(self, admin: Person, team: Team) -> None:
        page = invite(admin, team, "ann@example.org")
        [link] = links_in(text_of(page))
        assert page["Cache-Control"] == "private, no-store"
        assert links_in(text_of(admin.get(f"/t/{team.slug}/members"))) == []
        assert link.split("/")[3] not in repr(list(Invitation.objects.values())) + repr(admin.session.items())

    def test_reloading_sends_nothing_again(self, admin: Person, team: Team, mailoutbox: Outbox) -> None:
        page = admin.get(f"/t/{team.slug}/members")
        for _ in range(2):
            answer = admin.fill(
                page, f"/t/{team.slug}/members/invite", follow=True, emails="ann@example.org", role="member"
            )
        assert len(mailoutbox) == 1
        assert "That was done already" in seen(answer)

    def test_mail_that_cannot_be_sent_is_told(self, admin: Person, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(self: EmailMessage, fail_silently: bool = False) -> int:
            raise ConnectionRefusedError

        monkeypatch.setattr(EmailMessage, "send", refuse)
        page = invite(admin, team, "ann@example.org")
        assert "no mail could be sent" in seen(page)
        assert len(links_in(text_of(page))) == 1

    @pytest.mark.parametrize(
        ("wrong", "complaint"),
        [
            ({"emails": ""}, "required"),
            ({"emails": "ann"}, "ann is no e-mail address"),
            ({"emails": "ann@example.org <script>"}, "is no e-mail address"),
            ({"emails": " ".join(f"a{n}@example.org" for n in range(21))}, "at most 20"),
            ({"role": "god"}, "valid choice"),
            ({"role": "owner"}, "valid choice"),
            ({"attempt": ""}, "required"),
        ],
        ids=str,
    )
    def test_bad_field_is_named_and_nobody_is_invited(
        self, admin: Person, team: Team, mailoutbox: Outbox, wrong: dict[str, str], complaint: str
    ) -> None:
        page = invite(admin, team, **({"emails": "kept@example.org", "role": "viewer"} | wrong))
        assert page.status_code == 422
        [told] = errors_in(page)
        assert complaint in told
        assert "<script>" not in page.content.decode()
        assert ("kept@example.org" in text_of(page)) == ("emails" not in wrong)
        assert not Invitation.objects.exists()
        assert mailoutbox == []

    def test_members_are_named_and_nobody_is_invited(self, admin: Person, team: Team, mailoutbox: Outbox) -> None:
        member = join(team)
        page = invite(admin, team, f"ann@example.org {member.user.email.upper()}")
        assert page.status_code == 422
        assert member.user.email in errors_in(page)[0]
        assert mailoutbox == []

    def test_owner_may_invite_owners(self, owner: Person, team: Team) -> None:
        invite(owner, team, "ann@example.org", "owner")
        assert Invitation.objects.get().role == Role.OWNER


class TestPending:
    @pytest.fixture
    def invited(self, owner: Person, team: Team) -> invitations.Invited:
        return invitations.invite(by=owner.member, email="ann@example.org", role=Role.VIEWER)

    def path(self, team: Team, invited: invitations.Invited, verb: str) -> str:
        return f"/t/{team.slug}/invitations/{invited.invitation.pk}/{verb}"

    def test_are_shown_to_who_manages_members(
        self, admin: Person, member: Person, team: Team, invited: invitations.Invited
    ) -> None:
        assert "ann@example.org" in text_of(admin.get(f"/t/{team.slug}/members"))
        assert "ann@example.org" not in text_of(member.get(f"/t/{team.slug}/members"))

    def test_new_link_is_mailed_and_the_old_one_is_dead(
        self, admin: Person, team: Team, invited: invitations.Invited, mailoutbox: Outbox
    ) -> None:
        Invitation.objects.update(expires_at=timezone.now())
        page = admin.fill(admin.get(f"/t/{team.slug}/members"), self.path(team, invited, "renew"))
        [link] = links_in(text_of(page))
        assert invitations.find(link.split("/")[3]).role == Role.VIEWER
        assert len(mailoutbox) == 1
        with pytest.raises(NotFound):
            invitations.find(invited.text)

    def test_withdrawn_link_opens_nothing(self, admin: Person, team: Team, invited: invitations.Invited) -> None:
        page = admin.fill(admin.get(f"/t/{team.slug}/members"), self.path(team, invited, "withdraw"), follow=True)
        assert "Withdrew the invitation" in seen(page)
        assert "ann@example.org" not in seen(page)
        with pytest.raises(NotFound):
            invitations.find(invited.text)

    @pytest.mark.parametrize("verb", ["renew", "withdraw"])
    def test_one_that_was_accepted_meanwhile_is_told(
        self, admin: Person, team: Team, invited: invitations.Invited, verb: str
    ) -> None:
        page = admin.get(f"/t/{team.slug}/members")
        invitations.accept(text=invited.text, user=somebody())
        answer = admin.fill(page, self.path(team, invited, verb), follow=True)
        assert answer.redirect_chain == [(f"/t/{team.slug}/members", 302)]
        assert "accepted, withdrawn or replaced meanwhile: nothing was changed" in seen(answer)

    def test_admin_does_nothing_about_an_invited_owner(self, admin: Person, owner: Person, team: Team) -> None:
        invited = invitations.invite(by=owner.member, email="bo@example.org", role=Role.OWNER)
        page = admin.get(f"/t/{team.slug}/members")
        for verb in ("renew", "withdraw"):
            assert self.path(team, invited, verb) not in text_of(page)
            assert admin.fill(page, self.path(team, invited, verb)).status_code == 403
        assert invitations.find(invited.text)

    @pytest.mark.parametrize("verb", ["renew", "withdraw"])
    def test_another_teams_is_not_found(
        self, outsider: Person, team: Team, invited: invitations.Invited, verb: str
    ) -> None:
        page = outsider.get(f"/t/{outsider.member.team.slug}/members")
        theirs = self.path(outsider.member.team, invited, verb)
        assert outsider.fill(page, theirs).status_code == 404
        assert invitations.find(invited.text)
        assert entries(found_team()) == []
