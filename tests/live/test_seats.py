"""Seats are counted exactly, for each client and in all."""

from __future__ import annotations

import threading

import pytest

from octostore.lib.errors import RateLimited
from octostore.live.seats import Seats


def seats(*, in_all: int = 100, per_client: int = 100) -> Seats:
    return Seats(in_all=lambda: in_all, per_client=lambda: per_client)


def test_client_has_no_more_than_its_share() -> None:
    few = seats(per_client=2)
    few.take("a")
    give_back = few.take("a")
    with pytest.raises(RateLimited) as refused:
        few.take("a")
    assert refused.value.retry_after_ms
    few.take("b")
    give_back()
    few.take("a")


def test_all_together_have_no_more_than_there_are() -> None:
    few = seats(in_all=2)
    few.take("a")
    few.take("b")
    with pytest.raises(RateLimited):
        few.take("c")
    assert len(few) == 2


def test_seat_is_given_back_once_however_often_it_is_said() -> None:
    few = seats(per_client=2)
    give_back = few.take("a")
    few.take("a")
    give_back()
    give_back()
    assert len(few) == 1


def test_clients_that_left_are_not_remembered() -> None:
    many = seats()
    for number in range(50):
        many.take(f"client-{number}")()
    assert not many._taken


def test_refusal_takes_nothing() -> None:
    few = seats(per_client=0)
    with pytest.raises(RateLimited):
        few.take("a")
    assert (len(few), few._taken) == (0, {})


def test_many_threads_share_exactly_what_there_is() -> None:
    few = seats(per_client=50)
    taken: list[object] = []
    barrier = threading.Barrier(8)

    def grab() -> None:
        barrier.wait(10)
        for _ in range(50):
            try:
                taken.append(few.take("a"))
            except RateLimited:
                return

    threads = [threading.Thread(target=grab) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(taken) == len(few) == 50
