"""The OpenAPI document, walked: each operation gives each answer it tells of, in the shape it tells."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from uuid import uuid4

import httpx
import pytest

from tests.contract import keyed
from tests.contract.document import OPERATIONS, complaints
from tests.contract.provocations import PROVOCATIONS, Stage, ask
from tests.faults.blockers import standstill
from tests.processes import Web
from tests.races import beside, race

pytestmark = pytest.mark.usefixtures("database")

BUSY_SECONDS = 20

TOLD = {(operation_id, int(status)) for operation_id, (_, _, answers) in OPERATIONS.items() for status in answers}


@pytest.fixture(scope="module")
def stage(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    directory = tmp_path_factory.mktemp("stage")
    quick = {"DATABASE_URL": database_url, "OCTOSTORE_BODY_TIMEOUT_SECONDS": "1", "OCTOSTORE_STREAM_SECONDS": "1"}
    closed = {
        "PUBLIC_ELECTIONS": "false",
        "OCTOSTORE_METRICS_BEARER": "m" * 32,
        "OCTOSTORE_METRICS_ADDRESSES": "192.0.2.1",
    }
    tight = {
        "OCTOSTORE_ELECTION_REQUESTS_PER_MINUTE": "1",
        "OCTOSTORE_WRONG_CAPABILITIES_PER_MINUTE": "1",
        "OCTOSTORE_STREAMS_MAX": "0",
        "OCTOSTORE_WRONG_KEYS_PER_MINUTE": "1",
    }
    with ExitStack() as stack:
        yield Stage(
            open=stack.enter_context(Web(directory, quick)),
            closed=stack.enter_context(Web(directory, quick | closed)),
            tight=stack.enter_context(Web(directory, quick | tight)),
        )


@pytest.mark.parametrize(("operation_id", "status"), sorted(told for told in TOLD if told[1] < 500))
def test_each_answer_that_is_told_of_can_be_had(stage: Stage, operation_id: str, status: int) -> None:
    answer = PROVOCATIONS[status](stage, operation_id)
    assert answer.status_code == status, answer.text
    assert complaints(operation_id, answer) == []


def test_every_operation_tells_of_a_bug_and_of_a_busy_server() -> None:
    assert {id_ for id_ in OPERATIONS if not {(id_, 500), (id_, 503)} <= TOLD} == set()


def test_every_operation_is_unavailable_while_every_thread_waits(start_web: Callable[..., Web]) -> None:
    busy = start_web(OCTOSTORE_WEB_THREADS="1", OCTOSTORE_KEEP_THREADS="1", OCTOSTORE_STORAGE_WAIT_SECONDS="1")
    room = f"room-{uuid4().hex}"
    with busy.client() as client:
        won = client.campaign(room, "atlas", ttl_seconds=300).json()

    def campaign() -> None:
        with busy.client() as client:
            client.campaign(f"room-{uuid4().hex}", "borea")

    def renew() -> None:
        with busy.client() as client:
            client.renew(room, won["leader_token"])

    def request(operation_id: str) -> httpx.Response:
        if operation_id in keyed.KEYED:
            return keyed.as_nobody(busy, operation_id)
        body = {"json": {"leader_token": won["leader_token"]}} if operation_id in {"renew", "resign"} else {}
        return ask(busy, operation_id, room=room, **body)

    def until_busy(operation_id: str) -> httpx.Response:
        deadline = time.monotonic() + BUSY_SECONDS
        while (answer := request(operation_id)).status_code != 503:
            assert time.monotonic() < deadline, f"{operation_id} is always answered"
        return answer

    with ExitStack() as stack:
        stack.enter_context(standstill())
        for work in [campaign, renew] * 3:
            stack.enter_context(beside(work))
        # Health has a thread of its own, and answers.
        ids = sorted(OPERATIONS.keys() - {"health"})
        answers = dict(zip(ids, race([partial(until_busy, id_) for id_ in ids]), strict=True))
        assert ask(busy, "health").status_code == 200
    assert {id_: complaints(id_, answer) for id_, answer in answers.items() if complaints(id_, answer)} == {}
