"""Times in answers: followers come back spread, leaders stop in time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django.fixtures import Settings

from elections import answers
from octostore.api.timing import instant, retry_after_ms
from octostore.leases.outcomes import Granted, Hold

LEFT = timedelta(seconds=10)


def hold(ttl: timedelta) -> Hold:
    return Hold(
        term=1,
        holder="atlas",
        metadata=None,
        group_id=None,
        ttl=ttl,
        delay=timedelta(0),
        began_at=0,
        expires_at=0,
        renewals=0,
        charged_to="",
        bound=False,
        ended_at=None,
        ending=None,
    )


class TestRetryAfter:
    @pytest.mark.parametrize(("ttl", "jitter"), [(1, 1_000), (5, 1_000), (10, 2_000), (25, 5_000), (300, 5_000)])
    def test_is_what_is_left_and_a_fifth_of_the_ttl_within_1_to_5_seconds(self, ttl: int, jitter: int) -> None:
        waits = [retry_after_ms(LEFT, timedelta(seconds=ttl)) - 10_000 for _ in range(2_000)]
        assert 0 <= min(waits) < jitter / 10
        assert jitter * 0.9 < max(waits) <= jitter

    @pytest.mark.parametrize("left", [55, 58, 60, 299, 3600])
    def test_is_spread_as_far_below_a_minute_where_more_is_left(self, left: int) -> None:
        waits = [retry_after_ms(timedelta(seconds=left), timedelta(seconds=300)) for _ in range(2_000)]
        assert 55_000 <= min(waits) < 55_500
        assert 59_500 < max(waits) <= 60_000
        assert len(set(waits)) > 1_000

    def test_is_spread_below_a_cap_that_is_shorter_than_the_jitter(self, settings: Settings) -> None:
        settings.RETRY_AFTER_MAX_SECONDS = 1
        waits = [retry_after_ms(timedelta(seconds=300), timedelta(seconds=300)) for _ in range(2_000)]
        assert 500 <= min(waits) < 550
        assert 950 < max(waits) <= 1_000


class TestSafeFor:
    @pytest.mark.parametrize("left", [1, 2, 3, 999, 300_000])
    def test_is_less_than_what_is_left_and_never_negative(self, left: int) -> None:
        granted = Granted(hold=hold(LEFT), capability="A" * 43, remaining=timedelta(milliseconds=left))
        answer = answers.granted("room-0001", granted)
        assert 0 <= answer.safe_for_ms < left
        assert answer.renew_after_ms == left // 2


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_767_225_600_000, "2026-01-01T00:00:00.000Z"),
        (1_796_162_990_007, "2026-12-01T22:09:50.007Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_instants_are_exact_to_the_millisecond(at: int, text: str) -> None:
    assert instant(at) == text
