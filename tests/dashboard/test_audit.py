"""The audit log on a page, and as a file whose asking is audited itself."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from octostore.dashboard.queries import audit as queries
from octostore.teams import audit
from octostore.teams.models import AuditEntry, Team
from tests.dashboard.cast import Person, errors_in, rows, text_of
from tests.teams.cast import found_team


def record(team: Team, action: str = "key_revoked", **more: Any) -> None:
    audit.record(**{"team_id": team.id, "actor": "system", "action": action, "object": "key:ab", **more})


def path(team: Team) -> str:
    return f"/t/{team.slug}/audit"


def export(person: Person, team: Team, kind: str = "csv", **asked: str) -> Any:
    """Press the button below what the page shows."""
    return person.fill(person.get(path(team), asked), f"{path(team)}/export", format=kind)


def text_in(answer: Any) -> str:
    return b"".join(answer.streaming_content).decode()


class TestPage:
    def test_entry_says_who_did_what_to_what_and_why(self, admin: Person, team: Team) -> None:
        record(
            team,
            "role_changed",
            actor="user:ann@example.org",
            object="user:bo@example.org",
            reason="they asked",
            before={"role": "member"},
            after={"role": "admin"},
            request_id="req_1",
        )
        [row] = rows(admin.get(path(team)))
        for part in (
            "user:ann@example.org",
            "role_changed",
            "user:bo@example.org",
            "they asked",
            'role: "member" → "admin"',
            "req_1",
            "just now",
        ):
            assert part in row

    def test_hostile_text_is_text(self, admin: Person, team: Team) -> None:
        evil = "<script>alert(1)</script>"
        record(team, evil, actor=evil, object=evil, reason=evil, before={evil: evil}, after={"a": [evil]})
        assert "<script>alert" not in admin.get(path(team)).content.decode()

    def test_other_teams_entries_are_not_in_it(self, admin: Person, team: Team) -> None:
        record(found_team(), reason="theirs")
        record(team, reason="ours")
        audit.record(team_id=None, actor="staff:x", action="room_revoked", object="room:x", reason="nobodys")
        [row] = rows(admin.get(path(team)))
        assert "ours" in row

    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            ({}, 4),
            ({"group": "keys"}, 1),
            ({"group": "members"}, 2),
            ({"group": "team"}, 1),
            ({"actor": "ann"}, 1),
            ({"actor": "ANN"}, 1),
            ({"actor": "%"}, 0),
            ({"object": "key:"}, 4),
            ({"object": "Key:"}, 4),
            ({"group": "keys", "actor": "ann"}, 0),
        ],
        ids=str,
    )
    def test_filters(self, admin: Person, team: Team, asked: dict[str, str], found: int) -> None:
        record(team, "key_created")
        record(team, "role_changed", actor="user:ann@example.org")
        record(team, "invitation_withdrawn")
        record(team, "quota_changed")
        page = admin.get(path(team), asked)
        assert len(rows(page)) == found
        assert all(f'value="{value}"' in text_of(page) for value in asked.values())

    def test_days_are_whole_and_both_included(self, admin: Person, team: Team) -> None:
        instants = [
            datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC),
            datetime(2026, 3, 2, tzinfo=UTC),
            datetime(2026, 3, 3, 23, 59, 59, 999999, tzinfo=UTC),
            datetime(2026, 3, 4, tzinfo=UTC),
        ]
        AuditEntry.objects.bulk_create(
            AuditEntry(team=team, at=at, actor="system", action="key_created", object=f"key:{n}")
            for n, at in enumerate(instants)
        )
        found = rows(admin.get(path(team), {"since": "2026-03-02", "until": "2026-03-03"}))
        assert ["key:2" in found[0], "key:1" in found[1], len(found)] == [True, True, 2]

    @pytest.mark.parametrize(
        "wrong", [{"since": "soon"}, {"until": "9999-12-31"}, {"since": "0001-01-01"}, {"group": "x"}, {"actor": "\0"}]
    )
    def test_what_is_no_filter_is_named(self, admin: Person, team: Team, wrong: dict[str, str]) -> None:
        page = admin.get(path(team), wrong)
        assert page.status_code == 422
        assert len(errors_in(page)) == 1
        part = admin.part(path(team), **wrong)
        assert part.status_code == 422
        assert len(errors_in(part)) == 1
        assert "<html" not in text_of(part)

    def test_page_by_page_each_entry_is_met_once(
        self, admin: Person, team: Team, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queries, "PAGE", 2)
        for number in range(5):
            record(team, object=f"key:{number}")
        met, address = [], path(team)
        while address:
            page = admin.get(address)
            met += [row.partition("key:")[2][0] for row in rows(page)]
            _, found, rest = text_of(page).partition('rel="next" href="')
            address = path(team) + rest.partition('"')[0] if found else ""
        assert met == list("43210")

    def test_cursor_of_another_list_is_refused(self, admin: Person, team: Team) -> None:
        assert admin.get(path(team), {"cursor": "x"}).status_code == 400

    def test_many_cost_no_more_queries_than_one(
        self, admin: Person, team: Team, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for _ in range(20):
            record(team)
        admin.get(path(team))  # takes the greeting
        # Session, user, membership, entries.
        with django_assert_num_queries(4):
            admin.get(path(team))


class TestExport:
    def test_csv_has_every_column(self, admin: Person, team: Team) -> None:
        record(team, reason='it "hangs", really', before={"a": 1}, after={"a": [2]}, request_id="req_1")
        answer = export(admin, team)
        assert answer["Content-Type"] == "text/csv; charset=utf-8"
        assert answer["Content-Disposition"] == f'attachment; filename="{team.slug}-audit.csv"'
        assert answer["Cache-Control"] == "private, no-store"
        told = list(csv.DictReader(io.StringIO(text_in(answer))))
        assert told[0]["action"] == "audit_exported"
        [_, one] = told
        assert (one["actor"], one["action"], one["object"], one["reason"]) == (
            "system",
            "key_revoked",
            "key:ab",
            'it "hangs", really',
        )
        assert (json.loads(one["before"]), json.loads(one["after"]), one["request_id"]) == (
            {"a": 1},
            {"a": [2]},
            "req_1",
        )
        assert one["at"].endswith("Z")

    def test_json_lines_are_one_object_each(self, admin: Person, team: Team) -> None:
        record(team, reason="line\nbreak", after={"a": "\u65e5"})
        answer = export(admin, team, "jsonl")
        assert answer["Content-Type"].startswith("application/jsonl")
        told = [json.loads(line) for line in text_in(answer).splitlines()]
        assert (told[1]["reason"], told[1]["after"], told[1]["before"]) == ("line\nbreak", {"a": "\u65e5"}, None)

    def test_it_is_what_the_page_was_asked_for(self, admin: Person, team: Team) -> None:
        record(team, "key_created")
        record(team, "role_changed")
        answer = export(admin, team, group="members", since="2026-01-01")
        assert [one["action"] for one in csv.DictReader(io.StringIO(text_in(answer)))] == ["role_changed"]

    def test_it_is_audited_before_a_line_is_sent(self, admin: Person, team: Team) -> None:
        answer = export(admin, team, "jsonl", group="keys", actor="ann", since="2026-01-01")
        entry = AuditEntry.objects.get(action="audit_exported")
        assert (entry.actor, entry.object, entry.request_id) == (
            admin.member.actor,
            f"team:{team.slug}",
            answer["X-Request-Id"],
        )
        assert entry.after == {"format": "jsonl", "group": "keys", "actor": "ann", "since": "2026-01-01"}

    @pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
    def test_no_cell_of_csv_is_a_formula(self, admin: Person, team: Team, start: str) -> None:
        record(team, reason=f"{start}HYPERLINK(1)")
        told = list(csv.DictReader(io.StringIO(text_in(export(admin, team)))))
        assert told[1]["reason"] == f"'{start}HYPERLINK(1)"

    def test_it_goes_over_batches_up_to_its_most(
        self, admin: Person, team: Team, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queries, "BATCH", 2)
        monkeypatch.setattr(queries, "EXPORT_MAX", 6)
        for number in range(7):
            record(team, object=f"key:{number}")
        told = [json.loads(line)["object"] for line in text_in(export(admin, team, "jsonl")).splitlines()]
        assert told == [f"team:{team.slug}", "key:6", "key:5", "key:4", "key:3", "key:2"]

    @pytest.mark.parametrize("wrong", [{"kind": "xlsx"}, {"group": "x"}], ids=str)
    def test_what_is_no_export_is_refused_and_not_audited(
        self, admin: Person, team: Team, wrong: dict[str, str]
    ) -> None:
        page = admin.get(path(team))
        sent = {"format": wrong.get("kind", "csv"), "group": wrong.get("group", "")}
        assert admin.fill(page, f"{path(team)}/export", False, **sent).status_code == 400
        assert not AuditEntry.objects.exists()

    def test_others_have_no_way_to_it(self, member: Person, team: Team) -> None:
        assert path(team) not in text_of(member.get(f"/t/{team.slug}"))
        form = member.get(f"/t/{team.slug}/members/{member.member.pk}/remove")
        assert member.fill(form, f"{path(team)}/export", format="csv").status_code == 403
        assert not AuditEntry.objects.exists()
