"""The status page: what was measured, how long ago, and nothing green without it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from octostore.pages import probing, status
from octostore.pages.probing import Component, Measured
from tests.pages.browser import Browser, text_of
from tests.processes import Web
from tests.valkey import Valkey


@pytest.fixture
def browser(database: str) -> Browser:
    return Browser(HTTP_ACCEPT="text/html,application/xhtml+xml,*/*;q=0.8")


@pytest.fixture
def valkey(tmp_path: Any, settings: Settings) -> Iterator[Valkey]:
    with Valkey(tmp_path) as server:
        settings.REDIS_URL = server.url
        probing._redis.cache_clear()
        client = probing._redis()
        yield server
        client.close()
    probing._redis.cache_clear()


def component(name: str = "web", state: str = "ok") -> Component:
    return Component(name=name, title=name.capitalize(), state=state, figure_ms=3, says="answered in 3 ms")  # type: ignore[arg-type]


def measured(*components: Component, seconds_ago: float = 0) -> Measured:
    return Measured(at=int((time.time() - seconds_ago) * 1000), components=list(components))


class TestPage:
    def test_says_what_was_found_and_how_long_ago(self, valkey: Valkey, browser: Browser) -> None:
        probing.keep(measured(component(), component("elections"), seconds_ago=14))
        text = text_of(browser.get("/status"))
        assert "All systems work" in text
        assert "14 s ago" in text
        assert text.count("Works") == 2

    def test_names_what_is_not_well_first(self, valkey: Valkey, browser: Browser) -> None:
        probing.keep(measured(component("web", "down"), component("elections", "slow"), component("locks")))
        assert "<h1>Web down; Elections slow</h1>" in text_of(browser.get("/status"))

    def test_turns_to_cannot_measure_after_two_minutes(self, valkey: Valkey, browser: Browser) -> None:
        probing.keep(measured(component(), seconds_ago=119))
        assert "All systems work" in text_of(browser.get("/status"))
        probing.keep(measured(component(), seconds_ago=121))
        text = text_of(browser.get("/status"))
        assert "Cannot measure" in text
        assert "Works" not in text

    @pytest.mark.parametrize("gone", ["never measured", "no redis", "redis down", "nonsense"])
    def test_is_never_green_without_a_measurement(
        self, browser: Browser, valkey: Valkey, settings: Settings, gone: str
    ) -> None:
        match gone:
            case "no redis":
                settings.REDIS_URL = ""
            case "redis down":
                probing.keep(measured(component()))
                valkey.stop()
            case "nonsense":
                probing._redis().set(probing.KEY, b'{"at": "yesterday"}')
        answer = browser.get("/status")
        assert answer.status_code == 200
        assert "Cannot measure" in text_of(answer)
        assert browser.get("/status.json").status_code == 503

    def test_is_for_browsers_and_counters_for_everybody_else(self, browser: Browser) -> None:
        for accept in ("*/*", "application/json", "application/json, text/html"):
            answer = browser.get("/status", HTTP_ACCEPT=accept)
            assert "led_rooms" in answer.json()
            assert "Accept" in answer["Vary"]
            assert "Content-Security-Policy" not in answer

    def test_components_come_as_data(self, valkey: Valkey, browser: Browser) -> None:
        probing.keep(measured(component("web", "slow")))
        body = browser.get("/status.json").json()
        assert (body["status"], body["measured"]["components"][0]["name"]) == ("slow", "web")
        assert browser.get("/status.json").status_code == 200


class TestProbe:
    @pytest.fixture
    def web(self, start_web: Callable[..., Web], settings: Settings) -> Web:
        web = start_web()
        settings.PROBE_URL = web.url
        return web

    def test_finds_a_working_service_working(self, web: Web) -> None:
        found = probing.measure()
        assert {one.name: one.state for one in found.components} == dict.fromkeys(
            ("web", "elections", "live", "locks", "webhooks"), "ok"
        )

    def test_finds_what_is_down(self, web: Web) -> None:
        web.kill()
        found = {one.name: one for one in probing.measure().components}
        assert {name for name, one in found.items() if one.state == "down"} == {"web", "elections", "live"}
        assert found["web"].says == "cannot be reached"
        assert str(web.port) not in json.dumps([one.says for one in found.values()])

    def test_leaves_no_term_behind_and_no_secret(self, web: Web, browser: Browser) -> None:
        probing.measure()
        found = probing.measure()
        assert all(one.state == "ok" for one in found.components)
        assert probing._room() not in repr(found)
        assert browser.get(f"/elections/{probing._room()}").json()["status"] == "vacant"

    def test_switched_off_rooms_are_no_component(self, web: Web, settings: Settings) -> None:
        settings.PUBLIC_ELECTIONS = False
        assert {one.name for one in probing.measure().components} == {"web", "locks", "webhooks"}


def test_sentence_of_nothing_bad_is_good() -> None:
    assert status._sentence([]) == "All systems work"
