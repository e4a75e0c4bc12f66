"""PUBLIC_ELECTIONS=false turns all of it off; and what is checked before and after permission."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from tests.elections.rooms import UNKNOWN_TOKEN, caller, stored, told
from tests.http import Client

ROOM = "/elections/room-0001"

REQUESTS = {
    "create": ("POST", "/elections", None),
    "campaign": ("POST", f"{ROOM}/campaign", {"candidate_id": "atlas"}),
    "renew": ("POST", f"{ROOM}/renew", {"leader_token": UNKNOWN_TOKEN}),
    "resign": ("POST", f"{ROOM}/resign", {"leader_token": UNKNOWN_TOKEN}),
    "status": ("GET", ROOM, None),
    "terms": ("GET", f"{ROOM}/terms", None),
    "term": ("GET", f"{ROOM}/terms/1", None),
    "watch": ("GET", f"{ROOM}/watch", None),
}


@pytest.fixture(autouse=True)
def off(settings: Settings) -> None:
    settings.PUBLIC_ELECTIONS = False


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS.values(), ids=REQUESTS)
def test_everything_is_forbidden(client: Client, method: str, path: str, body: dict[str, str] | None) -> None:
    answer = client.request(method, path, json=body)
    assert told(answer) == (403, "forbidden")
    assert answer.json()["details"] == "Public elections are switched off on this server"


@pytest.mark.usefixtures("database")
def test_nothing_is_stored(client: Client) -> None:
    client.campaign("room-0001", "atlas")
    assert stored() == []


class TestOrderOfChecks:
    """Path, body, permission, rules: what comes first is told."""

    def test_a_bad_path_is_told_before_a_bad_body(self, client: Client) -> None:
        answer = client.post("/elections/short/campaign", content=b"{")
        assert (answer.status_code, answer.json()["details"][:11]) == (400, "election_id")

    def test_a_bad_path_is_told_before_what_is_forbidden(self, client: Client) -> None:
        for path in ("/elections/short", "/elections/short/terms", f"{ROOM}/terms/0", f"{ROOM}/terms/x"):
            assert told(client.get(path)) == (400, "invalid_input")

    @pytest.mark.parametrize("verb", ["campaign", "renew", "resign"])
    def test_a_bad_body_is_told_before_what_is_forbidden(self, client: Client, verb: str) -> None:
        assert client.post(f"{ROOM}/{verb}", content=b"{}").status_code == 415
        assert client.post(f"{ROOM}/{verb}", json={}).status_code == 422
        assert client.post("/elections", json=[]).status_code == 422

    def test_what_is_forbidden_is_told_before_a_broken_rule(self, client: Client) -> None:
        assert client.campaign("room-0001", "", ttl_seconds=1).status_code == 403
        assert client.renew("room-0001", "short").status_code == 403
        assert client.get(f"{ROOM}/terms?limit=0").status_code == 403
        with caller(HTTP_IDEMPOTENCY_KEY="short") as other:
            assert other.campaign("room-0001", "atlas").status_code == 403

    def test_a_wrong_method_is_told_whatever_is_off(self, client: Client) -> None:
        assert client.put(ROOM).status_code == 405
