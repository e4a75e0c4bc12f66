"""Counting what verbs come to: outcomes by their name, refusals by their code."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from octostore.api.door import Reply
from octostore.api.metrics import outcomes
from octostore.lib.errors import DomainError
from octostore.live.tickets import WaitTicket

Parameters = ParamSpec("Parameters")
Answered = TypeVar("Answered", bound=Reply | WaitTicket)


def counted_as(space: str) -> Callable[[Callable[Parameters, Answered]], Callable[Parameters, Answered]]:
    """Count a verb's replies by their outcome and what it raises by its code; a parked request is counted later."""

    def decorate(verb: Callable[Parameters, Answered]) -> Callable[Parameters, Answered]:
        @wraps(verb)
        def counted(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answered:
            try:
                answered = verb(*args, **kwargs)
            except DomainError as error:
                outcomes.labels(space, error.code).inc()
                raise
            if isinstance(answered, Reply):
                outcomes.labels(space, answered.outcome).inc()
            return answered

        return counted

    return decorate
