"""URLs that must lead nowhere, and a network that takes down what is asked of it."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import Any

from octostore.lib.outbound import Refusal

LITERALS = [
    "127.0.0.1",
    "127.1",
    "0x7f000001",
    "0x7f.1",
    "2130706433",
    "017700000001",
    "127.0.0.1.",
    "１２７.0.0.1",  # noqa: RUF001
    "127。0。0。1",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:8.8.8.8]",
    "[::127.0.0.1]",
    "[2002:7f00:1::]",
    "[2002:808:808::]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b:1::8.8.8.8]",
    "[2001:0:7f00:1::]",
    "[2606:4700::5efe:127.0.0.1]",
    "[2606:4700::200:5efe:10.0.0.1]",
    "[fd00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "168.63.129.16",
    "192.0.0.192",
    "192.88.99.1",
    "198.18.0.1",
    "203.0.113.1",
    "0.0.0.0",
    "0",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
]
TEXTS = {
    "http://example.com/": Refusal.NOT_HTTPS,
    "http://127.0.0.1/": Refusal.NOT_HTTPS,
    "ftp://example.com/": Refusal.NOT_HTTPS,
    "file:///etc/passwd": Refusal.MALFORMED,
    "javascript:alert(1)": Refusal.MALFORMED,
    "//example.com/": Refusal.MALFORMED,
    "example.com": Refusal.MALFORMED,
    "": Refusal.MALFORMED,
    "https://": Refusal.MALFORMED,
    "https:///path": Refusal.MALFORMED,
    "https://localhost/": Refusal.NOT_PUBLIC,
    "https://localhost./": Refusal.NOT_PUBLIC,
    "https://LOCALHOST/": Refusal.NOT_PUBLIC,
    "https://ⓛocalhost/": Refusal.NOT_PUBLIC,
    "https://api.localhost/": Refusal.NOT_PUBLIC,
    "https://printer.local/": Refusal.NOT_PUBLIC,
    "https://metadata.google.internal/": Refusal.NOT_PUBLIC,
    "https://redis/": Refusal.NOT_PUBLIC,
    "https://user:secret@example.com/": Refusal.USER_INFO,
    "https://user@example.com/": Refusal.USER_INFO,
    "https://@example.com/": Refusal.USER_INFO,
    "https://example.com@127.0.0.1/": Refusal.USER_INFO,
    "https://example.com:22/": Refusal.PORT,
    "https://example.com:80/": Refusal.PORT,
    "https://example.com:5432/": Refusal.PORT,
    "https://example.com:6379/": Refusal.PORT,
    "https://example.com:0/": Refusal.MALFORMED,
    "https://example.com:65536/": Refusal.MALFORMED,
    "https://example.com:443:443/": Refusal.MALFORMED,
    "https://example.com:+443/": Refusal.MALFORMED,
    "https://example.com:٤٤٣/": Refusal.MALFORMED,
    "https://example.com/#part": Refusal.FRAGMENT,
    "https://example.com/#": Refusal.FRAGMENT,
    "https://example.com\\@127.0.0.1/": Refusal.MALFORMED,
    "https://[::1]example.com/": Refusal.MALFORMED,
    "https://[fe80::1%25eth0]/": Refusal.MALFORMED,
    "https://[::1/": Refusal.MALFORMED,
    "https://::1/": Refusal.MALFORMED,
    "https://127.0.0.1%2f.example.com/": Refusal.MALFORMED,
    "https://1.2.3.4.5/": Refusal.MALFORMED,
    "https://256.1.1.1/": Refusal.MALFORMED,
    "https://0x/": Refusal.MALFORMED,
    "https://example..com/": Refusal.MALFORMED,
    "https://-example.com/": Refusal.MALFORMED,
    f"https://{'a' * 64}.com/": Refusal.MALFORMED,
    f"https://{'a.' * 127}com/": Refusal.MALFORMED,
    "https://example.com/a b": Refusal.MALFORMED,
    "https://example.com/\x00": Refusal.MALFORMED,
    "https://example.com/\r\nHost: inside": Refusal.MALFORMED,
    "https://exam\tple.com/": Refusal.MALFORMED,
    " https://example.com/": Refusal.MALFORMED,
    "https://example.com/\n": Refusal.MALFORMED,
    "https://example.com/ü": Refusal.MALFORMED,
    "https://example.com/" + "a" * 2029: Refusal.TOO_LONG,
}
TEXTS |= {f"https://{host}/": Refusal.NOT_PUBLIC for host in LITERALS}


class Dialled(OSError):
    """Instead of a connection."""


@dataclass
class Network:
    """What was asked of it. `names` are the answers of each name, in turn, the last one for ever."""

    names: dict[str, list[list[str]]] = field(default_factory=dict)
    look_ups: list[str] = field(default_factory=list)
    dials: list[tuple[Any, ...]] = field(default_factory=list)

    def getaddrinfo(self, host: str, port: int, *_: Any, **__: Any) -> list[tuple[Any, ...]]:
        self.look_ups.append(host)
        answers = self.names.get(host)
        if not answers:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))
            if ":" in address
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in found
        ]

    def dial(self, address: tuple[Any, ...]) -> None:
        self.dials.append(address)
        raise Dialled
