"""How pages look is the reader's choice, kept in their browser; and what htmx asks for is part of a page."""

from __future__ import annotations

import pytest
from django.template import Context
from django.test import RequestFactory
from django_htmx.middleware import HtmxDetails

from octostore.pages import wording
from octostore.pages.fragments import asks_for_part
from octostore.pages.templatetags import marks, moments, pictures
from tests.pages.browser import Browser, text_of

NOW = 1_796_058_643_301


class TestChoices:
    @pytest.mark.parametrize(("name", "value"), [("theme", "dark"), ("times", "utc"), ("keys", "off")])
    def test_are_kept_and_lead_back(self, browser: Browser, name: str, value: str) -> None:
        answer = browser.post("/display", {name: value, "next": "/keyboard?a=b"})
        assert (answer.status_code, answer["Location"]) == (302, "/keyboard?a=b")
        cookie = browser.cookies[f"octostore_{name}"]
        assert (cookie.value, cookie["httponly"], cookie["samesite"]) == (value, True, "Lax")
        assert f'value="{value}" aria-pressed="true"' in text_of(browser.get("/keyboard"))

    def test_theme_is_printed_by_the_server(self, browser: Browser) -> None:
        assert "data-theme" not in text_of(browser.get("/keyboard"))
        browser.post("/display", {"theme": "dark"})
        assert '<html lang="en" data-theme="dark"' in text_of(browser.get("/keyboard"))
        assert '<html lang="en" data-theme="dark"' in text_of(browser.get("/accounts/nothing/"))

    @pytest.mark.parametrize(
        "back", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"]
    )
    def test_never_lead_away(self, browser: Browser, back: str) -> None:
        assert browser.post("/display", {"theme": "dark", "next": back})["Location"] == "/"

    @pytest.mark.parametrize("chosen", [{}, {"theme": "pink"}, {"themes": "dark"}, {"theme": "dark", "keys": "maybe"}])
    def test_others_are_refused(self, browser: Browser, chosen: dict[str, str]) -> None:
        answer = browser.post("/display", chosen)
        assert answer.status_code == 400
        assert not answer.cookies

    @pytest.mark.parametrize(
        ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 302), ("none", 302)]
    )
    def test_are_not_made_by_other_sites(self, browser: Browser, site: str, status: int) -> None:
        answer = browser.post("/display", {"theme": "dark"}, headers={"Sec-Fetch-Site": site, "Origin": "null"})
        assert answer.status_code == status

    def test_are_made_by_forms_alone(self, browser: Browser) -> None:
        assert browser.get("/display?theme=dark").status_code == 405

    def test_cookie_that_makes_no_sense_is_no_choice(self, browser: Browser) -> None:
        browser.cookies["octostore_theme"] = '"><script>'
        assert "data-theme" not in text_of(browser.get("/keyboard"))


class TestParts:
    @pytest.mark.parametrize(
        ("headers", "part"),
        [({}, False), ({"HX-Request": "true"}, True), ({"HX-Request": "true", "HX-Request-Type": "partial"}, True),
         ({"HX-Request": "true", "HX-Request-Type": "full"}, False), ({"HX-Request": "false"}, False)],
    )  # fmt: skip
    def test_are_what_htmx_asks_for(self, headers: dict[str, str], part: bool) -> None:
        request = RequestFactory().get("/", headers=headers)
        request.htmx = HtmxDetails(request)  # type: ignore[attr-defined]
        assert asks_for_part(request) is part

    def test_who_must_sign_in_is_led_there_and_back(self, browser: Browser) -> None:
        answer = browser.get("/live?topics=ops", headers={"Accept": "text/html"})
        assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/?next=/live%3Ftopics%3Dops")
        assert browser.get("/live?topics=ops", headers={"HX-Request": "true"}).status_code == 401


class TestWords:
    @pytest.mark.parametrize(
        ("seconds", "words"),
        [(0, "0 s"), (0.9, "0 s"), (59.9, "59 s"), (60, "1 min"), (160, "2 min 40 s"), (3600, "1 h"),
         (3660, "1 h 1 min"), (86_400, "1 d"), (90_000, "1 d 1 h"), (-5, "0 s")],
    )  # fmt: skip
    def test_of_lengths(self, seconds: float, words: str) -> None:
        assert wording.span(seconds) == words

    def test_of_counts(self) -> None:
        assert [wording.counted(count, "term") for count in (0, 1, 2)] == ["0 terms", "1 term", "2 terms"]

    @pytest.mark.parametrize(
        ("seconds", "words"), [(0, "just now"), (1.9, "just now"), (2, "2 s ago"), (119, "1 min ago"), (-30, "in 30 s")]
    )
    def test_of_ages(self, seconds: float, words: str) -> None:
        assert wording.age(seconds) == words

    @pytest.mark.parametrize(("times", "shown"), [("relative", "2 min ago"), ("utc", "2026-11-30 17:08:43 UTC")])
    def test_of_instants_are_as_chosen_and_exact_beside(self, times: str, shown: str) -> None:
        tag = moments.moment(Context({"times": times}), NOW - 120_000, NOW)
        assert f">{shown}</time>" in tag
        assert 'title="2026-11-30 17:08:43.301 UTC"' in tag


class TestDrawings:
    def test_gauge_shows_what_is_left(self) -> None:
        drawn = marks.gauge("held", NOW + 18_000, NOW, 30_000, 3)
        assert 'stroke-dasharray="0.6 1"' in drawn
        assert "60 percent" in drawn
        assert drawn.count('class="on"') == 3
        assert drawn.count('class="lead"') == 1
        assert "3 others led lately" in drawn
        assert "1 other led lately" in marks.gauge("held", NOW, NOW, 30_000, 1)

    def test_vacant_gauge_sleeps_and_holds_nothing(self) -> None:
        drawn = marks.gauge("vacant")
        assert "lead" not in drawn.replace("held", "")
        assert 'class="lid"' in drawn
        assert "ring" not in drawn.partition("track")[2]

    def test_badge_is_never_colour_alone(self) -> None:
        for status in marks.STATUSES:
            drawn = marks.badge(status)
            assert status.capitalize() in drawn
            assert "<svg" in drawn

    def test_text_of_strangers_is_text_in_pictures_too(self) -> None:
        from tests.leases.test_steadiness import term

        drawn = pictures.terms_picture([term(1, None, "<script>&"), term(5, 2, "b")], NOW + 10**9)
        assert "<script>" not in drawn
        assert "1 expired, 1 running" in drawn
        assert "2 terms within" in drawn
        assert "1 term within" in pictures.terms_picture([term(1, None)], NOW)

    def test_only_what_no_person_wrote_is_put_into_words(self) -> None:
        assert [pictures.why(reason) for reason in ("session_deleted", "it hangs", "")] == [
            "with its session",
            "it hangs",
            "",
        ]

    def test_terms_end_is_enough_for_tables(self) -> None:
        assert pictures.last_six(28_856_311_808) == "…311808"
        assert pictures.last_six(42) == "42"
