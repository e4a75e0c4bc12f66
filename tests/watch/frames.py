"""Server-sent events as a strict reader finds them in an HTTP/1.1 response, however it was cut into pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.http import strict_json

KEEPALIVE = "keepalive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One event or, where `event` is empty, one comment; `at` is its arrival by the monotonic clock."""

    event: str
    id: str | None = None
    data: dict[str, Any]
    retry: int | None = None
    comment: str = ""
    at: float

    @property
    def leader(self) -> str | None:
        """The candidate who leads."""
        return self.data["leader"]["candidate_id"] if self.data["leader"] else None

    @property
    def n(self) -> int:
        return int((self.id or "").partition("-")[2])

    @property
    def incarnation(self) -> int:
        return int((self.id or "").partition("-")[0])


class Parser:
    """Bytes of one response in, frames out. `status`, `headers` and `is_over` tell of the response itself."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.is_over = False
        self._raw = b""
        self._text = b""

    def feed(self, piece: bytes, at: float) -> Iterator[Frame]:
        for block in self.blocks(piece):
            yield parse_frame(block, at)

    def blocks(self, piece: bytes) -> Iterator[str]:
        """What stands between blank lines."""
        self._raw += piece
        if self.status is None and not self._read_head():
            return
        self._dechunk()
        *blocks, self._text = self._text.split(b"\n\n")
        for block in blocks:
            yield block.decode("utf-8", "strict")

    @property
    def body(self) -> bytes:
        """What came and is no frame; an answer that is no stream, whole."""
        return self._text

    def _read_head(self) -> bool:
        head, found, rest = self._raw.partition(b"\r\n\r\n")
        if not found:
            return False
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1])
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        self._raw = rest
        return True

    def _dechunk(self) -> None:
        if self.headers.get("transfer-encoding") != "chunked":
            self._text, self._raw = self._text + self._raw, b""
            return
        while match := re.match(rb"([0-9a-f]+)\r\n", self._raw):
            begin, size = match.end(), int(match[1], 16)
            if len(self._raw) < begin + size + 2:
                return
            assert self._raw[begin + size : begin + size + 2] == b"\r\n", self._raw
            self._text += self._raw[begin : begin + size]
            self._raw = self._raw[begin + size + 2 :]
            self.is_over = self.is_over or size == 0


def parse_frame(block: str, at: float) -> Frame:
    """One block between blank lines; nothing but the fields of the contract, each at most once."""
    if block.startswith(":"):
        return Frame(event="", data={}, comment=block[1:].strip(), at=at)
    fields = [line.partition(": ")[::2] for line in block.split("\n")]
    found = dict(fields)
    assert len(found) == len(fields), block
    assert {"event", "data"} <= set(found) <= {"event", "data", "id", "retry"}, block
    retry = found.get("retry")
    return Frame(
        event=found["event"],
        id=found.get("id"),
        data=strict_json(found["data"].encode()),
        retry=int(retry) if retry else None,
        at=at,
    )
