"""Every error the API can answer: its status, its code, its default text, on one screen.

Raised anywhere below the views and rendered in one place (`octostore.api.errors`). Losing a
race is not here: that is an outcome, a value. What is here is misused authority, broken input
and absence of service.
"""

from __future__ import annotations

from typing import Any, ClassVar


class DomainError(Exception):
    """One answer of the error envelope (contract, section 1).

    `details` is a sentence for a person; `retry_after_ms` says when trying again makes sense;
    `extra` are fields the contract puts beside the envelope (`ended` of a stale capability).
    """

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    text: ClassVar[str] = "Something went wrong on our side"

    def __init__(
        self,
        details: str | None = None,
        *,
        status: int | None = None,
        retry_after_ms: int | None = None,
        headers: dict[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(details or self.text)
        self.details = details
        self.answer_status = status or self.status
        self.retry_after_ms = retry_after_ms
        self.headers = headers or {}
        self.extra = extra


class AuthenticationRequired(DomainError):
    status, code, text = 401, "authentication_required", "A credential is required"


class AuthenticationFailed(DomainError):
    status, code, text = 401, "authentication_failed", "The credential is unknown, expired or revoked"


class Forbidden(DomainError):
    status, code, text = 403, "forbidden", "This is not allowed"


class InvalidInput(DomainError):
    status, code, text = 400, "invalid_input", "The request is not valid"


class InvalidTTL(DomainError):
    status, code, text = 400, "invalid_ttl", "The TTL is out of range"


class InvalidLockName(DomainError):
    status, code, text = 400, "invalid_lock_name", "The lock's name is not valid"


class NotFound(DomainError):
    status, code, text = 404, "not_found", "Not found"


class SessionExpired(DomainError):
    status, code, text = 410, "session_expired", "The session has ended"


class LeaseNotCurrent(DomainError):
    status, code, text = 404, "lease_not_current", "Lease is not current"


class Conflict(DomainError):
    status, code, text = 409, "conflict", "The request conflicts with what is there"


class LockDelayed(DomainError):
    status, code, text = 409, "lock_delayed", "A lock delay runs; nobody can acquire yet"


class LockLimitExceeded(DomainError):
    status, code, text = 403, "lock_limit_exceeded", "The team holds as many locks as it may"


class CapacityExceeded(DomainError):
    status, code, text = 409, "capacity_exceeded", "Room capacity is reached"


class RateLimited(DomainError):
    status, code, text = 429, "rate_limited", "Too many requests"


class Unavailable(DomainError):
    """Storage is down, busy beyond the bounded wait, or a commit's outcome is not certain.

    Never means "not held": the outcome is unknown.
    """

    status, code, text = 503, "unavailable", "Temporarily unavailable; the outcome is unknown"

    def __init__(self, details: str | None = None, *, retry_after_ms: int = 1000, **more: Any) -> None:
        super().__init__(details, retry_after_ms=retry_after_ms, **more)


class InternalError(DomainError):
    pass
