"""The atomic transitions on PostgreSQL: one statement each, its contract above it.

Every statement that judges time takes the row's lock first and reads the clock after it, in the
CTEs `l` and `t`, and only then decides (guarantees, G4); a plain `UPDATE ... WHERE expires_at >
clock_timestamp()` that waited behind a lock-only blocker renews a dead lease. `MATERIALIZED` keeps
that order. Event rows are written by the same statement. All run in autocommit, READ COMMITTED.
"""

from __future__ import annotations

from octostore.leases.clock import EPOCH
from octostore.leases.rows import ATTEMPT_MEMORY_MS, COLUMNS, FLOOR_MARGIN_MS, GROUP_COLUMNS

NOW = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_OF_LEASE = ", ".join(f"lease.{column}" for column in COLUMNS.split(", "))

_LOCK = """l AS MATERIALIZED (
    SELECT {columns} FROM leases_lease WHERE space = %(space)s AND name = %(name)s {also} FOR UPDATE)"""
_CLOCK = f"t AS MATERIALIZED (SELECT {NOW} AS now FROM l)"

_EVENT = """INSERT INTO leases_leaseevent
    (lease_id, incarnation, n, kind, at, term, holder, group_id, charged_to, metadata, expires_at, renewals,
        reason, actor)"""
# A term that ends: the row as the update left it tells kind and instant.
_ENDED = f"""ended AS ({_EVENT}
    SELECT id, incarnation, events, ending, ended_at, term, holder, group_id, charged_to, metadata, expires_at,
        renewals, {{reason}}, {{actor}}
    FROM done WHERE {{which}})"""


def _locked(*, columns: str, also: str = "") -> str:
    return "WITH " + _LOCK.format(columns=columns, also=also) + ",\n" + _CLOCK


# The name's row and the clock, without a lock: what answers a follower, a reader and a retry.
READ = f"SELECT {COLUMNS}, {NOW} FROM leases_lease WHERE space = %(space)s AND name = %(name)s"

# A vacant row for a new name. It never grants: its clock was read before its wait.
FOUND = f"""INSERT INTO leases_lease (space, name, term, holder, charged_to, ttl_ms, delay_ms, began_at, expires_at,
    renewals, ended_at, ending, available_at, incarnation, events, key_id, bound, own_expires_at)
VALUES (%(space)s, %(name)s, 0, '', '', 0, 0, 0, 0, 0, {NOW}, '', 0, 0, 0, '', false, 0)
ON CONFLICT (space, name) DO NOTHING"""

