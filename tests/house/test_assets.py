"""What pages are made of: small, without anything inline, with colours that can be read, nothing vendored unseen."""

from __future__ import annotations

import hashlib
import re
from itertools import product
from pathlib import Path

import pytest

from tests.house.sources import ROOT, files

STATIC = ROOT / "octostore" / "pages" / "static"
STYLESHEET = STATIC / "pages" / "pages.css"
SCRIPTS = sorted((STATIC / "pages").glob("*.js"))
# The interactive reference is somebody else's program with a policy of its own.
TEMPLATES = [path for path in sorted((ROOT / "templates").rglob("*.html")) if path.parent.name != "api"]
HEX = re.compile(r"#[0-9a-fA-F]{3,8}\b")
TOKEN = re.compile(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)")
NEEDS_EVAL = re.compile(r"\bhx-on|hx-trigger=\"[^\"]*\[|\bjs:|javascript:")
INLINE = re.compile(r"\sstyle=|<style|\son[a-z]+=|<script(?![^>]*\ssrc=)")
# Of htmx 2, and without a meaning or with another one in 4.
OUTDATED = re.compile(
    r"hx-ext|hx-boost|hx-disinherit|hx-swap-oob|morph:|sse:|sse-|hx-sse|every \d|hx-swap=\"(?:show|settle)"
)
STATUS_TONES = ("held", "expiring", "vacant", "flapping", "lost", "info")


def style() -> str:
    return STYLESHEET.read_text(encoding="utf-8")


def layer(name: str) -> str:
    """The rules of one layer."""
    found = re.search(rf"^@layer {name} \{{\n(.*?)^\}}$", style(), re.MULTILINE | re.DOTALL)
    assert found, name
    return found[1]


def scripts_in(path: Path) -> set[Path]:
    """Those of ours that a template loads."""
    return {STATIC / name for name in re.findall(r"{% static '(pages/\w+\.js)' %}", path.read_text(encoding="utf-8"))}


