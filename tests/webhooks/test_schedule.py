"""When an attempt is followed by another, by none, or by the endpoint's end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.schedule import (
    ATTEMPTS,
    JITTER,
    RETRY_AFTER_MAX,
    Disable,
    DisableReason,
    Done,
    GiveUp,
    Next,
    after_attempt,
    is_off_due,
    parse_retry_after,
)

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
PROMISED = [
    timedelta(seconds=5),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=4),
    timedelta(hours=12),
    timedelta(hours=24),
]
FAILURES = st.none() | st.integers(100, 199) | st.integers(300, 599).filter(lambda status: status != 410)


def delay(made: int, status: int | None, retry_after: str | None = None, chance: float = 0.0) -> timedelta:
    step = after_attempt(made, status=status, retry_after=retry_after, now=NOW, random=lambda: chance)
    assert isinstance(step, Next)
    return step.at - NOW


class TestAFailedAttempt:
    def test_is_followed_by_eight_more_as_promised(self) -> None:
        assert [delay(made, 500) for made in range(1, 9)] == PROMISED

    @pytest.mark.parametrize("status", [None, 101, 302, 400, 404, 429, 500, 503])
    def test_is_the_last_after_nine(self, status: int | None) -> None:
        assert after_attempt(9, status=status, now=NOW, random=lambda: 0.0) == GiveUp()

    @given(made=st.integers(1, 8), status=FAILURES, chance=st.floats(0, 1, exclude_max=True))
    def test_is_followed_within_the_jitter(self, made: int, status: int | None, chance: float) -> None:
        planned = PROMISED[made - 1]
        assert planned <= delay(made, status, chance=chance) <= planned * (1 + JITTER)

    def test_comes_again_apart_from_others(self) -> None:
        assert len({delay(1, 500, chance=chance / 10) for chance in range(10)}) == 10

    @given(made=st.integers(10, 10_000), status=FAILURES)
    def test_beyond_the_ninth_gives_up_too(self, made: int, status: int | None) -> None:
        assert after_attempt(made, status=status, now=NOW, random=lambda: 0.5) == GiveUp()


class TestASuccess:
    @given(made=st.integers(1, ATTEMPTS), status=st.integers(200, 299))
    def test_is_the_end(self, made: int, status: int) -> None:
        assert after_attempt(made, status=status, now=NOW, random=lambda: 0.0) == Done()


class TestGone:
    @given(made=st.integers(1, ATTEMPTS))
    def test_switches_the_endpoint_off(self, made: int) -> None:
        step = after_attempt(made, status=410, retry_after="5", now=NOW, random=lambda: 0.0)
        assert step == Disable(DisableReason.GONE)


class TestRetryAfter:
    @pytest.mark.parametrize("status", [429, 503])
    def test_puts_the_next_attempt_off(self, status: int) -> None:
        assert delay(1, status, "30") == timedelta(seconds=30)

    @pytest.mark.parametrize("status", [429, 503])
    def test_hastens_nothing(self, status: int) -> None:
        assert delay(4, status, "1") == timedelta(minutes=10)

    @pytest.mark.parametrize("status", [None, 500, 301, 404])
    def test_counts_for_429_and_503_alone(self, status: int | None) -> None:
        assert delay(1, status, "30") == timedelta(seconds=5)

    @given(made=st.integers(1, 8), seconds=st.integers(0, 86_400), chance=st.floats(0, 1, exclude_max=True))
    def test_is_never_fallen_short_of(self, made: int, seconds: int, chance: float) -> None:
        assert delay(made, 429, str(seconds), chance) >= timedelta(seconds=seconds)

    def test_may_be_a_date(self) -> None:
        at = NOW + timedelta(minutes=3)
        assert delay(1, 503, format_datetime(at, usegmt=True)) == timedelta(minutes=3)

    @pytest.mark.parametrize("text", ["86401", "9" * 400, format_datetime(NOW + timedelta(days=400), usegmt=True)])
    def test_is_bounded_by_a_day(self, text: str) -> None:
        assert delay(1, 503, text) == RETRY_AFTER_MAX == timedelta(hours=24)

    def test_of_the_past_is_now(self) -> None:
        assert parse_retry_after(format_datetime(NOW - timedelta(days=1), usegmt=True), NOW) == timedelta()

    @pytest.mark.parametrize("text", ["", "soon", "-5", "1.5", "٣٠", "Mon, 99 Foo 2026 99:99:99 GMT", "1e3"])
    def test_that_cannot_be_read_is_as_none(self, text: str) -> None:
        assert parse_retry_after(text, NOW) is None
        assert delay(1, 503, text) == timedelta(seconds=5)

    @given(text=st.text(max_size=64))
    def test_of_any_text_is_within_bounds_or_none(self, text: str) -> None:
        parsed = parse_retry_after(text, NOW)
        assert parsed is None or timedelta() <= parsed <= RETRY_AFTER_MAX


class TestAnEndpointWithoutSuccess:
    def test_is_switched_off_after_five_days(self) -> None:
        assert is_off_due(NOW - timedelta(days=5), NOW)

    def test_has_its_five_days(self) -> None:
        assert not is_off_due(NOW - timedelta(days=5) + timedelta(microseconds=1), NOW)

    def test_that_works_is_not_switched_off(self) -> None:
        assert not is_off_due(None, NOW)
