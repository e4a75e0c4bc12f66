"""The tests of groups, acls and quotas have teeth: with a mistake planted in a statement they fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import pytest

from octostore.leases.postgresql import group_statements, statements
from octostore.leases.sqlite import statements as sqlite
from tests.leases.test_acl import TestAnAcl as Acls
from tests.leases.test_bound import TestADissolvedGroup as Dissolved
from tests.leases.test_bound import TestTheDeadline as Deadlines
from tests.leases.test_group_blockers import TestAKeepaliveThatIsUnderWay as UnderWay
from tests.leases.test_group_blockers import TestHeldPastTheGroupsDeadline as Blocked
from tests.leases.test_group_blockers import TestWhatAKeepaliveWaitedFor as Waited
from tests.leases.test_quota import TestAtOnce as Quotas

pytestmark = pytest.mark.usefixtures("database")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Every match of `pattern` in the statement becomes `mistake`, and `proof` finds it."""

    module: ModuleType
    statement: str
    pattern: str
    mistake: str = ""
    proof: Callable[[], None]


POSTGRESQL = {
    "a keepalive that sees no lease acquired while it waited": Fault(
        module=group_statements,
        statement="LOCK_GROUP",
        pattern=" FOR UPDATE",
        proof=lambda: Waited().test_moves_with_it(),
    ),
    "a frozen clock in keepalives": Fault(
        module=group_statements,
        statement="KEEP",
        pattern=r"clock_timestamp\(\)",
        mistake="now()",
        proof=lambda: Blocked().test_a_keepalive_is_too_late("lease", "lock-only"),
    ),
    "a frozen clock in takes of groups": Fault(
        module=group_statements,
        statement="TAKE",
        pattern=r"clock_timestamp\(\)",
        mistake="now()",
        proof=lambda: Blocked().test_the_group_gets_nothing_new("group", "lock-only"),
    ),
    "a group that is not judged when it acquires again": Fault(
        module=group_statements,
        statement="EXTEND",
        pattern=r"AND g\.ended_at IS NULL AND g\.expires_at > t\.now",
        proof=lambda: Blocked().test_the_group_gets_no_more_of_what_lives_on("group", "rolled-back"),
    ),
    "a renewal that does not lock the group": Fault(
        module=group_statements,
        statement="RENEW_BOUND",
        pattern=" FOR SHARE",
        proof=lambda: UnderWay().test_is_waited_for_by_the_holder(),
    ),
    "a quota counted by the statement's own snapshot": Fault(
        module=statements,
        statement="TAKE_COUNTED",
        pattern=r"leases_open\(%\(space\)s::text\)",
        mistake="(SELECT count(*) FROM leases_lease WHERE open_in = %(space)s)",
        proof=lambda: Quotas().test_two_hundred_acquires_end_exactly_at_the_quota(),
    ),
    "an acl judged before the lock alone": Fault(
        module=statements,
        statement="TAKE",
        pattern=r"AND \(l\.acl IS NULL OR .*?(?=\s+RETURNING)",
        proof=lambda: Acls().test_that_comes_while_one_waits_refuses_it(),
    ),
}
SQLITE = {
    "a keepalive that forgets a lease's own deadline": Fault(
        module=sqlite,
        statement="EXTEND_BOUND",
        pattern=r"min\(own_expires_at, (%\(until\)s)\)",
        mistake=r"\1",
        proof=lambda: Deadlines().test_moves_with_a_keepalive_no_further_than_its_own(),
    ),
    "an end that forgets what is bound": Fault(
        module=sqlite,
        statement="END_BOUND",
        pattern="AND bound",
        mistake="AND NOT bound",
        proof=lambda: Dissolved().test_releases_what_is_bound_to_it_in_the_same_instant(),
    ),
    "a group that is not judged when it acquires": Fault(
        module=sqlite,
        statement="TAKE",
        pattern=r"AND \(%\(group_id\)s IS NULL OR \(SELECT .*?\) > %\(now\)s\)",
        proof=lambda: Blocked().test_the_group_gets_nothing_new("group", "lock-only"),
    ),
    "an acl judged before the lock alone": Fault(
        module=sqlite,
        statement="TAKE",
        pattern=r"AND \(acl IS NULL OR .*?(?=\s+AND \(%\(quota\))",
        proof=lambda: Acls().test_that_comes_while_one_waits_refuses_it(),
    ),
}


def is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    planted, edits = re.subn(fault.pattern, fault.mistake, getattr(fault.module, fault.statement), flags=re.DOTALL)
    assert edits, f"{fault.pattern!r} is not in {fault.statement}"
    monkeypatch.setattr(fault.module, fault.statement, planted)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        fault.proof()


@pytest.mark.only("postgresql")
@pytest.mark.parametrize("name", POSTGRESQL)
def test_a_fault_on_postgresql_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    is_found(POSTGRESQL[name], monkeypatch)


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("name", SQLITE)
def test_a_fault_on_sqlite_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    is_found(SQLITE[name], monkeypatch)
