"""Calls of the outbound door to receivers on loopback, for tests."""

from __future__ import annotations

import socket
from datetime import timedelta

import pytest

from octostore.lib.outbound import Answer, Failure, FailureReason, Policy, post
from tests.webhooks.receivers import Behaviour, receiving

PRIVATE = Policy(allow_private=True)
# Far below what anything would take that does not end by itself, far above what a busy machine adds.
SOON = timedelta(seconds=4)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"


def call(url: str, *, body: bytes = b"{}", seconds: float = 5) -> Answer | Failure:
    return post(url, body=body, headers={"Content-Type": "application/json"}, policy=PRIVATE, seconds=seconds)


def answer(behaviour: Behaviour, seconds: float = 5) -> Answer:
    with receiving(behaviour) as receiver:
        answered = call(receiver.url(), seconds=seconds)
    assert isinstance(answered, Answer)
    return answered


def failure(behaviour: Behaviour, seconds: float = 5) -> FailureReason:
    with receiving(behaviour) as receiver:
        answered = call(receiver.url(), seconds=seconds)
    assert isinstance(answered, Failure)
    return answered.reason


def point(monkeypatch: pytest.MonkeyPatch, *addresses: tuple[str, int]) -> None:
    """Let every name, at every port, lead to these."""
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
