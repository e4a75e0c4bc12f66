"""History: a name's terms as their events recorded them, newest first."""

from __future__ import annotations

import pytest

from octostore.leases import engine, history, reaper
from octostore.leases.models import Ending
from octostore.leases.outcomes import Past
from tests.leases.acts import GROUP, MINUTE, NAME, SPACE, form, grant, release, renew, row, settle, unbound
from tests.leases.moving_time import age, expire
from tests.leases.outside import outside

pytestmark = pytest.mark.usefixtures("database")


def terms(name: str = NAME, *, limit: int = 200) -> list[Past]:
    return history.terms(SPACE, name, limit=limit)


class TestTerms:
    def test_of_a_name_nobody_held_are_none(self) -> None:
        assert terms("never") == []

    def test_of_a_held_name_begin_with_the_live_one(self) -> None:
        form()
        granted = grant(holder="atlas", metadata="m", group=unbound(), charged_to="ada")
        renew(granted)
        [past] = terms()
        assert past == Past(
            term=granted.hold.term,
            holder="atlas",
            metadata="m",
            group_id=GROUP,
            charged_to="ada",
            began_at=granted.hold.began_at,
            ended_at=None,
            ending=None,
            renewals=1,
            reason="",
            actor="",
        )

    def test_come_newest_first_with_their_endings(self) -> None:
        first = grant(holder="atlas")
        released = release(first)
        second = grant(holder="borea")
        renew(second)
        engine.revoke(SPACE, NAME, term=second.hold.term, reason="stuck", actor="ada")
        third = grant(holder="cirro")
        deadline = row().expires_at
        expire()
        grant(holder="deneb")
        told = [(past.holder, past.ending, past.renewals, past.reason, past.actor) for past in terms()]
        assert told == [
            ("deneb", None, 0, "", ""),
            ("cirro", Ending.EXPIRED, 0, "", ""),
            ("borea", Ending.REVOKED, 1, "stuck", "ada"),
            ("atlas", Ending.RELEASED, 0, "", ""),
        ]
        assert terms()[3].ended_at == released.hold.ended_at
        assert terms()[1].term == third.hold.term
        assert terms()[1].ended_at != deadline, "the deadline was moved, and the event tells the moved one"

    def test_tell_an_unmarked_end_at_its_deadline(self) -> None:
        grant()
        expire()
        deadline = row().expires_at
        [before] = terms()
        settle()
        [after] = terms()
        assert (before.ended_at, before.ending) == (deadline, Ending.EXPIRED)
        assert (after.ended_at, after.ending) == (deadline, Ending.EXPIRED)

    @pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, 200])
    def test_are_at_most_as_many_as_asked_for(self, limit: int) -> None:
        for _ in range(3):
            release(grant())
        last = grant()
        found = terms(limit=limit)
        assert len(found) == min(limit, 4)
        assert [past.term for past in found[:1]] == [last.hold.term][:limit]

    def test_of_other_names_and_spaces_stay_apart(self) -> None:
        grant("other")
        grant(space="elsewhere")
        assert terms() == []

    def test_go_on_over_a_new_incarnation(self) -> None:
        first = grant()
        reaper.after_restore(actor="ada")
        second = grant(holder="borea")
        newest, oldest = terms()
        assert (newest.term, newest.ending) == (second.hold.term, None)
        assert (oldest.term, oldest.ending, oldest.reason) == (first.hold.term, Ending.REVOKED, "restored")


class TestTrim:
    def test_keeps_the_last_terms(self) -> None:
        for _ in range(5):
            release(grant())
        live = grant()
        assert reaper.trim(terms_kept=3) == 11 - 6
        kept = terms()
        assert len(kept) == 3
        assert kept[0].term == live.hold.term
        assert all(past.ending is Ending.RELEASED for past in kept[1:])

    def test_drops_nothing_of_a_short_history(self) -> None:
        for _ in range(3):
            release(grant())
        assert reaper.trim(terms_kept=3) == 0
        assert len(terms()) == 3

    def test_is_done_once(self) -> None:
        for _ in range(5):
            release(grant())
        assert reaper.trim(terms_kept=1) == 8
        assert reaper.trim(terms_kept=1) == 0

    def test_counts_each_name_alone(self) -> None:
        for name in ("one", "two"):
            for _ in range(3):
                release(grant(name), name)
        assert reaper.trim(terms_kept=2) == 4
        assert len(terms("one")) == len(terms("two")) == 2

    def test_drops_older_incarnations_first(self) -> None:
        for _ in range(3):
            release(grant())
        reaper.after_restore(actor="ada")
        for _ in range(3):
            release(grant(holder="borea"))
        reaper.trim(terms_kept=2)
        assert [past.holder for past in terms()] == ["borea", "borea"]

    def test_goes_through_many_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reaper, "BATCH", 3)
        for _ in range(6):
            release(grant())
        assert reaper.trim(terms_kept=1) == 10
        assert len(terms()) == 1

    @pytest.mark.only("postgresql")
    def test_does_not_wait_for_a_locked_event(self) -> None:
        for _ in range(3):
            release(grant())
        with outside() as execute:
            execute("BEGIN", ())
            execute("SELECT 1 FROM leases_leaseevent WHERE n = 1 FOR UPDATE", ())
            assert reaper.trim(terms_kept=1) == 3
            execute("COMMIT", ())
        assert reaper.trim(terms_kept=1) == 1

    def test_leaves_counts_and_state_alone(self) -> None:
        for _ in range(3):
            release(grant())
        granted = grant()
        reaper.trim(terms_kept=1)
        assert row().events == 7
        age(MINUTE / 2)
        renew(granted)
        release(granted)
        assert row().events == 8
