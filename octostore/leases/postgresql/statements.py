"""The atomic transitions on PostgreSQL: one statement each, its contract above it.

Every statement that judges time takes the row's lock first and reads the clock after it, in the
CTEs `l` and `t`, and only then decides (guarantees, G4); a plain `UPDATE ... WHERE expires_at >
clock_timestamp()` that waited behind a lock-only blocker renews a dead lease. `MATERIALIZED` keeps
that order. Event rows are written by the same statement. All run in autocommit, READ COMMITTED.
What judges a group beside a lease is in `group_statements`.
"""

from __future__ import annotations

from octostore.leases.clock import EPOCH
from octostore.leases.rows import ATTEMPT_MEMORY_MS, COLUMNS, FLOOR_MARGIN_MS

NOW = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
OF_LEASE = ", ".join(f"lease.{column}" for column in COLUMNS.split(", "))

LOCK = """l AS MATERIALIZED (
    SELECT {columns} FROM leases_lease WHERE space = %(space)s AND name = %(name)s {also} FOR UPDATE)"""
CLOCK = f"t AS MATERIALIZED (SELECT {NOW} AS now FROM {{after}})"
# After the locks of many rows.
CLOCK_AFTER_ALL = CLOCK.format(after="(SELECT count(*) FROM l) AS locked")

EVENT = """INSERT INTO leases_leaseevent
    (lease_id, incarnation, n, kind, at, term, holder, group_id, charged_to, metadata, expires_at, renewals,
        reason, actor)"""

# What a followed space is owed, beside its events.
_OWE = """INSERT INTO leases_owedevent
    (space, name, incarnation, n, kind, at, term, holder, group_id, expires_at, renewals, reason)"""
_OWED = "incarnation, n, kind, at, term, holder, group_id, expires_at, renewals, reason"
_IS_FOLLOWED = "EXISTS (SELECT 1 FROM leases_followedspace WHERE space = %(space)s {also})"
_OWE_ONE = f"""{_OWE}
    SELECT %(space)s, %(name)s, {_OWED} FROM {{events}} WHERE {_IS_FOLLOWED.format(also="")}"""
# The same where one statement ends the terms of many names.
_OWE_MANY = f"""{_OWE}
    SELECT lease.space, lease.name, {", ".join(f"ended.{column}" for column in _OWED.split(", "))}
    FROM ended JOIN leases_lease lease ON lease.id = ended.lease_id
    WHERE EXISTS (SELECT 1 FROM leases_followedspace followed WHERE followed.space = lease.space)"""


def ended(*, reason: str = "''", actor: str = "''", which: str = "true", many: bool = False) -> str:
    """The events of terms that end: the rows as the update left them, in `done`, tell kind and instant."""
    return f"""ended AS ({EVENT}
    SELECT id, incarnation, events, ending, ended_at, term, holder, group_id, charged_to, metadata, expires_at,
        renewals, {reason}, {actor}
    FROM done WHERE {which} RETURNING *),
owed AS ({_OWE_MANY if many else _OWE_ONE.format(events="ended")})"""


def _locked(*, columns: str, also: str = "") -> str:
    return "WITH " + LOCK.format(columns=columns, also=also) + ",\n" + CLOCK.format(after="l")


# The name's row and the clock, without a lock: what answers a follower, a reader and a retry.
READ = f"SELECT {COLUMNS}, {NOW} FROM leases_lease WHERE space = %(space)s AND name = %(name)s"

# A vacant row for a new name. It never grants: its clock was read before its wait.
FOUND = f"""INSERT INTO leases_lease (space, name, term, holder, charged_to, ttl_ms, delay_ms, began_at, expires_at,
    renewals, ended_at, ending, available_at, incarnation, events, key_id, bound, own_expires_at)
VALUES (%(space)s, %(name)s, 0, '', '', 0, 0, 0, 0, 0, {NOW}, '', 0, 0, 0, '', false, 0)
ON CONFLICT (space, name) DO NOTHING"""

