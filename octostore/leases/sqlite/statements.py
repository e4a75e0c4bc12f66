"""The atomic transitions on SQLite, each run inside one IMMEDIATE transaction that knows `now`.

SQLite has no data-modifying CTE, so a transition is two or three statements: mark the overdue end,
change the row, record the event. The transaction holds the file's only write lock before its clock
is read, which is "lock, then look at the clock, then decide" (guarantees, G4) for every row at once.
"""

from __future__ import annotations

from octostore.leases.clock import EPOCH
from octostore.leases.rows import ATTEMPT_MEMORY_MS, COLUMNS, FLOOR_MARGIN_MS, GROUP_COLUMNS

_OF_LEASE = ", ".join(f"lease.{column}" for column in COLUMNS.split(", "))
_NAMED = "space = %(space)s AND name = %(name)s"
_LIVE = "ended_at IS NULL AND expires_at > %(now)s"
# Until when the acquiring group lives; null when it does not.
_GROUP_UNTIL = """(SELECT expires_at FROM leases_leasegroup lease_group
        WHERE lease_group.space = %(space)s AND lease_group.key = %(group_id)s AND lease_group.ended_at IS NULL)"""
_TERM = f"max(term + 1, %(now)s - {EPOCH})"

# The row beside the clock's, in one snapshot and without a lock.
READ = f"""SELECT {_OF_LEASE}, clock.mark, clock.boottime, clock.boot_id
FROM leases_lease lease JOIN leases_clock clock ON clock.id = 1 WHERE {_NAMED}"""

# A vacant row for a new name; it never grants.
FOUND = """INSERT INTO leases_lease (space, name, term, holder, charged_to, ttl_ms, delay_ms, began_at, expires_at,
    renewals, ended_at, ending, available_at, incarnation, events, key_id, bound, own_expires_at)
VALUES (%(space)s, %(name)s, 0, '', '', 0, 0, 0, 0, 0, %(now)s, '', 0, 0, 0, '', 0, 0)
ON CONFLICT (space, name) DO NOTHING"""

# What an update returned, as an event: an end by its kind and instant, a grant by its beginning.
RECORD = """INSERT INTO leases_leaseevent
    (lease_id, incarnation, n, kind, at, term, holder, group_id, charged_to, metadata, expires_at, renewals,
        reason, actor)
SELECT id, incarnation, events, CASE WHEN ended_at IS NULL THEN 'acquired' ELSE ending END,
    coalesce(ended_at, began_at), term, holder, group_id, charged_to, metadata, expires_at, renewals,
    %(reason)s, %(actor)s
FROM leases_lease WHERE id = %(id)s"""

# What a followed space is owed of it, beside the event; and of a renewal, which is no event.
OWE = """INSERT INTO leases_owedevent
    (space, name, incarnation, n, kind, at, term, holder, group_id, expires_at, renewals, reason)
SELECT space, name, incarnation, events, CASE WHEN ended_at IS NULL THEN 'acquired' ELSE ending END,
    coalesce(ended_at, began_at), term, holder, group_id, expires_at, renewals, %(reason)s
FROM leases_lease lease
WHERE id = %(id)s AND EXISTS (SELECT 1 FROM leases_followedspace followed WHERE followed.space = lease.space)"""
OWE_RENEWAL = """INSERT INTO leases_owedevent
    (space, name, kind, at, term, holder, group_id, expires_at, renewals, reason)
SELECT space, name, 'renewed', %(now)s, term, holder, group_id, expires_at, renewals, ''
FROM leases_lease lease
WHERE id = %(id)s
    AND EXISTS (SELECT 1 FROM leases_followedspace followed WHERE followed.space = lease.space AND followed.renewals)"""

# Mark the end of one name's overdue term, at its deadline.
SETTLE = f"""UPDATE leases_lease SET ended_at = expires_at, ending = 'expired', open_in = NULL, events = events + 1,
    available_at = expires_at + delay_ms
WHERE {_NAMED} AND ended_at IS NULL AND expires_at <= %(now)s RETURNING {COLUMNS}"""

# How many counted terms of a space are live.
COUNT_OPEN = """SELECT count(*) FROM leases_lease other
WHERE other.open_in = %(space)s AND other.expires_at > %(now)s"""

