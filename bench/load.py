"""Clients of the service, as cheap as can be: they share the machine with what they measure.

Runs as a process of its own, `python -m bench.load PORT[,PORT] VERB CLIENTS SECONDS`, and prints a `Figures`
as JSON. Each client has one connection, to one of the ports in turn, and asks again as soon as it is answered.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from typing import cast

import uvloop

from bench.figures import Figures, summarise

WARM_UP_SECONDS = 1.0
STOP_SECONDS = 30.0
LONGEST_TTL = 300

# A script yields requests and is sent the bodies of their answers; it yields None where a unit is done.
Script = Generator[bytes | None, bytes, None]


class Surprise(Exception):
    """An answer that the verb under measurement should not get."""


def request(method: str, path: str, body: str = "", key: str = "") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\n"
    if key:
        head += f"Authorization: Bearer {key}\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}\r\n{body}".encode()


def campaign(room: str, candidate: str) -> bytes:
    body = json.dumps({"candidate_id": candidate, "ttl_seconds": LONGEST_TTL})
    return request("POST", f"/elections/{room}/campaign", body)


def with_capability(verb: str, room: str, won: bytes) -> bytes:
    capability = json.loads(won).get("leader_token")
    if not capability:
        raise Surprise(f"not won: {won.decode()}")
    return request("POST", f"/elections/{room}/{verb}", json.dumps({"leader_token": capability}))


def cycle(room: str, number: int) -> Script:
    room = f"{room}-{number}"
    while True:
        won = yield campaign(room, f"client-{number}")
        yield with_capability("resign", room, won)
        yield None


def renew(room: str, number: int) -> Script:
    room = f"{room}-{number}"
    won = yield campaign(room, f"client-{number}")
    again = with_capability("renew", room, won)
    while True:
        yield again
        yield None


def read(room: str, number: int) -> Script:
    room = f"{room}-{number}"
    yield campaign(room, f"client-{number}")
    while True:
        state = yield request("GET", f"/elections/{room}")
        if b'"leader"' not in state:
            raise Surprise(f"not led: {state.decode()}")
        yield None


def lose(room: str, number: int) -> Script:
    """All campaign for one room; whoever wins it first loses it to itself from then on."""
    yield campaign(room, f"client-{number}")
    while True:
        lost = yield campaign(room, f"client-{number}")
        if b'"follower"' not in lost:
            raise Surprise(f"not lost: {lost.decode()}")
        yield None


def lock(name: str, number: int) -> Script:
    """Each client is a worker of a team of its own; the key is checked on each request."""
    keys = os.environ["BENCH_KEYS"].split()
    key, path = keys[number % len(keys)], f"/locks/{name}-{number}"
    while True:
        won = yield request("POST", f"{path}/acquire", json.dumps({"ttl_seconds": LONGEST_TTL}), key)
        lease_id = json.loads(won).get("lease_id")
        if not lease_id:
            raise Surprise(f"not acquired: {won.decode()}")
        yield request("POST", f"{path}/release", json.dumps({"lease_id": lease_id}), key)
        yield None


VERBS: dict[str, Callable[[str, int], Script]] = {
    "cycle": cycle,
    "renew": renew,
    "read": read,
    "lose": lose,
    "lock": lock,
}


class Client(asyncio.Protocol):
    """One connection that plays a script until `until`, noting when each of its units began and ended."""

    def __init__(self, script: Script, until: float) -> None:
        self._script = script
        self._until = until
        self._buffer = b""
        self._began = 0.0
        self.units: list[tuple[float, float]] = []
        self.surprises: Counter[str] = Counter()
        self.gone = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._began = time.perf_counter()
        self._ask(next(self._script))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self._buffer = b""
        if not head.startswith(b"HTTP/1.1 200"):
            self._give_up(f"{head.partition(b' ')[2][:3].decode()} {body.decode()}")
            return
        try:
            self._ask(self._script.send(body))
        except Surprise as error:
            self._give_up(str(error))

    def connection_lost(self, error: Exception | None) -> None:
        if self._until > time.perf_counter():
            self.surprises[f"connection lost: {error}"] += 1
        if not self.gone.done():
            self.gone.set_result(None)

    def _ask(self, following: bytes | None) -> None:
        if following is None:
            now = time.perf_counter()
            self.units.append((self._began, now))
            self._began = now
            if now > self._until:
                self._transport.close()
                return
            following = next(self._script)
        assert following is not None
        self._transport.write(following)

    def _give_up(self, why: str) -> None:
        self.surprises[why[:300]] += 1
        self._until = 0
        self._transport.close()


async def play(ports: list[int], verb: str, clients: int, seconds: float) -> Figures:
    room = f"bench-{verb}-{os.getpid()}"
    since = time.perf_counter() + WARM_UP_SECONDS
    until = since + seconds
    players = [Client(VERBS[verb](room, number), until) for number in range(clients)]
    loop = asyncio.get_running_loop()
    for player, port in zip(players, itertools.cycle(ports), strict=False):
        await loop.create_connection(lambda player=player: player, "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.wait_for(asyncio.gather(*(player.gone for player in players)), seconds + STOP_SECONDS)
    surprises = sum((player.surprises for player in players), Counter[str]())
    if surprises:
        raise SystemExit(f"{verb} with {clients} clients: {surprises.most_common(3)}")
    return summarise([unit for player in players for unit in player.units], since, until)


if __name__ == "__main__":
    _, ports, verb, clients, seconds = sys.argv
    print(uvloop.run(play([*map(int, ports.split(","))], verb, int(clients), float(seconds))).to_json())