# Grant a vacant name: no row when it is held, delayed, absent, when the attempt or the nonce has had its
# term, or when the acl refuses. A clock behind a marked end delays nobody.
# Writes `expired` for a term nobody had marked, then `acquired`.
_TAKE = f"""{{locked}},
granted AS (
    UPDATE leases_lease lease SET
        term = greatest(l.term + 1, t.now - {EPOCH}),
        incarnation = CASE l.incarnation WHEN 0 THEN greatest(l.term + 1, t.now - {EPOCH}) ELSE l.incarnation END,
        events = l.events + CASE WHEN l.ended_at IS NULL THEN 2 ELSE 1 END,
        holder = %(holder)s, metadata = %(metadata)s, group_id = %(group_id)s, charged_to = %(charged_to)s,
        ttl_ms = %(ttl_ms)s, delay_ms = %(delay_ms)s, began_at = t.now, expires_at = {{expires_at}},
        bound = %(bound)s, own_expires_at = t.now + %(first_ms)s, acl = coalesce(l.acl, %(acl)s::text),
        open_in = {{open_in}}, renewals = 0, ended_at = NULL, ending = '', available_at = 0,
        nonce = %(nonce)s, key_id = %(key_id)s, capability_digest = %(capability_digest)s,
        attempt_digest = %(attempt_digest)s, content_digest = %(content_digest)s
    FROM l, t{{also}}
    WHERE lease.id = l.id
        AND (l.ended_at IS NOT NULL OR l.expires_at <= t.now)
        AND CASE WHEN l.ended_at IS NULL THEN l.expires_at + l.delay_ms ELSE l.available_at END
            <= greatest(t.now, l.ended_at)
        AND l.nonce IS DISTINCT FROM %(nonce)s
        AND (l.attempt_digest = %(attempt_digest)s
            AND coalesce(l.ended_at, l.expires_at) > t.now - {ATTEMPT_MEMORY_MS}) IS NOT TRUE
        AND (l.acl IS NULL OR ((%(acl)s::text IS NULL OR l.acl = %(acl)s::text)
            AND (strpos(l.acl, %(principal)s::text) > 0 OR strpos(l.acl, %(principal_name)s::text) > 0)))
    RETURNING {OF_LEASE}, t.now),
ended AS ({EVENT}
    SELECT l.id, l.incarnation, l.events + 1, 'expired', l.expires_at, l.term, l.holder, l.group_id, l.charged_to,
        l.metadata, l.expires_at, l.renewals, '', ''
    FROM l, granted WHERE l.ended_at IS NULL RETURNING *),
acquired AS ({EVENT}
    SELECT id, incarnation, events, 'acquired', began_at, term, holder, group_id, charged_to, metadata, expires_at,
        0, '', ''
    FROM granted RETURNING *),
owed AS ({_OWE_ONE.format(events="(TABLE ended UNION ALL TABLE acquired ORDER BY n) AS both_events")})
SELECT * FROM granted"""
# With a quota the space's open terms are counted behind a lock of the space, which others who count wait for
# until this one is committed (`leases_open`, migration 0003): after the row's lock and before the clock. An
# overdue term counts until its end is marked, for a renewal that is under way may yet keep it alive.
_COUNTED = """q AS MATERIALIZED (
    SELECT 1 FROM l WHERE leases_open(%(space)s::text) - CASE WHEN l.open_in IS NULL THEN 0 ELSE 1 END < %(quota)s)"""


def take(*, lock: str, expires_at: str = "t.now + %(first_ms)s", also: str = "", counted: bool) -> str:
    """The statement that grants behind `lock`, which gives `l`; `also` joins what else must be there."""
    clock = f"{_COUNTED},\n{CLOCK.format(after='q')}" if counted else CLOCK.format(after="l")
    locked = f"WITH {lock},\n{clock}"
    return _TAKE.format(locked=locked, expires_at=expires_at, also=also, open_in="%(space)s" if counted else "NULL")


_WHOLE_ROW = LOCK.format(columns="*", also="")
TAKE = take(lock=_WHOLE_ROW, counted=False)
TAKE_COUNTED = take(lock=_WHOLE_ROW, counted=True)

# A renewal is no event; who follows a space may be owed it all the same.
OWE_RENEWAL = f"""owed AS ({_OWE}
    SELECT %(space)s, %(name)s, NULL, NULL, 'renewed', done.now, term, holder, group_id, expires_at, renewals, ''
    FROM done WHERE {_IS_FOLLOWED.format(also="AND renewals")})"""

PROVEN = "AND capability_digest = %(capability_digest)s"

# Move the deadline of a live term that is not bound, for the right capability alone; a wrong one takes no lock.
RENEW = f"""{_locked(columns="id, ttl_ms, ended_at, expires_at", also=f"{PROVEN} AND NOT bound")},
done AS (
    UPDATE leases_lease lease SET
        expires_at = t.now + coalesce(%(ttl_ms)s, l.ttl_ms), ttl_ms = coalesce(%(ttl_ms)s, l.ttl_ms),
        renewals = renewals + 1
    FROM l, t
    WHERE lease.id = l.id AND lease.capability_digest = %(capability_digest)s
        AND l.ended_at IS NULL AND l.expires_at > t.now
    RETURNING {OF_LEASE}, t.now),
{OWE_RENEWAL}
SELECT * FROM done"""

