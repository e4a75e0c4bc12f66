from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octostore.lib.errors import RateLimited
from octostore.live.budgets import Budget
from tests.live.clock import Clock

CLIENT = "198.51.100.7"


@pytest.fixture
def clock() -> Clock:
    return Clock()


def granted(budget: Budget, attempts: int, client: str = CLIENT) -> int:
    count = 0
    for _ in range(attempts):
        try:
            budget.spend(client)
            count += 1
        except RateLimited:
            pass
    return count


class TestABucket:
    @pytest.mark.parametrize("limit", [1, 7, 60, 600, 9_999])
    def test_gives_a_minutes_worth_at_once_and_no_more(self, clock: Clock, limit: int) -> None:
        assert granted(Budget("b", lambda: limit, clock=clock), limit + 50) == limit

    def test_is_refilled_evenly(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 600, clock=clock)
        granted(budget, 600)
        for _ in range(5):
            clock.advance(ms=100)
            assert granted(budget, 3) == 1
        clock.advance(ms=1000)
        assert granted(budget, 30) == 10

    def test_holds_no_more_than_a_minutes_worth_however_long_it_rests(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 60, clock=clock)
        granted(budget, 1)
        clock.advance(ms=3_600_000)
        assert granted(budget, 200) == 60

    def test_is_not_charged_for_what_it_refuses(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 600, clock=clock)
        granted(budget, 5_000)
        clock.advance(ms=100)
        assert granted(budget, 10) == 1

    def test_is_its_clients_alone(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 5, clock=clock)
        granted(budget, 9, "2001:db8:1::/64")
        assert granted(budget, 9, "2001:db8:2::/64") == 5

    def test_follows_a_changed_limit(self, clock: Clock) -> None:
        limit = 2
        budget = Budget("b", lambda: limit, clock=clock)
        assert granted(budget, 9) == 2
        limit = 600
        clock.advance(ms=1000)
        assert granted(budget, 99) == 10

    @given(
        st.lists(
            st.one_of(st.just("spend"), st.integers(1, 30_000), st.sampled_from([200, 1_000, 60_000, 120_000])),
            max_size=80,
        )
    )
    def test_is_the_textbooks_token_bucket(self, steps: list[str | int]) -> None:
        clock, limit = Clock(), 12
        budget = Budget("b", lambda: limit, clock=clock)
        level = Fraction(limit)
        for step in steps:
            if isinstance(step, int):
                clock.advance(ms=step)
                level = min(Fraction(limit), level + Fraction(step * limit, 60_000))
            else:
                assert granted(budget, 1) == (level >= 1)
                level -= level >= 1


class TestTheRefusal:
    def refusal(self, budget: Budget) -> RateLimited:
        with pytest.raises(RateLimited) as caught:
            budget.spend(CLIENT)
        return caught.value

    def test_names_the_instant_to_come_back(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 600, clock=clock)
        granted(budget, 600)
        clock.advance(ms=30)
        assert self.refusal(budget).retry_after_ms == 70
        clock.advance(ms=69)
        assert self.refusal(budget).retry_after_ms == 1
        clock.advance(ms=1)
        budget.spend(CLIENT)

    def test_of_a_small_budget_names_a_long_time(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 1, clock=clock)
        budget.spend(CLIENT)
        assert self.refusal(budget).retry_after_ms == 60_000

    def test_does_not_name_the_client(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 1, clock=clock)
        budget.spend(CLIENT)
        assert CLIENT not in str(self.refusal(budget))


class TestHearingFromOthers:
    def test_what_was_granted_since_telling_comes_on_top(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 6, clock=clock)
        granted(budget, 1)
        (told,) = budget.take_unshared()
        granted(budget, 2)
        budget.learn(told, 40 * 10**9)
        assert granted(budget, 9) == 0

    def test_a_bucket_is_not_filled_by_it(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 6, clock=clock)
        granted(budget, 4)
        (told,) = budget.take_unshared()
        budget.learn(told, 0)
        assert granted(budget, 9) == 2

    def test_each_request_is_told_once_and_full_buckets_need_no_word(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 6, clock=clock)
        granted(budget, 2)
        clock.advance(ms=1_000)
        assert [(told.cost_ns, told.age_ns) for told in budget.take_unshared()] == [(20 * 10**9, 10**9)]
        assert [told.cost_ns for told in budget.take_unshared()] == [0]
        clock.advance(ms=19_000)
        assert budget.take_unshared() == []


class TestThreads:
    @pytest.fixture(autouse=True)
    def _switch_often(self) -> Iterator[None]:
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        yield
        sys.setswitchinterval(before)

    def test_64_of_them_are_granted_exactly_the_budget(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 600, clock=clock)
        ready, counts = threading.Barrier(64), []

        def attempt() -> None:
            ready.wait()
            counts.append(granted(budget, 50))

        threads = [threading.Thread(target=attempt) for _ in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(counts) == 600
        assert len(counts) == 64


class TestMemory:
    def test_forgets_who_was_away_longest_when_it_is_full(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 2, clock=clock, clients_max=3)
        for client in ("a", "b", "c", "a"):
            budget.spend(client)
        budget.spend("d")
        assert len(budget) == 3
        assert granted(budget, 9, "a") == 0, "the most recent one was kept"
        assert granted(budget, 9, "b") == 2, "the one away longest was not"

    def test_forgets_full_buckets_as_others_come(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 600, clock=clock)
        for client in range(1_000):
            budget.spend(f"early {client}")
        clock.advance(ms=60_100)
        for client in range(500):
            budget.spend(f"late {client}")
        assert len(budget) == 500

    def test_stays_bounded_under_a_flood_of_clients(self, clock: Clock) -> None:
        budget = Budget("b", lambda: 600, clock=clock, clients_max=100)
        for client in range(5_000):
            budget.spend(str(client))
        assert len(budget) == 100
