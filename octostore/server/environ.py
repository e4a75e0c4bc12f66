"""An HTTP request as a WSGI environment (PEP 3333), from the scope of an ASGI server."""

from __future__ import annotations

import io
import sys
from typing import Any
from urllib.parse import unquote_to_bytes

from asgiref.typing import HTTPScope

# They speak of the connection and of a body that by now has been read whole.
_UNDONE = {b"content-length", b"transfer-encoding"}


def build_environ(scope: HTTPScope, received_at: float) -> dict[str, Any]:
    """The environment of one request, as yet with an empty body.

    Beside the standard's keys: `RAW_URI`; `octostore.raw_path`, the path before percent-decoding;
    and `octostore.received_at`, seconds on this process's monotonic clock.
    """
    raw_path = scope["raw_path"].decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    host, port = scope["server"] or ("", None)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": query,
        "RAW_URI": f"{raw_path}?{query}" if query else raw_path,
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": host,
        "SERVER_PORT": str(port or ""),
        "REMOTE_ADDR": scope["client"][0] if scope["client"] else "",
        "CONTENT_LENGTH": "0",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "octostore.raw_path": raw_path,
        "octostore.received_at": received_at,
    }
    for name, value in scope["headers"]:
        # `X_Forwarded_For` would become the same key as `X-Forwarded-For`.
        if b"_" in name or name in _UNDONE:
            continue
        key = _key(name)
        text = value.decode("latin-1")
        environ[key] = f"{environ[key]}{'; ' if name == b'cookie' else ', '}{text}" if key in environ else text
    return environ


def with_body(environ: dict[str, Any], body: bytes) -> dict[str, Any]:
    """The same request with its whole `body`, to be read once."""
    return environ | {"CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}


def refused(environ: dict[str, Any], refusal: str) -> dict[str, Any]:
    """The same request, which is not taken as it is: `body_too_large`, `body_timeout`, `overloaded` or `stopping`."""
    return with_body(environ, b"") | {"octostore.refusal": refusal}


def _key(name: bytes) -> str:
    key = name.decode("latin-1").upper().replace("-", "_")
    return key if key == "CONTENT_TYPE" else f"HTTP_{key}"