# Grant a vacant name: no row when it is held, delayed, absent, or when the attempt or the nonce has had
# its term. A clock behind a marked end delays nobody.
# Writes `expired` for a term nobody had marked, then `acquired`. The acl is judged here; so is a quota,
# which is strict only behind QUOTA_LOCK, for a count must see what the lock waited for.
_TAKE = f"""{{locked}},
granted AS (
    UPDATE leases_lease lease SET
        term = greatest(l.term + 1, t.now - {EPOCH}),
        incarnation = CASE l.incarnation WHEN 0 THEN greatest(l.term + 1, t.now - {EPOCH}) ELSE l.incarnation END,
        events = l.events + CASE WHEN l.ended_at IS NULL THEN 2 ELSE 1 END,
        holder = %(holder)s, metadata = %(metadata)s, group_id = %(group_id)s, charged_to = %(charged_to)s,
        ttl_ms = %(ttl_ms)s, delay_ms = %(delay_ms)s, began_at = t.now, expires_at = {{expires_at}},
        bound = %(bound)s, own_expires_at = t.now + %(first_ms)s, acl = coalesce(l.acl, %(acl)s::text),
        renewals = 0, ended_at = NULL, ending = '', available_at = 0,
        nonce = %(nonce)s, key_id = %(key_id)s, capability_digest = %(capability_digest)s,
        attempt_digest = %(attempt_digest)s, content_digest = %(content_digest)s
    FROM l, t {{groups}}
    WHERE lease.id = l.id
        AND (l.ended_at IS NOT NULL OR l.expires_at <= t.now)
        AND CASE WHEN l.ended_at IS NULL THEN l.expires_at + l.delay_ms ELSE l.available_at END
            <= greatest(t.now, l.ended_at)
        AND l.nonce IS DISTINCT FROM %(nonce)s
        AND (l.attempt_digest = %(attempt_digest)s
            AND coalesce(l.ended_at, l.expires_at) > t.now - {ATTEMPT_MEMORY_MS}) IS NOT TRUE
        AND (l.acl IS NULL OR strpos(l.acl, %(principal)s::text) > 0 OR strpos(l.acl, %(principal_name)s::text) > 0)
        AND (%(acl)s::text IS NULL OR l.acl IS NULL OR l.acl = %(acl)s::text)
        AND (%(quota)s::bigint IS NULL OR %(quota)s::bigint > (SELECT count(*) FROM leases_lease other
            WHERE other.space = %(space)s AND other.ended_at IS NULL AND other.expires_at > t.now))
    RETURNING {_OF_LEASE}, t.now),
ended AS ({_EVENT}
    SELECT l.id, l.incarnation, l.events + 1, 'expired', l.expires_at, l.term, l.holder, l.group_id, l.charged_to,
        l.metadata, l.expires_at, l.renewals, '', ''
    FROM l, granted WHERE l.ended_at IS NULL),
acquired AS ({_EVENT}
    SELECT id, incarnation, events, 'acquired', began_at, term, holder, group_id, charged_to, metadata, expires_at,
        0, '', ''
    FROM granted)
SELECT * FROM granted"""
TAKE = _TAKE.format(locked=_locked(columns="*"), expires_at="t.now + %(first_ms)s", groups="")

# A group that lives, its row kept from ending or moving until the transaction is over, before the lease is.
_GROUP = """g AS MATERIALIZED (
    SELECT expires_at, ended_at FROM leases_leasegroup
    WHERE space = %(space)s AND key = {key} FOR SHARE)"""
_WITHIN = "AND EXISTS (SELECT 1 FROM g)"
_ITS_GROUP = """(SELECT group_id FROM leases_lease
        WHERE space = %(space)s AND name = %(name)s AND capability_digest = %(capability_digest)s AND bound)"""


def _locked_in_group(*, columns: str, key: str = "%(group_id)s", also: str = "") -> str:
    lock = _LOCK.format(columns=columns, also=f"{also} {_WITHIN}")
    return f"WITH {_GROUP.format(key=key)},\n{lock},\n{_CLOCK}"


# The same for a group; no row either when it has ended.
TAKE_IN_GROUP = _TAKE.format(
    locked=_locked_in_group(columns="*"),
    expires_at="CASE WHEN %(bound)s THEN least(t.now + %(first_ms)s, g.expires_at) ELSE t.now + %(first_ms)s END",
    groups="JOIN g ON g.ended_at IS NULL AND g.expires_at > t.now",
)

# Taken by whoever is about to count live names of a space and add one.
QUOTA_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%(space)s, 0))"

_PROVEN = "AND capability_digest = %(capability_digest)s"

# Move the deadline of a live term that is not bound, for the right capability alone; a wrong one takes no lock.
RENEW = f"""{_locked(columns="id, ttl_ms, ended_at, expires_at", also=f"{_PROVEN} AND NOT bound")}
UPDATE leases_lease lease SET
    expires_at = t.now + coalesce(%(ttl_ms)s, l.ttl_ms), ttl_ms = coalesce(%(ttl_ms)s, l.ttl_ms),
    renewals = renewals + 1
FROM l, t
WHERE lease.id = l.id AND lease.capability_digest = %(capability_digest)s
    AND l.ended_at IS NULL AND l.expires_at > t.now
RETURNING {_OF_LEASE}, t.now"""

