"""What judges a group on PostgreSQL, alone or beside a lease.

Whoever judges a group locks its row first, then leases' rows in key order, then reads the clock: one
order of locks for acquirers, keepalives, ends and sweeps (guarantees, G4). A plain sub-query on the
group gave two holders.
"""

from __future__ import annotations

from octostore.leases.postgresql.statements import (
    CLOCK,
    CLOCK_AFTER_ALL,
    LOCK,
    NOW,
    OF_LEASE,
    OWE_RENEWAL,
    PROVEN,
    ended,
    take,
)
from octostore.leases.rows import GROUP_COLUMNS

_OF_GROUP = ", ".join(f"lease_group.{column}" for column in GROUP_COLUMNS.split(", "))
_THE_GROUP = "space = %(space)s AND key = %(key)s"

# Keeps the group from ending or moving until the transaction is over: in `g`, before the lease in `l`.
_SHARED = """g AS MATERIALIZED (
    SELECT expires_at, ended_at FROM leases_leasegroup WHERE space = %(space)s AND key = {key} FOR SHARE)"""
_ITS_GROUP = """(SELECT group_id FROM leases_lease
        WHERE space = %(space)s AND name = %(name)s AND capability_digest = %(capability_digest)s AND bound)"""


def _locked(*, columns: str, key: str = "%(group_id)s", also: str = "") -> str:
    lease = LOCK.format(columns=columns, also=f"{also} AND EXISTS (SELECT 1 FROM g)")
    return f"{_SHARED.format(key=key)},\n{lease}"


# Grant to a group as to anybody, unless the group has ended; a bound term not beyond the group's deadline.
def _take(*, counted: bool) -> str:
    return take(
        lock=_locked(columns="*"),
        expires_at="CASE WHEN %(bound)s THEN least(t.now + %(first_ms)s, g.expires_at) ELSE t.now + %(first_ms)s END",
        also=" JOIN g ON g.ended_at IS NULL AND g.expires_at > t.now",
        counted=counted,
    )


TAKE = _take(counted=False)
TAKE_COUNTED = _take(counted=True)

# Move the deadline of a live bound term, for the right capability: never beyond its group's. The group is not
# judged: a term that is bound to a dead one is over by its own row.
RENEW_BOUND = f"""WITH {_locked(columns="id, ttl_ms, ended_at, expires_at", key=_ITS_GROUP, also=PROVEN)},
{CLOCK.format(after="l")},
done AS (
    UPDATE leases_lease lease SET
        own_expires_at = t.now + coalesce(%(ttl_ms)s, l.ttl_ms), ttl_ms = coalesce(%(ttl_ms)s, l.ttl_ms),
        expires_at = least(t.now + coalesce(%(ttl_ms)s, l.ttl_ms), g.expires_at), renewals = renewals + 1
    FROM l, t, g
    WHERE lease.id = l.id AND lease.capability_digest = %(capability_digest)s
        AND l.ended_at IS NULL AND l.expires_at > t.now
    RETURNING {OF_LEASE}, t.now),
{OWE_RENEWAL}
SELECT * FROM done"""

# A group acquires what it holds: the deadline only grows, all else stays.
EXTEND = f"""WITH {_locked(columns="id, bound, own_expires_at, ended_at, expires_at", also=PROVEN)},
{CLOCK.format(after="l")}
UPDATE leases_lease lease SET
    own_expires_at = greatest(l.own_expires_at, t.now + %(ttl_ms)s),
    expires_at = CASE WHEN l.bound THEN least(greatest(l.own_expires_at, t.now + %(ttl_ms)s), g.expires_at)
        ELSE greatest(l.expires_at, t.now + %(ttl_ms)s) END
FROM l, t, g
WHERE lease.id = l.id AND lease.group_id = %(group_id)s AND lease.capability_digest = %(capability_digest)s
    AND l.ended_at IS NULL AND l.expires_at > t.now AND g.ended_at IS NULL AND g.expires_at > t.now
RETURNING {OF_LEASE}, t.now"""

# A new group; a key that is there already is the rerun's own.
FORM = f"""WITH t AS MATERIALIZED (SELECT {NOW} AS now)
INSERT INTO leases_leasegroup (space, key, charged_to, ttl_ms, began_at, expires_at, ending)
SELECT %(space)s, %(key)s, %(charged_to)s, %(ttl_ms)s, t.now, t.now + %(ttl_ms)s, '' FROM t
ON CONFLICT (key) DO UPDATE SET key = excluded.key WHERE leases_leasegroup.space = excluded.space
RETURNING {GROUP_COLUMNS}, {NOW}"""

