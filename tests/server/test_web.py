"""A web process ends in time whatever its clients do, and tells those it cannot serve any more."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.processes import Web
from tests.server.service import wait_until
from tests.server.test_bodies import WITHHELD
from tests.server.wire import Wire


def _seconds_to_end(web: Web, number: signal.Signals) -> float:
    began = time.monotonic()
    os.kill(web.pid, number)
    assert wait_until(lambda: web.exit_code is not None, seconds=10)
    assert web.exit_code == -number
    return time.monotonic() - began


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_idle_clients_hold_nothing(start_web: Callable[..., Web], number: signal.Signals) -> None:
    web = start_web()
    with Wire(web.port) as used, Wire(web.port):
        assert used.get("/health").status == 200
        assert _seconds_to_end(web, number) < 2
    assert "Traceback" not in web.output()


def test_withheld_bodies_hold_it_for_the_grace_period_alone(start_web: Callable[..., Web]) -> None:
    web = start_web(OCTOSTORE_BODY_TIMEOUT_SECONDS="60")
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(web.port)) for _ in range(20)]
        for wire in wires:
            wire.send(WITHHELD)
        with Wire(web.port) as other:
            assert other.get("/health").status == 200
        assert 4 < _seconds_to_end(web, signal.SIGTERM) < 8
        for wire in wires:
            response = wire.response()
            assert (response.status, json.loads(response.body)["code"]) == (503, "unavailable")
            assert int(response.headers["retry-after"]) >= 1
    assert "Exception in ASGI" not in web.output()
