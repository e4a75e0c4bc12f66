"""Commands to copy, filled in for one lock; where a secret belongs they name a variable of the shell."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    title: str
    text: str


def of_lock(url: str, name: str) -> list[Snippet]:
    """How a worker uses the lock of this name on the service at `url`."""
    address = f"{url}/locks/{quote(name, safe='')}"
    send = "-H \"Authorization: Bearer $OCTOSTORE_KEY\" -H 'Content-Type: application/json'"
    lease = '-d "{\\"lease_id\\": \\"$LEASE_ID\\"}"'
    return [
        Snippet(title="Acquire", text=f"curl -sS {send} \\\n  -d '{{\"ttl_seconds\": 60}}' {address}/acquire"),
        Snippet(title="Renew", text=f"curl -sS {send} \\\n  {lease} {address}/renew"),
        Snippet(title="Release", text=f"curl -sS {send} \\\n  {lease} {address}/release"),
        Snippet(
            title="Check the fencing token where you write",
            text="UPDATE guarded SET value = :value, fencing_token = :fencing_token\n"
            " WHERE id = :id AND fencing_token <= :fencing_token; -- no row: somebody newer holds the lock",
        ),
    ]
