"""How steady a name is, from its past terms."""

from __future__ import annotations

import pytest

from octostore.leases.models import Ending
from octostore.leases.outcomes import Past
from octostore.leases.steadiness import DAY_MS, HOUR_MS, Steadiness, is_flapping, steadiness

NOW = 1_800_000_000_000
MINUTE = 60_000


def term(began: int, ended: int | None, holder: str = "atlas") -> Past:
    """One term; minutes ago."""
    return Past(
        term=NOW - began,
        holder=holder,
        group_id=None,
        charged_to="",
        metadata=None,
        began_at=NOW - began * MINUTE,
        ended_at=None if ended is None else NOW - ended * MINUTE,
        ending=None if ended is None else Ending.EXPIRED,
        renewals=0,
        reason="",
        actor="",
    )


def of(*past: Past, kept: int = 200) -> Steadiness:
    return steadiness(past, NOW, kept=kept)


class TestFlapping:
    @pytest.mark.parametrize(
        ("minutes_ago", "flaps"),
        [
            ([], False),
            ([1, 2, 3], False),
            ([1, 2, 3, 4], True),
            ([1, 2, 3, 6], False),
            # Once it flaps, two in the latest while keep it so, one does not.
            ([1, 3, 5, 6, 7, 8], True),
            ([4, 6, 7, 8, 9], False),
            # A while without two ends it, whatever came before.
            ([1, 2, 30, 31, 32, 33], False),
            ([5, 6, 7, 8], False),
        ],
    )
    def test_begins_with_four_in_five_minutes_and_ends_with_fewer_than_two(
        self, minutes_ago: list[int], flaps: bool
    ) -> None:
        assert is_flapping([NOW - one * MINUTE for one in minutes_ago], NOW) is flaps

    def test_says_by_whom_and_how_long(self) -> None:
        told = of(term(1, None, "b"), term(2, 1, "a"), term(3, 2, "b"), term(4, 3, "a"))
        assert told.is_flapping
        assert (told.latest_terms, told.latest_holders, told.latest_longest_ms) == (4, 2, MINUTE)


class TestFigures:
    def test_name_nobody_held_has_none(self) -> None:
        told = of()
        assert (told.terms_in_hour, told.terms_in_day, told.median_ms, told.vacant_share) == (0, 0, None, None)

    def test_gaps_are_between_terms_and_after_the_last_one(self) -> None:
        told = of(term(30, 10), term(60, 40))
        assert told.longest_gap_ms == 10 * MINUTE
        assert told.vacant_share == pytest.approx(20 / 60)
        assert told.median_ms == 20 * MINUTE

    def test_held_without_a_gap_is_never_vacant(self) -> None:
        told = of(term(30, None), term(60, 30))
        assert (told.vacant_share, told.longest_gap_ms) == (0, 0)

    def test_day_is_cut_at_its_beginning(self) -> None:
        day = DAY_MS // MINUTE
        told = of(term(day // 2, None), term(day * 2, day - 60), term(day * 4, day * 3))
        assert told.terms_in_day == 1
        assert told.vacant_share == pytest.approx((day / 2 - 60) / day, abs=0.01)

    def test_hour_and_day_count_what_began_in_them(self) -> None:
        told = of(term(10, None), term(59, 10), term(61, 59), term(25 * HOUR_MS // MINUTE, 61))
        assert (told.terms_in_hour, told.terms_in_day) == (2, 3)

    def test_more_than_is_kept_is_said(self) -> None:
        many = [term(minute + 1, minute) for minute in range(20)]
        assert of(*many, kept=20).is_cut
        assert not of(*many, kept=200).is_cut
