"""What a name's recorded events tell of its past terms."""

from __future__ import annotations

from octostore.leases import storage
from octostore.leases.models import Ending, LeaseEvent
from octostore.leases.outcomes import Past
from octostore.leases.rows import Row


def terms(space: str, name: str, *, limit: int, before: int | None = None) -> list[Past]:
    """The name's last `limit` terms as their events recorded them, newest first; those below the term `before`.

    A term past its deadline whose end nobody has marked is told as ended then.
    """
    row: Row | None = storage.run(lambda transitions: transitions.read(space, name))
    if row is None:
        return []
    # A term has at most two events: its beginning and its end.
    newest = LeaseEvent.objects.filter(lease_id=row.id).order_by("-incarnation", "-n")
    if before is not None:
        newest = newest.filter(term__lt=before)
    recorded = storage.read(newest[: 2 * limit])
    ends = {event.term: event for event in recorded if event.kind != LeaseEvent.Kind.ACQUIRED}
    begins = [event for event in recorded if event.kind == LeaseEvent.Kind.ACQUIRED][:limit]
    return [_past(begin, ends.get(begin.term), row) for begin in begins]


def _past(begin: LeaseEvent, end: LeaseEvent | None, row: Row) -> Past:
    ended_at, ending, renewals = None, None, begin.renewals
    if end:
        ended_at, ending, renewals = end.at, Ending(end.kind), end.renewals
    elif begin.term == row.term:
        renewals = row.renewals
        if row.is_overdue:
            ended_at, ending = row.expires_at, Ending.EXPIRED
    return Past(
        term=begin.term,
        holder=begin.holder,
        group_id=begin.group_id,
        charged_to=begin.charged_to,
        metadata=begin.metadata,
        began_at=begin.at,
        ended_at=ended_at,
        ending=ending,
        renewals=renewals,
        reason=end.reason if end else "",
        actor=end.actor if end else "",
    )
