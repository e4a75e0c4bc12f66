"""The first pages: what they say, and that everything they print to be pasted works as it is printed."""

from __future__ import annotations

import html
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from pytest_django.fixtures import Settings

from octostore.leases.models import Lease
from octostore.pages.joining import snippets
from tests.elections.rooms import win
from tests.pages.browser import Browser, text_of
from tests.processes import Web

HTML = "text/html,application/xhtml+xml,*/*;q=0.8"
_CODE = re.compile(r'<code id="([\w-]+)">(.*?)</code>', re.DOTALL)


@pytest.fixture
def visitor(database: str) -> Browser:
    return Browser(HTTP_ACCEPT=HTML)


@pytest.fixture
def web(database: str, two_webs: list[Web]) -> Web:
    return two_webs[0]


def codes(web: Web, path: str) -> dict[str, str]:
    """What the page at `path` prints to be copied, by id."""
    page = httpx.get(f"{web.url}{path}", headers={"Accept": HTML}, trust_env=False)
    assert page.status_code == 200
    return {name: html.unescape(text) for name, text in _CODE.findall(page.text)}


def shell(commands: str, seconds: float = 20) -> str:
    run = subprocess.run(
        ["bash", "-euo", "pipefail"], input=commands, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


class TestLanding:
    def test_shows_promise_commands_limit_and_demo(self, visitor: Browser) -> None:
        page = visitor.get("/")
        text = text_of(page)
        assert page["Content-Type"].startswith("text/html")
        places = [
            text.index(part)
            for part in ("One leader at a time", 'id="curl"', "A lease is a promise", 'id="demo-start"')
        ]
        assert places == sorted(places)
        assert page["Cache-Control"] == "private, no-cache"

    @pytest.mark.parametrize("accept", ["*/*", "application/json", "", "application/json, text/html;q=0.9"])
    def test_is_the_apis_answer_to_everybody_else(self, database: str, accept: str) -> None:
        answer = Browser().get("/", HTTP_ACCEPT=accept)
        assert answer.json()["name"] == "OctoStore"
        assert "Accept" in answer["Vary"]

    def test_needs_no_database(self, visitor: Browser, django_assert_num_queries: Callable[..., object]) -> None:
        with django_assert_num_queries(0):  # type: ignore[attr-defined]
            assert visitor.get("/").status_code == 200

    def test_prints_limits_as_they_are_set(self, visitor: Browser, settings: Settings) -> None:
        settings.LED_ROOMS_MAX_PER_CLIENT = 4711
        assert "4711" in text_of(visitor.get("/"))

    def test_no_two_readers_are_given_one_room(self, visitor: Browser) -> None:
        rooms = [set(re.findall(r"/elections/([\w-]{32})", text_of(visitor.get("/")))) for _ in range(2)]
        assert [len(found) for found in rooms] == [1, 1]
        assert rooms[0] != rooms[1]

    def test_without_public_rooms_it_offers_none(self, visitor: Browser, settings: Settings) -> None:
        settings.PUBLIC_ELECTIONS = False
        text = text_of(visitor.get("/"))
        assert "demo-start" not in text
        assert "switched off" in text


class TestPastes:
    def test_three_lines_lead_to_the_first_leader(self, web: Web) -> None:
        lines = codes(web, "/")["curl"].strip().splitlines()
        assert len(lines) == 3
        printed = shell("\n".join(lines))
        assert '"status":"leader"' in printed
        page = httpx.get(printed.strip().splitlines()[-1], headers={"Accept": HTML}, trust_env=False)
        assert "worker-a leads" in page.text

    def test_quick_start_is_done_in_two(self, web: Web) -> None:
        room = f"start-{uuid4().hex[:12]}"
        printed = codes(web, f"/start/{room}")
        assert '"status":"leader"' in shell(printed["start-first"])
        Lease.objects.filter(name=room).update(expires_at=0)
        assert '"worker-b"' in shell(printed["start-rival"])
        text = httpx.get(f"{web.url}/start/{room}", headers={"Accept": HTML}, trust_env=False).text
        assert text.count("Done") == 2


class TestPrograms:
    """Each leads while it runs, and another of its kind follows; run until that is seen."""

    @pytest.fixture
    def room(self) -> str:
        return f"join-{uuid4().hex[:12]}"

    @pytest.fixture
    def run(self, tmp_path: Path) -> Iterator[Callable[[list[str], str], subprocess.Popen[str]]]:
        running: list[subprocess.Popen[str]] = []

        def start(command: list[str], program: str) -> subprocess.Popen[str]:
            path = tmp_path / f"program-{len(running)}"
            path.write_text(program)
            running.append(
                subprocess.Popen([*command, path], stdout=subprocess.PIPE, text=True, start_new_session=True)
            )
            return running[-1]

        yield start
        for process in running:
            process.kill()
            process.communicate()

    @pytest.mark.parametrize(("slug", "command"), [("bash", ["bash"]), ("python", [sys.executable, "-u"])])
    def test_worker_leads(
        self, web: Web, room: str, run: Callable[[list[str], str], subprocess.Popen[str]], slug: str, command: list[str]
    ) -> None:
        [program] = [one.text for one in snippets(web.url, room) if one.slug == slug]
        process = run(command, program)
        assert process.stdout
        assert process.stdout.readline().startswith("leading term ")
        answer = httpx.get(f"{web.url}/elections/{room}", trust_env=False).json()
        assert answer["leader"]["candidate_id"] == "worker-b"

    @pytest.mark.parametrize(("slug", "command"), [("bash", ["bash"]), ("python", [sys.executable, "-u"])])
    def test_worker_takes_over_when_the_leader_is_gone(
        self, web: Web, room: str, run: Callable[[list[str], str], subprocess.Popen[str]], slug: str, command: list[str]
    ) -> None:
        with web.client() as client:
            win(client, room, ttl_seconds=5)
        [program] = [one.text for one in snippets(web.url, room) if one.slug == slug]
        process = run(command, program)
        time.sleep(1)
        assert process.poll() is None
        Lease.objects.filter(name=room).update(expires_at=0)
        assert process.stdout
        assert process.stdout.readline().startswith("leading term ")

    def test_curl_commands_lead_renew_and_resign(self, web: Web, room: str) -> None:
        [text] = [one.text for one in snippets(web.url, room) if one.slug == "curl"]
        campaign, renew, resign = re.split(r"\n\n# [^\n]+\n", text.strip())
        won = shell(campaign)
        held = re.search(r'"leader_token":"([\w-]+)"', won)
        assert held
        assert '"status":"leader"' in shell(f"LEADER_TOKEN={held[1]}\n{renew}")
        assert '"status":"vacant"' in shell(f"LEADER_TOKEN={held[1]}\n{resign}")

    def test_script_of_a_new_room_runs_as_it_is(self, web: Web) -> None:
        script = httpx.post(f"{web.url}/elections", headers={"Accept": "text/plain"}, trust_env=False).text
        assert shell(script).count('"status":"leader"') == 2


class TestTry:
    def test_opens_a_room_and_leads_to_its_page(self, visitor: Browser) -> None:
        answer = visitor.submit("/")
        assert answer.status_code == 405
        answer = visitor.fill(visitor.get("/"), "/try")
        assert answer.status_code == 303
        assert re.fullmatch(r"/r/[\w-]{32}", answer["Location"])

    def test_is_a_form_of_ours_and_nothing_else(self, visitor: Browser) -> None:
        assert visitor.get("/try").status_code == 405
        assert visitor.post("/try").status_code == 403

    def test_counts_against_the_clients_budget(self, visitor: Browser, settings: Settings) -> None:
        from octostore.live import admission

        settings.ELECTION_REQUESTS_PER_MINUTE = 2
        admission.campaigns.forget_all()
        page = visitor.get("/")
        answers = [visitor.fill(page, "/try") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [303, 303, 429]
        assert int(answers[-1]["Retry-After"]) > 0
        admission.campaigns.forget_all()


class TestStart:
    def test_begins_with_a_form_and_goes_on_at_an_address_that_stays(self, visitor: Browser) -> None:
        assert visitor.get("/start").status_code == 200
        answer = visitor.fill(visitor.get("/start"), "/start")
        assert answer.status_code == 303
        assert re.fullmatch(r"/start/[\w-]{32}", answer["Location"])
        page = text_of(visitor.get(answer["Location"]))
        assert "Nobody has led yet" in page
        assert "nobody has checked them" in page

    def test_malformed_room_is_refused(self, visitor: Browser) -> None:
        assert visitor.get("/start/short").status_code == 400
        assert visitor.get("/start/short/progress").status_code == 400