# The same for a bound term: never beyond its group's deadline.
RENEW_BOUND = f"""{_locked_in_group(columns="id, ttl_ms, ended_at, expires_at", key=_ITS_GROUP, also=_PROVEN)}
UPDATE leases_lease lease SET
    own_expires_at = t.now + coalesce(%(ttl_ms)s, l.ttl_ms), ttl_ms = coalesce(%(ttl_ms)s, l.ttl_ms),
    expires_at = least(t.now + coalesce(%(ttl_ms)s, l.ttl_ms), g.expires_at), renewals = renewals + 1
FROM l, t, g
WHERE lease.id = l.id AND lease.capability_digest = %(capability_digest)s
    AND l.ended_at IS NULL AND l.expires_at > t.now
RETURNING {_OF_LEASE}, t.now"""

# A group acquires what it holds: the deadline only grows, all else stays.
EXTEND = f"""{_locked_in_group(columns="id, own_expires_at, ended_at, expires_at", also=_PROVEN)}
UPDATE leases_lease lease SET
    own_expires_at = greatest(l.own_expires_at, t.now + %(ttl_ms)s),
    expires_at = CASE WHEN lease.bound THEN least(greatest(l.own_expires_at, t.now + %(ttl_ms)s), g.expires_at)
        ELSE greatest(l.expires_at, t.now + %(ttl_ms)s) END
FROM l, t, g
WHERE lease.id = l.id AND lease.group_id = %(group_id)s AND lease.capability_digest = %(capability_digest)s
    AND l.ended_at IS NULL AND l.expires_at > t.now AND g.ended_at IS NULL AND g.expires_at > t.now
RETURNING {_OF_LEASE}, t.now"""

# End a live term by its capability; a delay is asked for, or there is none.
RELEASE = f"""{_locked(columns="id, ended_at, expires_at", also="AND capability_digest = %(capability_digest)s")},
done AS (
    UPDATE leases_lease lease SET ended_at = t.now, ending = 'released', events = events + 1,
        available_at = CASE WHEN %(delayed)s THEN t.now + delay_ms ELSE 0 END
    FROM l, t
    WHERE lease.id = l.id AND lease.capability_digest = %(capability_digest)s
        AND l.ended_at IS NULL AND l.expires_at > t.now
    RETURNING {_OF_LEASE}, t.now),
{_ENDED.format(reason="''", actor="''", which="true")}
SELECT * FROM done"""

# End exactly one live term by its number, on an operator's word.
REVOKE = f"""{_locked(columns="id, ended_at, expires_at", also="AND term = %(term)s")},
done AS (
    UPDATE leases_lease lease SET ended_at = t.now, ending = 'revoked', events = events + 1,
        available_at = t.now + %(delay_ms)s
    FROM l, t
    WHERE lease.id = l.id AND lease.term = %(term)s AND l.ended_at IS NULL AND l.expires_at > t.now
    RETURNING {_OF_LEASE}, t.now),
{_ENDED.format(reason="%(reason)s", actor="%(actor)s", which="true")}
SELECT * FROM done"""

_MARK = f"""done AS (
    UPDATE leases_lease lease SET ended_at = lease.expires_at, ending = 'expired', events = events + 1,
        available_at = lease.expires_at + delay_ms
    FROM l, t
    WHERE lease.id = l.id AND l.ended_at IS NULL AND l.expires_at <= t.now
    RETURNING {_OF_LEASE}, t.now),
{_ENDED.format(reason="''", actor="''", which="true")}"""

# Mark the end of one name's overdue term, at its deadline.
SETTLE = f"""{_locked(columns="id, ended_at, expires_at")},
{_MARK}
SELECT * FROM done"""

# The same for a batch, rows locked in key order and none waited for. The sequential scan asks the
# clock once; each row is judged again by the clock read after all the locks.
SWEEP = f"""WITH seen AS MATERIALIZED (SELECT {NOW} AS now),
l AS MATERIALIZED (
    SELECT id, ended_at, expires_at FROM leases_lease
    WHERE ended_at IS NULL AND expires_at <= (SELECT now FROM seen)
    ORDER BY id LIMIT %(batch)s FOR UPDATE SKIP LOCKED),
t AS MATERIALIZED (SELECT {NOW} AS now FROM (SELECT count(*) FROM l) AS locked),
{_MARK}
SELECT count(*) FROM done"""

