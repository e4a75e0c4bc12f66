"""Many threads against one capacity of led rooms."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import httpx

from tests.processes import Web
from tests.races import race


def test_two_hundred_threads_lead_no_more_rooms_than_may_be_led(start_web: Callable[..., Web]) -> None:
    web = start_web(OCTOSTORE_LED_ROOMS_MAX="16")

    def campaign() -> httpx.Response:
        with web.client() as client:
            return client.campaign(f"room-{uuid4().hex}", "atlas")

    answers = race([campaign] * 200)
    assert [answer.status_code for answer in answers].count(200) == 16
    refused = [answer for answer in answers if answer.status_code != 200]
    assert {(answer.status_code, answer.json()["code"]) for answer in refused} == {(409, "capacity_exceeded")}
    assert {answer.headers["Retry-After"] for answer in refused} == {"30"}