# Grant a name whose end is marked: no row when it is held, delayed, absent, or when the attempt or the
# nonce has had its term, the group has ended, the acl refuses or the quota is used up. A clock behind a
# marked end delays nobody.
TAKE = f"""UPDATE leases_lease SET
    term = {_TERM}, incarnation = CASE incarnation WHEN 0 THEN {_TERM} ELSE incarnation END, events = events + 1,
    holder = %(holder)s, metadata = %(metadata)s, group_id = %(group_id)s, charged_to = %(charged_to)s,
    ttl_ms = %(ttl_ms)s, delay_ms = %(delay_ms)s, began_at = %(now)s,
    expires_at = CASE WHEN %(bound)s THEN min(%(now)s + %(first_ms)s, {_GROUP_UNTIL}) ELSE %(now)s + %(first_ms)s END,
    bound = %(bound)s, own_expires_at = %(now)s + %(first_ms)s, acl = coalesce(acl, %(acl)s),
    open_in = CASE WHEN %(quota)s IS NOT NULL THEN space END,
    renewals = 0, ended_at = NULL, ending = '', available_at = 0,
    nonce = %(nonce)s, key_id = %(key_id)s, capability_digest = %(capability_digest)s,
    attempt_digest = %(attempt_digest)s, content_digest = %(content_digest)s
WHERE {_NAMED} AND ended_at IS NOT NULL AND available_at <= max(%(now)s, ended_at)
    AND nonce IS NOT %(nonce)s
    AND (attempt_digest = %(attempt_digest)s AND ended_at > %(now)s - {ATTEMPT_MEMORY_MS}) IS NOT TRUE
    AND (%(group_id)s IS NULL OR {_GROUP_UNTIL} > %(now)s)
    AND (acl IS NULL OR ((%(acl)s IS NULL OR acl = %(acl)s)
        AND (instr(acl, %(principal)s) > 0 OR instr(acl, %(principal_name)s) > 0)))
    AND (%(quota)s IS NULL OR %(quota)s > ({COUNT_OPEN}))
RETURNING {COLUMNS}"""

# Move the deadline of a live term that is not bound, for the right capability alone.
_RENEWED = "%(now)s + coalesce(%(ttl_ms)s, ttl_ms)"
_PROVEN = f"{_NAMED} AND capability_digest = %(capability_digest)s AND {_LIVE}"
RENEW = f"""UPDATE leases_lease SET expires_at = {_RENEWED}, ttl_ms = coalesce(%(ttl_ms)s, ttl_ms),
    renewals = renewals + 1
WHERE {_PROVEN} AND NOT bound RETURNING {COLUMNS}"""

# The same for a bound term: never beyond its group's deadline.
RENEW_BOUND = f"""UPDATE leases_lease SET own_expires_at = {_RENEWED}, ttl_ms = coalesce(%(ttl_ms)s, ttl_ms),
    expires_at = min({_RENEWED}, (SELECT expires_at FROM leases_leasegroup WHERE key = group_id)),
    renewals = renewals + 1
WHERE {_PROVEN} AND bound RETURNING {COLUMNS}"""

# A group acquires what it holds: the deadline only grows, all else stays.
_GROWN = "%(now)s + %(ttl_ms)s"
EXTEND = f"""UPDATE leases_lease SET own_expires_at = max(own_expires_at, {_GROWN}),
    expires_at = CASE WHEN bound THEN min(max(own_expires_at, {_GROWN}), {_GROUP_UNTIL})
        ELSE max(expires_at, {_GROWN}) END
WHERE {_PROVEN} AND group_id = %(group_id)s AND {_GROUP_UNTIL} > %(now)s RETURNING {COLUMNS}"""

# End a live term by its capability; a delay is asked for, or there is none.
RELEASE = f"""UPDATE leases_lease SET ended_at = %(now)s, ending = 'released', open_in = NULL, events = events + 1,
    available_at = CASE WHEN %(delayed)s THEN %(now)s + delay_ms ELSE 0 END
WHERE {_NAMED} AND capability_digest = %(capability_digest)s AND {_LIVE} RETURNING {COLUMNS}"""

# End exactly one live term by its number, on an operator's word.
REVOKE = f"""UPDATE leases_lease SET ended_at = %(now)s, ending = 'revoked', open_in = NULL, events = events + 1,
    available_at = %(now)s + %(delay_ms)s
WHERE {_NAMED} AND term = %(term)s AND {_LIVE} RETURNING {COLUMNS}"""

# The overdue terms of one batch.
SWEEP = """UPDATE leases_lease SET ended_at = expires_at, ending = 'expired', open_in = NULL, events = events + 1,
    available_at = expires_at + delay_ms
WHERE id IN (SELECT id FROM leases_lease WHERE ended_at IS NULL AND expires_at <= %(now)s ORDER BY id LIMIT %(batch)s)
RETURNING id"""

# Names, in spaces that begin with `space`, whose last term ended long ago and whose number the floor has
# passed by a day (G2). An acl is no memory of terms: it stays.
FORGET = f"""DELETE FROM leases_lease WHERE id IN (
    SELECT id FROM leases_lease WHERE substr(space, 1, length(%(space)s)) = %(space)s AND acl IS NULL
        AND ended_at <= %(now)s - %(idle_ms)s
        AND term <= %(now)s - {EPOCH + FLOOR_MARGIN_MS} ORDER BY id LIMIT %(batch)s)
RETURNING id"""
FORGET_EVENTS = "DELETE FROM leases_leaseevent WHERE lease_id = %(id)s"

