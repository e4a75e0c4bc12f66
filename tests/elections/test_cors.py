"""Any web page may use elections, and none may send credentials."""

from __future__ import annotations

import pytest

from tests.elections.rooms import UNKNOWN_TOKEN, win
from tests.elections.test_off_switch import REQUESTS
from tests.http import Client

ORIGIN = {"Origin": "https://anywhere.example"}
EXPOSED = {"Retry-After", "X-Request-Id", "Idempotent-Replayed"}


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS.values(), ids=REQUESTS)
def test_preflights_allow_what_a_client_sends(
    client: Client, method: str, path: str, body: dict[str, str] | None
) -> None:
    headers = ORIGIN | {
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "content-type,idempotency-key,last-event-id",
    }
    answer = client.options(path, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["Access-Control-Allow-Origin"] in {"*", ORIGIN["Origin"]}
    assert method in answer.headers["Access-Control-Allow-Methods"].split(", ")
    allowed = answer.headers["Access-Control-Allow-Headers"].split(", ")
    assert {"content-type", "idempotency-key", "last-event-id"} <= set(allowed)
    assert "Access-Control-Allow-Credentials" not in answer.headers


@pytest.mark.usefixtures("database")
def test_answers_and_refusals_can_be_read(client: Client, room: str) -> None:
    client.headers.update(ORIGIN)
    won = win(client, room)
    answers = [
        client.post("/elections"),
        client.room(room),
        client.renew(room, won["leader_token"]),
        client.renew(room, UNKNOWN_TOKEN),
        client.campaign(room, ""),
        client.get("/elections/short"),
        client.put(f"/elections/{room}"),
        client.get(f"/elections/{room}/nothing"),
    ]
    assert [answer.status_code for answer in answers] == [201, 200, 200, 404, 400, 400, 405, 404]
    for answer in answers:
        assert answer.headers["Access-Control-Allow-Origin"] in {"*", ORIGIN["Origin"]}
        assert set(answer.headers["Access-Control-Expose-Headers"].split(", ")) == EXPOSED
        assert "Access-Control-Allow-Credentials" not in answer.headers
