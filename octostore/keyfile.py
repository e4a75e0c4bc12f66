"""Where the server's keys come from: the environment, or an owner-only file made on first start."""

from __future__ import annotations

import contextlib
import os
import secrets as random
from collections.abc import Sequence
from pathlib import Path
from typing import overload

from django.core.exceptions import ImproperlyConfigured

from octostore import datadir, env
from octostore.lib.secrets import ServerKey, encode, mint

NAME = "server.key"


class ServerKeys(Sequence[ServerKey]):
    """All keys, the current one first; raises ImproperlyConfigured with the cause.

    Where none is given and none is in the data directory, one is made when it is first asked for:
    what only looks at the settings leaves nothing behind.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._keys = load_server_keys(data_dir) if are_there(data_dir) else []

    @overload
    def __getitem__(self, index: int) -> ServerKey: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ServerKey]: ...
    def __getitem__(self, index: int | slice) -> ServerKey | Sequence[ServerKey]:
        return self._loaded()[index]

    def __len__(self) -> int:
        return len(self._loaded())

    @property
    def older(self) -> Sequence[ServerKey]:
        """Those behind the current one; a key that is yet to be made has none."""
        return self._keys[1:]

    def _loaded(self) -> list[ServerKey]:
        self._keys = self._keys or load_server_keys(self._data_dir)
        return self._keys


def load_server_keys(data_dir: Path) -> list[ServerKey]:
    """All keys, the current one first.

    `OCTOSTORE_SERVER_KEY` (or `_FILE`) may hold several, newest first, separated by commas or
    white space; without it they are read from `server.key` in the data directory, which is made
    with one fresh key where it does not exist. Raises ImproperlyConfigured with the cause.
    """
    given = env.secret("OCTOSTORE_SERVER_KEY")
    where = "OCTOSTORE_SERVER_KEY" if given else str(data_dir / NAME)
    lines = (given or _read_or_make(data_dir / NAME)).replace(",", " ").split()
    try:
        keys = [ServerKey.from_text(line) for line in lines]
    except ValueError as error:
        raise ImproperlyConfigured(f"{where} must hold server keys, and {error}.") from error
    if not keys:
        raise ImproperlyConfigured(f"{where} is empty: it must hold a server key.")
    return keys


def are_there(data_dir: Path) -> bool:
    """Whether keys can be read without making one."""
    return bool(env.secret("OCTOSTORE_SERVER_KEY")) or os.path.lexists(data_dir / NAME)


def add_server_key(data_dir: Path) -> ServerKey:
    """Put a fresh key in front of those in the data directory's file; the old ones stay for replays."""
    path = data_dir / NAME
    text = encode(mint(32))
    _write(path, f"{text}\n{path.read_text(encoding='ascii') if path.exists() else ''}", replace=True)
    return ServerKey.from_text(text)


def _read_or_make(path: Path) -> str:
    try:
        with datadir.using(path.parent):
            if not path.exists():
                _write(path, encode(mint(32)) + "\n", replace=False)
            if path.stat().st_mode & 0o077:
                raise ImproperlyConfigured(f"{path} can be read by others: run chmod 600 on it, or replace the key.")
            return path.read_text(encoding="ascii")
    except UnicodeDecodeError as error:
        raise ImproperlyConfigured(f"{path} does not hold a server key: it is not text.") from error


def _write(path: Path, text: str, *, replace: bool) -> None:
    """Whole or not at all, for the owner alone; without `replace` the first of two writers wins."""
    draft = path.with_name(f".{path.name}.{random.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            draft.replace(path)
        else:
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)
