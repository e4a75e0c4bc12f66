"""Campaigns without pause from many clients, over plain sockets: `python -m tests.concurrency.flood PORT CLIENTS`."""

from __future__ import annotations

import asyncio
import json
import sys
from uuid import uuid4


async def flood(port: int, clients: int) -> None:
    await asyncio.gather(*(_campaign_for_ever(port) for _ in range(clients)))


async def _campaign_for_ever(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"candidate_id": "newcomer"})
    while True:
        writer.write(
            f"POST /elections/room-{uuid4().hex}/campaign HTTP/1.1\r\nHost: flood\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))


if __name__ == "__main__":
    asyncio.run(flood(int(sys.argv[1]), int(sys.argv[2])))
