"""GET /webhooks: all of a team's, the oldest first."""

from __future__ import annotations

from typing import ClassVar

from tests.webhooks.cast import Keeper
from tests.webhooks.ladder import Ladder


def listed(keeper: Keeper) -> list[str]:
    answer = keeper.get("/webhooks")
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json()]


class TestListing:
    def test_nothing(self, keeper: Keeper) -> None:
        assert keeper.get("/webhooks").json() == []

    def test_tells_each_as_its_own_address_does(self, keeper: Keeper, admin: Keeper) -> None:
        made = [keeper.register(lock_pattern=pattern)["id"] for pattern in ("b", "a")]
        keeper.change(made[0], active=False)
        assert keeper.get("/webhooks").json() == [keeper.webhook(one) for one in made]
        assert listed(admin) == made

    def test_shows_no_secret(self, keeper: Keeper) -> None:
        keeper.rotate(keeper.register()["id"])
        text = keeper.get("/webhooks").text
        assert '"secret":"****"' in text
        assert "whsec_" not in text

    def test_leaves_out_what_was_deleted_and_other_teams(self, keeper: Keeper, outsider: Keeper) -> None:
        gone, stays = keeper.register()["id"], keeper.register()["id"]
        theirs = outsider.register()["id"]
        keeper.remove(gone)
        assert (listed(keeper), listed(outsider)) == ([stays], [theirs])

    def test_for_a_key_with_a_prefix_those_within(self, keeper: Keeper, within: Keeper) -> None:
        for pattern in ("*", "repo*", "repo", "other/*"):
            keeper.register(lock_pattern=pattern)
        inside = [keeper.register(lock_pattern=pattern)["id"] for pattern in ("repo/*", "repo/a")]
        assert listed(within) == inside

    def test_all_ten_come_in_one_answer(self, keeper: Keeper) -> None:
        made = [keeper.register()["id"] for _ in range(10)]
        assert listed(keeper) == made


class TestInput(Ladder):
    method: ClassVar[str] = "GET"
    path: ClassVar[str] = "/webhooks"