# End a live term by its capability; a delay is asked for, or there is none.
RELEASE = f"""{_locked(columns="id, ended_at, expires_at", also="AND capability_digest = %(capability_digest)s")},
done AS (
    UPDATE leases_lease lease SET ended_at = t.now, ending = 'released', open_in = NULL, events = events + 1,
        available_at = CASE WHEN %(delayed)s THEN t.now + delay_ms ELSE 0 END
    FROM l, t
    WHERE lease.id = l.id AND lease.capability_digest = %(capability_digest)s
        AND l.ended_at IS NULL AND l.expires_at > t.now
    RETURNING {OF_LEASE}, t.now),
{ended()}
SELECT * FROM done"""

# End exactly one live term by its number, on an operator's word.
REVOKE = f"""{_locked(columns="id, ended_at, expires_at", also="AND term = %(term)s")},
done AS (
    UPDATE leases_lease lease SET ended_at = t.now, ending = 'revoked', open_in = NULL, events = events + 1,
        available_at = t.now + %(delay_ms)s
    FROM l, t
    WHERE lease.id = l.id AND lease.term = %(term)s AND l.ended_at IS NULL AND l.expires_at > t.now
    RETURNING {OF_LEASE}, t.now),
{ended(reason="%(reason)s", actor="%(actor)s")}
SELECT * FROM done"""

_MARK = """done AS (
    UPDATE leases_lease lease SET ended_at = lease.expires_at, ending = 'expired', open_in = NULL, events = events + 1,
        available_at = lease.expires_at + delay_ms
    FROM l, t
    WHERE lease.id = l.id AND l.ended_at IS NULL AND l.expires_at <= t.now
    RETURNING {of_lease}, t.now),
{ended}"""

# Mark the end of one name's overdue term, at its deadline.
SETTLE = f"""{_locked(columns="id, ended_at, expires_at")},
{_MARK.format(of_lease=OF_LEASE, ended=ended())}
SELECT * FROM done"""

# The same for a batch, rows locked in key order and none waited for. The sequential scan asks the
# clock once; each row is judged again by the clock read after all the locks.
_SWEEP = f"""WITH seen AS MATERIALIZED (SELECT {NOW} AS now),
l AS MATERIALIZED (
    SELECT id, ended_at, expires_at FROM leases_lease
    WHERE ended_at IS NULL AND expires_at <= (SELECT now FROM seen) {{also}}
    ORDER BY id {{limit}} FOR UPDATE SKIP LOCKED),
{CLOCK_AFTER_ALL},
{_MARK.format(of_lease=OF_LEASE, ended=ended(many=True))}
SELECT {{told}} FROM done"""
SWEEP = _SWEEP.format(also="", limit="LIMIT %(batch)s", told="count(*)")

# The same for the counted terms of a space; how many of them are left open.
COUNT_OPEN = _SWEEP.format(
    also="AND open_in = %(space)s",
    limit="",
    told="(SELECT count(*) FROM leases_lease WHERE open_in = %(space)s) - count(*)",
)

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
{CLOCK_AFTER_ALL},
done AS (
    UPDATE leases_lease lease SET
        incarnation = greatest(l.incarnation + 1, l.term + 1, t.now - {EPOCH}),
        events = CASE WHEN l.ended_at IS NULL THEN 1 ELSE 0 END,
        ended_at = coalesce(l.ended_at, t.now), open_in = NULL,
        ending = CASE WHEN l.ended_at IS NULL THEN 'revoked' ELSE ending END
    FROM l, t WHERE lease.id = l.id
    RETURNING {OF_LEASE}, t.now),
{ended(reason="%(reason)s", actor="%(actor)s", which="events = 1", many=True)}
SELECT count(*) FROM done WHERE events = 1"""

# How far each of many names has come; the deadline only while the term lives.
POSITIONS = f"""SELECT name, incarnation, events, CASE WHEN ended_at IS NULL AND expires_at > {NOW} THEN expires_at END
FROM leases_lease WHERE space = %(space)s AND name = ANY(%(names)s)"""

# How many terms of a space are live, for each whom they count against.
COUNT = f"""WITH seen AS MATERIALIZED (SELECT {NOW} AS now)
SELECT charged_to, count(*) FROM leases_lease
WHERE space = %(space)s AND ended_at IS NULL AND expires_at > (SELECT now FROM seen) GROUP BY charged_to"""

# Give or take a name's acl, by the capability of its live term or on an admin's word.
SET_ACL = f"""{
    _locked(
        columns="id, capability_digest, ended_at, expires_at",
        also="AND (%(capability_digest)s::bytea IS NULL OR capability_digest = %(capability_digest)s::bytea)",
    )
}
UPDATE leases_lease lease SET acl = %(acl)s::text
FROM l, t
WHERE lease.id = l.id AND (%(capability_digest)s::bytea IS NULL
    OR (l.capability_digest = %(capability_digest)s::bytea AND l.ended_at IS NULL AND l.expires_at > t.now))
RETURNING {OF_LEASE}, t.now"""