# Names, in spaces that begin with `space`, whose last term ended long ago and whose number the floor has
# passed by a day: forgetting them cannot bring an old term back (G2). An acl is no memory of terms: it stays.
FORGET = f"""WITH seen AS MATERIALIZED (SELECT {NOW} AS now),
l AS MATERIALIZED (
    SELECT id FROM leases_lease
    WHERE starts_with(space, %(space)s) AND acl IS NULL AND ended_at <= (SELECT now FROM seen) - %(idle_ms)s
        AND term <= (SELECT now FROM seen) - {EPOCH + FLOOR_MARGIN_MS}
    ORDER BY id LIMIT %(batch)s FOR UPDATE SKIP LOCKED),
events AS (DELETE FROM leases_leaseevent event USING l WHERE event.lease_id = l.id),
forgotten AS (DELETE FROM leases_lease lease USING l WHERE lease.id = l.id RETURNING lease.id)
SELECT count(*) FROM forgotten"""

# Events older than the `kept` newest of their name.
TRIM = """WITH l AS MATERIALIZED (
    SELECT event.id FROM leases_leaseevent event JOIN leases_lease lease ON lease.id = event.lease_id
    WHERE lease.events > %(kept)s
        AND (event.incarnation < lease.incarnation OR event.n <= lease.events - %(kept)s)
    ORDER BY event.id LIMIT %(batch)s FOR UPDATE OF event SKIP LOCKED)
DELETE FROM leases_leaseevent event USING l WHERE event.id = l.id"""

# After a restore: every live term ends, and every name that was ever held starts a new incarnation.
RESTORE = f"""WITH l AS MATERIALIZED (
    SELECT id, ended_at, incarnation, term FROM leases_lease WHERE term > 0 ORDER BY id FOR UPDATE),
t AS MATERIALIZED (SELECT {NOW} AS now FROM (SELECT count(*) FROM l) AS locked),
done AS (
    UPDATE leases_lease lease SET
        incarnation = greatest(l.incarnation + 1, l.term + 1, t.now - {EPOCH}),
        events = CASE WHEN l.ended_at IS NULL THEN 1 ELSE 0 END,
        ended_at = coalesce(l.ended_at, t.now),
        ending = CASE WHEN l.ended_at IS NULL THEN 'revoked' ELSE ending END
    FROM l, t WHERE lease.id = l.id
    RETURNING {_OF_LEASE}, t.now),
{_ENDED.format(reason="%(reason)s", actor="%(actor)s", which="events = 1")}
SELECT count(*) FROM done WHERE events = 1"""

# How far each of many names has come; the deadline only while the term lives.
POSITIONS = f"""SELECT name, incarnation, events, CASE WHEN ended_at IS NULL AND expires_at > {NOW} THEN expires_at END
FROM leases_lease WHERE space = %(space)s AND name = ANY(%(names)s)"""

# How many terms of a space are live, for each whom they count against.
COUNT = f"""WITH seen AS MATERIALIZED (SELECT {NOW} AS now)
SELECT charged_to, count(*) FROM leases_lease
WHERE space = %(space)s AND ended_at IS NULL AND expires_at > (SELECT now FROM seen) GROUP BY charged_to"""

# Give or take a name's acl, by the capability of its live term or on an admin's word.
SET_ACL = f"""{_locked(columns="id, ended_at, expires_at")}
UPDATE leases_lease lease SET acl = %(acl)s::text
FROM l, t
WHERE lease.id = l.id AND (%(capability_digest)s::bytea IS NULL
    OR (lease.capability_digest = %(capability_digest)s AND l.ended_at IS NULL AND l.expires_at > t.now))
RETURNING {_OF_LEASE}, t.now"""

_OF_GROUP = ", ".join(f"lease_group.{column}" for column in GROUP_COLUMNS.split(", "))
_THE_GROUP = "space = %(space)s AND key = %(key)s"