def luminance(colour: str) -> float:
    """WCAG 2's relative luminance of `#rrggbb`."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def whole(path: Path) -> str:
    """A template with those of ours that it includes."""

    def included(found: re.Match[str]) -> str:
        other = ROOT / "templates" / found[1]
        return whole(other) if other.exists() else ""

    return re.sub(r"{% include \"([^\"]+)\".*?%}", included, path.read_text(encoding="utf-8"))


class TestSizes:
    def test_own_styles_are_small_together(self) -> None:
        assert sum(path.stat().st_size for path in STATIC.rglob("*.css")) < 20_000

    def test_own_scripts_of_any_page_are_small_together(self) -> None:
        everywhere = scripts_in(ROOT / "templates" / "base.html")
        loaded = [everywhere | scripts_in(path) for path in TEMPLATES]
        assert everywhere
        assert set().union(*loaded) == set(SCRIPTS)
        assert max(sum(path.stat().st_size for path in page) for page in loaded) < 10_000


class TestStylesheet:
    def test_layers_come_in_the_order_that_was_declared(self) -> None:
        declared = re.match(r"@layer ([\w, ]+);", style())
        assert declared
        assert re.findall(r"^@layer (\w+) \{", style(), re.MULTILINE) == declared[1].split(", ")

    def test_colours_are_tokens(self) -> None:
        assert HEX.findall(style().replace(layer("tokens"), "")) == []

    def test_nothing_is_important_but_what_is_hidden(self) -> None:
        assert re.findall(r"[^\n]*!important[^\n]*", style()) == ["  [hidden] { display: none !important; }"]

    def test_every_class_is_used_and_every_class_that_is_used_is_there(self) -> None:
        defined = set(re.findall(r"\.([a-z][\w-]*)", re.sub(r"\{[^{}]*\}", "", style())))
        texts = [path.read_text(encoding="utf-8") for path in [*TEMPLATES, *SCRIPTS, *files("octostore")]]
        words = set(re.findall(r"[a-z][\w-]*", " ".join(texts)))
        # What Django's forms and htmx put in.
        assert defined - words == {"errorlist", "helptext", "htmx-request"} - words
        written = " ".join(
            re.sub(r"{%.*?%}|{{.*?}}", " ", found)
            for path in TEMPLATES
            for found in re.findall(r'class="([^"]*)"', path.read_text(encoding="utf-8"))
            if "admin" not in path.parts
        )
        assert set(written.split()) - defined == set()

    def test_asks_nobody_else(self) -> None:
        assert re.findall(r"@import|url\((?!#)", style()) == []


class TestContrast:
    """WCAG 2.2 AA: text 4.5, the edges of controls 3."""

    TOKENS = {name: pair for name, *pair in TOKEN.findall(STYLESHEET.read_text(encoding="utf-8"))}

    @pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
    def test_text_is_readable_on_every_ground(self, theme: int) -> None:
        colour = {name: pair[theme] for name, pair in self.TOKENS.items()}
        inks = ("ink", "ink-2", "ink-3", "accent", "coral", *STATUS_TONES)
        pairs = [*product(inks, ("paper", "surface", "sunken")), ("on-accent", "accent")]
        pairs += [(tone, f"{tone}-tint") for tone in STATUS_TONES]
        assert [pair for pair in pairs if contrast(colour[pair[0]], colour[pair[1]]) < 4.5] == []

    @pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
    def test_edges_of_controls_can_be_seen(self, theme: int) -> None:
        colour = {name: pair[theme] for name, pair in self.TOKENS.items()}
        assert [on for on in ("paper", "surface", "sunken") if contrast(colour["edge"], colour[on]) < 3] == []

    def test_formula_is_that_of_wcag(self) -> None:
        assert contrast("#000000", "#ffffff") == pytest.approx(21)
        assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
class TestTemplates:
    def test_have_nothing_inline_and_nothing_that_needs_eval(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        assert INLINE.findall(text) == []
        assert NEEDS_EVAL.findall(text) == []

    def test_speak_the_htmx_that_is_vendored(self, path: Path) -> None:
        assert OUTDATED.findall(path.read_text(encoding="utf-8")) == []

    def test_every_element_that_asks_says_where_the_answer_goes(self, path: Path) -> None:
        asking = re.findall(r"<[^>]*\shx-(?:get|post)=[^>]*>", path.read_text(encoding="utf-8"))
        assert [tag for tag in asking if "hx-target=" not in tag or "hx-swap=" not in tag] == []

    def test_rows_that_keys_go_through_can_have_the_focus(self, path: Path) -> None:
        rows = re.findall(r"<[^>]*\sdata-row[^>]*>", re.sub(r"{[{%].*?[}%]}", "", path.read_text(encoding="utf-8")))
        assert [tag for tag in rows if not tag.startswith("<a ")] == []

    def test_forms_that_change_something_carry_the_secret_against_forgery(self, path: Path) -> None:
        forms = re.findall(r"<form[^>]*method=\"post\".*?</form>", whole(path), re.DOTALL)
        unguarded = [form for form in forms if "csrf_token" not in form and "url 'display'" not in form]
        # allauth's forms bring it in their body.
        assert [form for form in unguarded if "slot body" not in form] == []


class TestVendored:
    LISTED = re.findall(
        r"^\| (\S+) \| (\S+) \| `(\S+)` \| `([0-9a-f]{64})` \|",
        (STATIC / "vendor" / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )

    def test_files_are_those_that_were_published(self) -> None:
        for _, version, name, digest in self.LISTED:
            assert version in name
            assert hashlib.sha256((STATIC / "vendor" / name).read_bytes()).hexdigest() == digest

    def test_nothing_else_is_vendored_and_each_has_its_licence(self) -> None:
        scripts = {str(path.relative_to(STATIC / "vendor")) for path in (STATIC / "vendor").rglob("*.js")}
        assert scripts == {name for _, _, name, _ in self.LISTED}
        assert all((STATIC / "vendor" / name).with_name("LICENSE").exists() for name in scripts)

    def test_pages_use_the_version_that_is_listed(self) -> None:
        [(_, _, name, _)] = self.LISTED
        assert f"vendor/{name}" in (ROOT / "templates" / "base.html").read_text(encoding="utf-8")
