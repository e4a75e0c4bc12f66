"""A fresh room as a shell script to read, to paste or to run."""

from __future__ import annotations

from elections.shapes import RoomOutput


def script(room: RoomOutput) -> str:
    """The room's address with its first commands, filled in; needs a POSIX shell and curl."""
    service = room.url.partition("/r/")[0]
    return f"""\
# A room of your own. Its id is all there is: whoever knows it can campaign there.
ROOM='{service}{room.status_path}'

# Try to lead it for 30 seconds. The answer says "leader" or "follower"; losing is no error.
curl -sS -X POST "$ROOM/campaign" -H 'Content-Type: application/json' \\
  -d '{{"candidate_id": "worker-a", "ttl_seconds": 30}}'
echo

# Who leads? Anybody may ask.
curl -sS "$ROOM"
echo

# The leader keeps the lead with its leader_token, at renew_after_ms:
#   curl -sS -X POST "$ROOM/renew" -H 'Content-Type: application/json' -d "{{\\"leader_token\\": \\"$LEADER_TOKEN\\"}}"
# See it happen: {room.url}
"""