# A new group.
FORM = f"""WITH t AS MATERIALIZED (SELECT {NOW} AS now)
INSERT INTO leases_leasegroup (space, key, charged_to, ttl_ms, began_at, expires_at, ending)
SELECT %(space)s, %(key)s, %(charged_to)s, %(ttl_ms)s, t.now, t.now + %(ttl_ms)s, '' FROM t
RETURNING {GROUP_COLUMNS}, began_at"""

READ_GROUP = f"SELECT {GROUP_COLUMNS}, {NOW} FROM leases_leasegroup WHERE {_THE_GROUP}"

# Two statements in one transaction: the second one's snapshot must hold what the lock waited for.
LOCK_GROUP = f"SELECT id FROM leases_leasegroup WHERE {_THE_GROUP} FOR UPDATE"

_BOUND = f"""WITH l AS MATERIALIZED (
    SELECT id, own_expires_at, ended_at, expires_at FROM leases_lease
    WHERE group_id = %(key)s AND bound AND ended_at IS NULL ORDER BY id FOR UPDATE),
t AS MATERIALIZED (SELECT {NOW} AS now FROM (SELECT count(*) FROM l) AS locked)"""

# Keep a live group alive, and with it the leases bound to it; the clock is read when all are locked.
KEEP = f"""{_BOUND},
kept AS (
    UPDATE leases_leasegroup lease_group SET expires_at = t.now + ttl_ms FROM t
    WHERE {_THE_GROUP} AND ended_at IS NULL AND expires_at > t.now
    RETURNING {_OF_GROUP}, t.now),
extended AS (
    UPDATE leases_lease lease SET expires_at = least(l.own_expires_at, kept.expires_at)
    FROM l, kept WHERE lease.id = l.id AND l.expires_at > kept.now)
SELECT * FROM kept"""

# End a group: a live one by its word, and with it the leases bound to it; an overdue one at its deadline.
DISSOLVE = f"""{_BOUND},
dissolved AS (
    UPDATE leases_leasegroup lease_group SET
        ended_at = least(t.now, expires_at),
        ending = CASE WHEN expires_at > t.now THEN 'released' ELSE 'expired' END
    FROM t WHERE {_THE_GROUP} AND ended_at IS NULL AND (%(live)s OR expires_at <= t.now)
    RETURNING {_OF_GROUP}, t.now),
done AS (
    UPDATE leases_lease lease SET ended_at = dissolved.now, ending = 'released', events = events + 1, available_at = 0
    FROM l, dissolved WHERE lease.id = l.id AND dissolved.ending = 'released' AND l.expires_at > dissolved.now
    RETURNING {_OF_LEASE}, dissolved.now),
{_ENDED.format(reason="'session_deleted'", actor="''", which="true")}
SELECT * FROM dissolved"""

# Mark groups whose deadline has passed; the leases bound to them ended by themselves.
SWEEP_GROUPS = f"""WITH l AS MATERIALIZED (
    SELECT id FROM leases_leasegroup WHERE ended_at IS NULL AND expires_at <= {NOW}
    ORDER BY id LIMIT %(batch)s FOR UPDATE SKIP LOCKED),
t AS MATERIALIZED (SELECT {NOW} AS now FROM (SELECT count(*) FROM l) AS locked),
done AS (
    UPDATE leases_leasegroup lease_group SET ended_at = lease_group.expires_at, ending = 'expired'
    FROM l, t WHERE lease_group.id = l.id AND lease_group.expires_at <= t.now RETURNING lease_group.id)
SELECT count(*) FROM done"""

# Groups that ended long ago.
FORGET_GROUPS = f"""WITH l AS MATERIALIZED (
    SELECT id FROM leases_leasegroup WHERE ended_at <= {NOW} - %(idle_ms)s
    ORDER BY id LIMIT %(batch)s FOR UPDATE SKIP LOCKED),
forgotten AS (DELETE FROM leases_leasegroup lease_group USING l WHERE lease_group.id = l.id RETURNING lease_group.id)
SELECT count(*) FROM forgotten"""
