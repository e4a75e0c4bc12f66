"""POST /elections: an address, made up at once and stored nowhere."""

from __future__ import annotations

import re

import pytest
from pytest_django.fixtures import Settings

from tests.elections.bad_input import Fault, bodies, refuses
from tests.elections.rooms import caller, win
from tests.http import Client


class TestAnAddress:
    def test_is_answered_with_its_paths(self, client: Client) -> None:
        answer = client.post("/elections")
        assert answer.status_code == 201
        body = answer.json()
        room = body["election_id"]
        assert re.fullmatch(r"[A-Za-z0-9_-]{32}", room)
        assert body == {
            "election_id": room,
            "campaign_path": f"/elections/{room}/campaign",
            "status_path": f"/elections/{room}",
            "watch_path": f"/elections/{room}/watch",
            "url": f"http://testserver/r/{room}",
        }
        assert answer.headers["Cache-Control"] == "no-store"

    def test_is_never_the_same(self, client: Client) -> None:
        assert len({client.create() for _ in range(100)}) == 100

    @pytest.mark.usefixtures("database")
    def test_leads_to_a_room(self, client: Client) -> None:
        created = client.post("/elections").json()
        assert client.get(created["status_path"]).json()["status"] == "vacant"
        won = client.post(created["campaign_path"], json={"candidate_id": "atlas"}).json()
        assert won["election_id"] == created["election_id"]
        assert won["status"] == "leader"


class TestItsPage:
    @pytest.mark.parametrize(("https", "scheme"), [(False, "http"), (True, "https")])
    def test_is_named_by_the_host_that_was_asked(
        self, client: Client, settings: Settings, https: bool, scheme: str
    ) -> None:
        settings.HTTPS = https
        body = client.post("/elections", headers={"Host": "octo.example:8443"}).json()
        assert body["url"] == f"{scheme}://octo.example:8443/r/{body['election_id']}"

    @pytest.mark.parametrize("host", ["evil.example", "a b", "", "octo.example/x"])
    def test_is_named_by_an_allowed_host_whatever_was_asked(
        self, client: Client, settings: Settings, host: str
    ) -> None:
        settings.ALLOWED_HOSTS = ["octo.example"]
        assert client.post("/elections", headers={"Host": host}).json()["url"].startswith("http://octo.example/r/")

    def test_unsound_host_is_not_repeated(self, client: Client) -> None:
        assert "<" not in client.post("/elections", headers={"Host": "<b>"}).json()["url"]


class TestScript:
    @pytest.mark.parametrize(
        ("query", "accept"), [("?format=sh", "*/*"), ("", "text/plain"), ("", "text/plain, application/json;q=0.5")]
    )
    def test_is_answered_to_who_asks_for_text(self, query: str, accept: str) -> None:
        with caller() as client:
            client.event_hooks = {"response": []}
            answer = client.post(f"/elections{query}", headers={"Accept": accept})
        assert answer.status_code == 201
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert re.search(r"^ROOM='http://testserver/elections/[A-Za-z0-9_-]{32}'$", answer.text, re.MULTILINE)
        assert "$LEADER_TOKEN" in answer.text

    @pytest.mark.parametrize(
        "accept", ["*/*", "application/json", "application/json, text/plain", "image/png", "nonsense"]
    )
    def test_is_not_answered_to_others(self, client: Client, accept: str) -> None:
        answer = client.post("/elections?format=yaml", headers={"Accept": accept})
        assert answer.headers["Content-Type"] == "application/json"


class TestBodies:
    """None is needed; what is sent must be a sound object all the same."""

    @pytest.mark.parametrize("content_type", ["", "application/json", "application/x-www-form-urlencoded"])
    def test_none_is_needed_whatever_its_type(self, client: Client, content_type: str) -> None:
        assert client.post("/elections", content=b"", headers={"Content-Type": content_type}).status_code == 201

    @pytest.mark.parametrize("body", [{}, {"election_id": "mine-0001"}, {"unknown": [None, {"deep": 1.5}]}])
    def test_what_it_says_is_ignored(self, client: Client, body: dict[str, object]) -> None:
        answer = client.post("/elections", json=body)
        assert answer.status_code == 201
        assert answer.json()["election_id"] != "mine-0001"

    @pytest.mark.parametrize("bad", bodies({}))
    def test_a_broken_one_is_refused(self, client: Client, bad: Fault) -> None:
        refuses(client, "/elections", bad)

    def test_one_that_came_too_slowly_is_refused(self) -> None:
        with caller(**{"octostore.refusal": "body_timeout"}) as slow:
            assert slow.post("/elections").status_code == 408


class TestMethods:
    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
    def test_others_are_refused_with_those_allowed(self, client: Client, method: str) -> None:
        answer = client.request(method, "/elections")
        assert answer.status_code == 405
        assert answer.headers["Allow"] == "POST, OPTIONS"

    def test_options_tells_them(self, client: Client) -> None:
        answer = client.options("/elections")
        assert (answer.status_code, answer.headers["Allow"]) == (204, "POST, OPTIONS")

    @pytest.mark.parametrize("path", ["/elections/", "/Elections", "/v1/elections", "//elections"])
    def test_there_is_one_address(self, client: Client, path: str) -> None:
        with caller(PATH_INFO=path) as other:
            answer = other.post("/elections")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.usefixtures("database")
def test_an_address_nobody_made_up_is_a_room_too(client: Client) -> None:
    assert win(client, "my-own-room")["election_id"] == "my-own-room"
