"""manage.py vacate_room: staff end the term they saw, and no other."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from octostore.teams.models import AuditEntry
from tests.elections.rooms import told, win
from tests.http import Client

pytestmark = pytest.mark.usefixtures("database")


def vacate(room: str, term: int | str, reason: str = "its host is gone") -> str:
    output = StringIO()
    call_command("vacate_room", room, term=str(term), reason=reason, actor="staff:ada", stdout=output)
    return output.getvalue()


def test_ends_the_term_and_tells_its_leader(client: Client, room: str) -> None:
    won = win(client, room)
    assert f"{won['leader']['term']}" in vacate(room, won["leader"]["term"])
    assert client.room(room).json()["status"] == "vacant"
    answer = client.renew(room, won["leader_token"])
    assert (told(answer), answer.json()["ended"]) == ((404, "lease_not_current"), "removed")
    assert client.get(f"/elections/{room}/terms").json()["terms"][0]["end"] == "removed"


def test_leaves_its_reason_in_the_audit(client: Client, room: str) -> None:
    term = win(client, room)["leader"]["term"]
    vacate(room, term)
    entry = AuditEntry.objects.get(action="room_vacated")
    assert (entry.actor, entry.reason, entry.object) == ("staff:ada", "its host is gone", f"room {room} term {term}")


def test_leaves_a_later_term_alone(client: Client, room: str) -> None:
    old = win(client, room)
    client.resign(room, old["leader_token"])
    new = win(client, room, "borea")
    with pytest.raises(CommandError, match="That term is over"):
        vacate(room, old["leader"]["term"])
    assert client.renew(room, new["leader_token"]).status_code == 200
    assert not AuditEntry.objects.filter(action="room_vacated").exists()


@pytest.mark.parametrize(("room", "term"), [("short", "1"), ("room-0001", "0"), ("room-0001", "x")])
def test_says_what_is_wrong_with_its_words(room: str, term: str) -> None:
    with pytest.raises(CommandError, match=r"must be"):
        vacate(room, term)
