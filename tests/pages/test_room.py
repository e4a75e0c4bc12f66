"""The page of a room and its other forms: whatever the id, whoever asks, and nothing secret in any of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db.models import F
from pytest_django.fixtures import Settings

from octostore.leases import engine
from octostore.leases.models import Lease, LeaseEvent
from octostore.leases.outcomes import Granted
from octostore.pages import rooms
from tests.pages.browser import Browser, text_of

HTML = {"HTTP_ACCEPT": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
HOSTILE = "</bdi><script>alert(1)</script>&\"'"


@pytest.fixture
def room(database: str) -> str:
    return f"room-{uuid4().hex[:20]}"


@pytest.fixture
def visitor(database: str) -> Browser:
    return Browser(HTTP_ACCEPT=HTML["HTTP_ACCEPT"])


def lead(room: str, candidate: str = "atlas", *, seconds: float = 30, metadata: str | None = None) -> Granted:
    granted = engine.acquire("elections", room, holder=candidate, ttl=timedelta(seconds=seconds), metadata=metadata)
    assert isinstance(granted, Granted)
    return granted


def resign(room: str, granted: Granted) -> None:
    engine.release("elections", room, capability=granted.capability)


def pass_by(room: str, *, seconds: float) -> None:
    """Let so much time pass for the room."""
    moved = round(seconds * 1000)
    Lease.objects.filter(name=room).update(expires_at=F("expires_at") - moved, began_at=F("began_at") - moved)
    LeaseEvent.objects.filter(lease__name=room).update(at=F("at") - moved, expires_at=F("expires_at") - moved)


class TestPage:
    def test_shows_who_leads(self, visitor: Browser, room: str) -> None:
        granted = lead(room, metadata="us-west")
        page = visitor.get(f"/r/{room}")
        text = text_of(page)
        assert page.status_code == 200
        assert f"<title>atlas leads · room {room[:8]}…</title>" in text
        assert str(granted.hold.term) in text
        assert "us-west" in text
        assert re.search(r'role="timer"[^>]*data-until="\d{13}"[^>]*>(29|30) s<', text)
        assert "Read" in text

    def test_room_nobody_led_is_a_vacant_room(self, visitor: Browser, room: str) -> None:
        page = visitor.get(f"/r/{room}")
        assert page.status_code == 200
        assert "Nobody has led this room yet" in text_of(page)

    def test_vacant_room_names_its_last_leader_and_how_it_ended(self, visitor: Browser, room: str) -> None:
        granted = lead(room)
        resign(room, granted)
        text = text_of(visitor.get(f"/r/{room}"))
        assert re.search(r"The last leader was .*atlas.*Its term .*ended .*: resigned", text)
        lead(room, "borea")
        pass_by(room, seconds=31)
        text = text_of(visitor.get(f"/r/{room}"))
        assert re.search(r"The last leader was .*borea.*Its term .*ended .*: expired", text)

    def test_lease_that_was_not_renewed_in_time_is_expiring(self, visitor: Browser, room: str) -> None:
        lead(room, seconds=30)
        assert ">Held<" in text_of(visitor.get(f"/r/{room}"))
        pass_by(room, seconds=21)
        text = text_of(visitor.get(f"/r/{room}"))
        assert ">Expiring<" in text
        assert "data-look-at" not in text

    def test_flapping_is_said_in_a_sentence(self, visitor: Browser, room: str) -> None:
        for candidate in ("a", "b", "a", "c"):
            resign(room, lead(room, candidate))
        text = text_of(visitor.get(f"/r/{room}"))
        assert "4 new terms of 3 leaders in 5 minutes" in text

    def test_term_picture_has_a_table_that_says_the_same(self, visitor: Browser, room: str) -> None:
        for candidate in ("atlas", "borea"):
            resign(room, lead(room, candidate))
        lead(room, "cetus")
        text = text_of(visitor.get(f"/r/{room}"))
        assert "2 resigned, 1 running" in text
        assert re.findall(r'<bdi class="mono">(\w+)</bdi></td>', text) == ["cetus", "borea", "atlas"]

    def test_older_terms_come_page_by_page(self, visitor: Browser, room: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rooms, "PICTURED", 3)
        monkeypatch.setattr(rooms, "OLDER", 4)
        for number in range(9):
            resign(room, lead(room, f"worker-{number}"))
        seen = []
        path = f"/r/{room}"
        while path:
            text = text_of(visitor.get(path))
            assert "nobody has checked them" in text
            seen += re.findall(r'<bdi class="mono">(worker-\d)</bdi></td>', text)
            found = re.search(r'<a href="(/r/[^"]+/terms\?before=\d+)"', text)
            path = found[1] if found else ""
        assert seen == [f"worker-{number}" for number in range(8, -1, -1)]

    def test_commands_to_join_name_the_room_and_the_host_that_was_asked(self, visitor: Browser, room: str) -> None:
        text = text_of(visitor.get(f"/r/{room}", HTTP_HOST="octo.example"))
        assert f"http://octo.example/elections/{room}" in text
        assert text.count("$LEADER_TOKEN") > 2

    def test_text_of_strangers_is_text(self, visitor: Browser, room: str) -> None:
        lead(room, metadata=HOSTILE)
        raw = visitor.get(f"/r/{room}").content.decode()
        assert "<script>alert" not in raw
        assert "nobody has checked them" in raw
        assert "https://" not in re.sub(r"http://www.w3.org/\S+", "", raw)


class TestHeaders:
    @pytest.mark.parametrize("path", ["", ".json", ".txt", ".svg", "/state", "/terms?before=5"])
    def test_the_id_is_kept_from_others(self, visitor: Browser, room: str, path: str) -> None:
        answer = visitor.get(f"/r/{room}{path}")
        assert answer.status_code == 200
        assert answer["X-Robots-Tag"] == "noindex, nofollow"
        assert answer["Referrer-Policy"] == "no-referrer"
        assert answer["Content-Security-Policy"].startswith("default-src 'none'")
        assert answer["Cache-Control"] == ("public, max-age=5" if path in {".txt", ".svg"} else "private, no-cache")

    def test_nobody_gets_a_cookie_from_looking(self, visitor: Browser, room: str) -> None:
        assert not visitor.get(f"/r/{room}").cookies


class TestForms:
    def test_extension_and_accept_give_the_same(self, visitor: Browser, room: str) -> None:
        lead(room)
        for extension, accept in (("json", "application/json"), ("txt", "text/plain"), ("svg", "image/svg+xml")):
            by_extension = visitor.get(f"/r/{room}.{extension}")
            by_accept = visitor.get(f"/r/{room}", HTTP_ACCEPT=accept)
            assert by_extension["Content-Type"] == by_accept["Content-Type"]
            assert by_accept["Content-Type"].startswith(accept)
            assert "Accept" in by_accept["Vary"]

    def test_json_is_status_and_history_as_in_the_api(self, visitor: Browser, room: str) -> None:
        lead(room, metadata="m")
        body = visitor.get(f"/r/{room}.json").json()
        told = visitor.get(f"/elections/{room}").json()
        assert (body["status"], body["leader"]) == ("leader", told["leader"])
        assert body["terms"] == visitor.get(f"/elections/{room}/terms").json()["terms"]

    def test_text_is_one_line_for_scripts(self, visitor: Browser, room: str) -> None:
        assert visitor.get(f"/r/{room}.txt").content == b"VACANT\n"
        granted = lead(room, seconds=30)
        line = visitor.get(f"/r/{room}.txt").content.decode()
        assert re.fullmatch(rf"HELD atlas term={granted.hold.term} expires_in=(29|30)\n", line)
        resign(room, granted)
        assert visitor.get(f"/r/{room}.txt").content.decode() == f"VACANT last_term={granted.hold.term}\n"

    def test_badge_names_the_leader(self, visitor: Browser, room: str) -> None:
        assert b">vacant</text>" in visitor.get(f"/r/{room}.svg").content
        lead(room)
        assert b">atlas</text>" in visitor.get(f"/r/{room}.svg").content

    @pytest.mark.parametrize("form", ["", ".json", ".txt", ".svg"])
    def test_required_lead_is_409_while_there_is_none(self, visitor: Browser, room: str, form: str) -> None:
        assert visitor.get(f"/r/{room}{form}?require=held").status_code == 409
        lead(room)
        assert visitor.get(f"/r/{room}{form}?require=held").status_code == 200


class TestFragment:
    def test_is_the_one_the_page_includes(self, visitor: Browser, room: str) -> None:
        lead(room)
        page, fragment = text_of(visitor.get(f"/r/{room}")), text_of(visitor.get(f"/r/{room}/state"))
        numbers = re.compile(r"[\d.:]+")
        head, _, panels = fragment.strip().partition("\n")
        title, icon = re.findall("<title>.*?</title>|<link[^>]*>", head)
        assert title in page
        assert icon in page
        assert numbers.sub("0", panels) in numbers.sub("0", page)

    def test_who_has_this_version_gets_nothing(self, visitor: Browser, room: str) -> None:
        granted = lead(room)
        first = visitor.get(f"/r/{room}/state")
        [version] = re.findall(r'name="have" value="([^"]+)"', text_of(first))
        assert visitor.get(f"/r/{room}/state?have={version}").status_code == 204
        assert visitor.get(f"/r/{room}/state", HTTP_IF_NONE_MATCH=first["ETag"]).status_code == 304
        engine.renew("elections", room, capability=granted.capability, ttl=timedelta(seconds=60))
        assert visitor.get(f"/r/{room}/state?have={version}").status_code == 200
        resign(room, granted)
        assert visitor.get(f"/r/{room}/state", HTTP_IF_NONE_MATCH=first["ETag"]).status_code == 200

    def test_another_span_is_another_answer(self, visitor: Browser, room: str) -> None:
        lead(room)
        first = visitor.get(f"/r/{room}/state")
        assert visitor.get(f"/r/{room}/state?span=day", HTTP_IF_NONE_MATCH=first["ETag"]).status_code == 200


class TestRefusals:
    @pytest.mark.parametrize("address", ["short", "x" * 65, "room with spaces", "raum-für-alle", "<script>-room"])
    def test_malformed_id_is_a_page_that_says_the_rule(self, visitor: Browser, address: str) -> None:
        page = visitor.get(f"/r/{address}")
        assert page.status_code == 400
        assert text_of(page).count("8 to 64 characters") == 1
        assert page["X-Request-Id"] in text_of(page)
        assert "<script>-" not in page.content.decode()

    def test_wrong_part_of_an_id_is_marked(self, visitor: Browser, database: str) -> None:
        assert "room<mark> </mark>with<mark> !</mark>" in visitor.get("/r/room with !").content.decode()

    @pytest.mark.parametrize(
        ("form", "kind"), [(".json", "application/json"), (".txt", "text/plain"), (".svg", "image/svg+xml")]
    )
    def test_other_forms_refuse_in_their_own_language(self, visitor: Browser, form: str, kind: str) -> None:
        answer = visitor.get(f"/r/short{form}")
        assert answer.status_code == 400
        assert answer["Content-Type"].startswith(kind)

    def test_switched_off_rooms_are_a_page_too(self, visitor: Browser, room: str, settings: Settings) -> None:
        settings.PUBLIC_ELECTIONS = False
        for path in ("", "/state", "/terms?before=5", ".json"):
            assert visitor.get(f"/r/{room}{path}").status_code == 403
        assert "switched off" in text_of(visitor.get(f"/r/{room}"))

    @pytest.mark.parametrize("query", ["", "?before=", "?before=x", "?before=-1", "?before=1e9"])
    def test_older_terms_need_a_term(self, visitor: Browser, room: str, query: str) -> None:
        assert visitor.get(f"/r/{room}/terms{query}").status_code == 400

    @pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
    def test_nobody_changes_anything(self, visitor: Browser, room: str, method: str) -> None:
        ask: Callable[..., Any] = getattr(visitor, method)
        for path in ("", "/state", "/terms", ".json"):
            assert ask(f"/r/{room}{path}").status_code in {403, 405}


class TestSecrets:
    def test_no_form_shows_a_capability(self, visitor: Browser, room: str) -> None:
        canaries = [lead(room).capability]
        engine.release("elections", room, capability=canaries[0])
        canaries.append(lead(room).capability)
        for path in ("", ".json", ".txt", ".svg", "/state", "/terms?before=99999999999"):
            shown = visitor.get(f"/r/{room}{path}").content.decode()
            assert [canary for canary in canaries if canary in shown] == []