# Events older than the `kept` newest of their name.
TRIM = """DELETE FROM leases_leaseevent WHERE id IN (
    SELECT event.id FROM leases_leaseevent event JOIN leases_lease lease ON lease.id = event.lease_id
    WHERE lease.events > %(kept)s
        AND (event.incarnation < lease.incarnation OR event.n <= lease.events - %(kept)s)
    ORDER BY event.id LIMIT %(batch)s)"""

# After a restore: every live term ends, and every name that was ever held starts a new incarnation.
RESTORE = f"""UPDATE leases_lease SET
    incarnation = max(incarnation + 1, term + 1, %(now)s - {EPOCH}),
    events = CASE WHEN ended_at IS NULL THEN 1 ELSE 0 END,
    ended_at = coalesce(ended_at, %(now)s), open_in = NULL,
    ending = CASE WHEN ended_at IS NULL THEN 'revoked' ELSE ending END
WHERE term > 0 RETURNING id, events"""

# How far each of many names has come; the deadline only while the term lives.
POSITIONS = f"""SELECT name, incarnation, events, CASE WHEN {_LIVE} THEN expires_at END
FROM leases_lease WHERE space = %(space)s AND name IN (SELECT value FROM json_each(%(names)s))"""

# How many terms of a space are live, for each whom they count against.
COUNT = f"""SELECT charged_to, count(*) FROM leases_lease WHERE space = %(space)s AND {_LIVE} GROUP BY charged_to"""

# Give or take a name's acl, by the capability of its live term or on an admin's word.
SET_ACL = f"""UPDATE leases_lease SET acl = %(acl)s
WHERE {_NAMED} AND (%(capability_digest)s IS NULL OR (capability_digest = %(capability_digest)s AND {_LIVE}))
RETURNING {COLUMNS}"""

_THE_GROUP = "space = %(space)s AND key = %(key)s"

# A new group; a key that is there already is the rerun's own.
FORM = f"""INSERT INTO leases_leasegroup (space, key, charged_to, ttl_ms, began_at, expires_at, ending)
VALUES (%(space)s, %(key)s, %(charged_to)s, %(ttl_ms)s, %(now)s, %(now)s + %(ttl_ms)s, '')
ON CONFLICT (key) DO UPDATE SET key = excluded.key WHERE leases_leasegroup.space = excluded.space
RETURNING {GROUP_COLUMNS}"""

READ_GROUP = f"""SELECT {", ".join(f"lease_group.{column}" for column in GROUP_COLUMNS.split(", "))},
    clock.mark, clock.boottime, clock.boot_id
FROM leases_leasegroup lease_group JOIN leases_clock clock ON clock.id = 1 WHERE {_THE_GROUP}"""

# Keep a live group alive, and then the live leases bound to it.
KEEP = f"""UPDATE leases_leasegroup SET expires_at = %(now)s + ttl_ms WHERE {_THE_GROUP} AND {_LIVE}
RETURNING {GROUP_COLUMNS}"""
_BOUND = f"group_id = %(key)s AND space = %(space)s AND bound AND {_LIVE}"
EXTEND_BOUND = f"UPDATE leases_lease SET expires_at = min(own_expires_at, %(until)s) WHERE {_BOUND}"

# End a live group by its word, and then the live leases bound to it.
DISSOLVE = f"""UPDATE leases_leasegroup SET ended_at = %(now)s, ending = 'released' WHERE {_THE_GROUP} AND {_LIVE}
RETURNING {GROUP_COLUMNS}"""
END_BOUND = f"""UPDATE leases_lease SET ended_at = %(now)s, ending = 'released', open_in = NULL, events = events + 1,
    available_at = 0
WHERE {_BOUND} RETURNING id, name"""

# Mark the end of an overdue group, at its deadline; the leases bound to it end by themselves.
_OVERDUE = "ended_at IS NULL AND expires_at <= %(now)s"
SETTLE_GROUP = f"""UPDATE leases_leasegroup SET ended_at = expires_at, ending = 'expired'
WHERE {_THE_GROUP} AND {_OVERDUE}"""

# The same for a batch.
SWEEP_GROUPS = f"""UPDATE leases_leasegroup SET ended_at = expires_at, ending = 'expired'
WHERE id IN (SELECT id FROM leases_leasegroup WHERE {_OVERDUE} ORDER BY id LIMIT %(batch)s) RETURNING id"""

# Groups that ended long ago.
FORGET_GROUPS = """DELETE FROM leases_leasegroup WHERE id IN (
    SELECT id FROM leases_leasegroup WHERE ended_at <= %(now)s - %(idle_ms)s ORDER BY id LIMIT %(batch)s)
RETURNING id"""

# After a restore: every live group ends.
RESTORE_GROUPS = "UPDATE leases_leasegroup SET ended_at = %(now)s, ending = 'revoked' WHERE ended_at IS NULL"