READ = f"SELECT {GROUP_COLUMNS}, {NOW} FROM leases_leasegroup WHERE {_THE_GROUP}"

# KEEP and DISSOLVE are second statements of a transaction that this one begins: a lease that was acquired while
# it waited is in their snapshot, not in its own.
LOCK_GROUP = f"SELECT id FROM leases_leasegroup WHERE {_THE_GROUP} FOR UPDATE"

_BOUND = f"""WITH l AS MATERIALIZED (
    SELECT id, own_expires_at, expires_at FROM leases_lease
    WHERE group_id = %(key)s AND space = %(space)s AND bound AND ended_at IS NULL ORDER BY id FOR UPDATE),
{CLOCK_AFTER_ALL}"""

# Keep a live group alive, and with it the live leases bound to it.
KEEP = f"""{_BOUND},
kept AS (
    UPDATE leases_leasegroup lease_group SET expires_at = t.now + ttl_ms
    FROM t WHERE {_THE_GROUP} AND ended_at IS NULL AND expires_at > t.now
    RETURNING {_OF_GROUP}, t.now),
extended AS (
    UPDATE leases_lease lease SET expires_at = least(l.own_expires_at, kept.expires_at)
    FROM l, kept WHERE lease.id = l.id AND l.expires_at > kept.now)
SELECT * FROM kept"""

# End a live group by its word, and with it the live leases bound to it, which are told by name.
DISSOLVE = f"""{_BOUND},
dissolved AS (
    UPDATE leases_leasegroup lease_group SET ended_at = t.now, ending = 'released'
    FROM t WHERE {_THE_GROUP} AND ended_at IS NULL AND expires_at > t.now
    RETURNING {_OF_GROUP}, t.now),
done AS (
    UPDATE leases_lease lease SET ended_at = dissolved.now, ending = 'released', open_in = NULL, events = events + 1,
        available_at = 0
    FROM l, dissolved WHERE lease.id = l.id AND l.expires_at > dissolved.now
    RETURNING {OF_LEASE}, lease.name),
{ended(reason="%(reason)s", many=True)}
SELECT dissolved.*, ARRAY(SELECT name FROM done) FROM dissolved"""

_MARK = """done AS (
    UPDATE leases_leasegroup lease_group SET ended_at = l.expires_at, ending = 'expired'
    FROM l, t WHERE lease_group.id = l.id AND l.ended_at IS NULL AND l.expires_at <= t.now RETURNING lease_group.id)
SELECT count(*) FROM done"""

# Mark the end of an overdue group, at its deadline; the leases bound to it end by themselves.
SETTLE = f"""WITH l AS MATERIALIZED (
    SELECT id, ended_at, expires_at FROM leases_leasegroup WHERE {_THE_GROUP} FOR UPDATE),
{CLOCK.format(after="l")},
{_MARK}"""

# The same for a batch.
SWEEP = f"""WITH seen AS MATERIALIZED (SELECT {NOW} AS now),
l AS MATERIALIZED (
    SELECT id, ended_at, expires_at FROM leases_leasegroup
    WHERE ended_at IS NULL AND expires_at <= (SELECT now FROM seen)
    ORDER BY id LIMIT %(batch)s FOR UPDATE SKIP LOCKED),
{CLOCK_AFTER_ALL},
{_MARK}"""

# Groups that ended long ago.
FORGET = f"""WITH seen AS MATERIALIZED (SELECT {NOW} AS now),
l AS MATERIALIZED (
    SELECT id FROM leases_leasegroup WHERE ended_at <= (SELECT now FROM seen) - %(idle_ms)s
    ORDER BY id LIMIT %(batch)s FOR UPDATE SKIP LOCKED),
forgotten AS (DELETE FROM leases_leasegroup lease_group USING l WHERE lease_group.id = l.id RETURNING lease_group.id)
SELECT count(*) FROM forgotten"""

# After a restore: every live group ends.
RESTORE = f"""WITH l AS MATERIALIZED (
    SELECT id FROM leases_leasegroup WHERE ended_at IS NULL ORDER BY id FOR UPDATE),
{CLOCK_AFTER_ALL}
UPDATE leases_leasegroup lease_group SET ended_at = t.now, ending = 'revoked' FROM l, t WHERE lease_group.id = l.id"""
