"""Who is calling, proved by an API key: asked by a verb once it has read path and body.

DRF would ask before the body is read, and its throttles only afterwards: here guessing is slowed
before any look-up (contract, sections 1 and 3).
"""

from __future__ import annotations

from octostore.api.door import Caller
from octostore.lib.errors import AuthenticationFailed, AuthenticationRequired, Forbidden
from octostore.live import admission
from octostore.teams import keys
from octostore.teams.principals import Principal, Scope

PROVEN_MAX = 10_000

# Keys that were right in this process, as this process's own hashes: one who guesses beside those who
# know keeps nobody from renewing.
_proven: dict[int, None] = {}


def require(caller: Caller, scope: Scope | None) -> Principal:
    """The caller's principal, who may do what `scope` says; None for what every key may.

    Raises AuthenticationRequired, AuthenticationFailed, RateLimited for a client that was wrong too
    often, and Forbidden.
    """
    text = _bearer(caller.credential)
    proof = hash((caller.client, text))
    if proof not in _proven:
        admission.wrong_keys.require(caller.client)
    try:
        principal = keys.find(text)
    except AuthenticationFailed:
        _proven.pop(proof, None)
        admission.wrong_keys.spend(caller.client)
        raise
    if proof not in _proven:
        if len(_proven) >= PROVEN_MAX:
            _proven.clear()
        _proven[proof] = None
    if scope is not None and not principal.may(scope):
        raise Forbidden(f"This key lacks the scope {scope}")
    return principal


def _bearer(credential: str | None) -> str:
    scheme, _, text = (credential or "").strip().partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise AuthenticationRequired("Send Authorization: Bearer with an API key")
    return text.strip()
