"""The real service for browsers: a web process of its own on a filled database, beside a real Valkey."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.browser.scene import Scene
from tests.http import Client
from tests.locks.cast import Worker
from tests.processes import ROOT, Web
from tests.valkey import Valkey


@dataclass(kw_only=True)
class Site:
    web: Web
    scene: Scene
    directory: Path
    environment: dict[str, str]

    @property
    def url(self) -> str:
        return self.web.url

    def another(self) -> Web:
        """A second web process on the same data, not started."""
        return Web(self.directory, self.environment)

    def rooms(self) -> Client:
        return self.web.client()

    def worker(self) -> Worker:
        """One with the team's key, who may do everything that keys can."""
        return Worker(self.scene.key, base_url=self.url)

    def get(self, address: str, person: str = "", **headers: str) -> httpx.Response:
        """What a browser of somebody's gets there."""
        cookies = self.scene.cookies.get(person, {})
        headers = {"Accept": "text/html", **headers}
        return httpx.get(self.url + address, cookies=cookies, headers=headers, trust_env=False, timeout=15)

    def open_streams(self) -> int:
        text = httpx.get(f"{self.url}/metrics", trust_env=False).text
        [found] = re.findall(r"^octostore_open_streams (\S+)$", text, re.MULTILINE)
        return int(float(found))

    def cookies(self, person: str) -> list[Any]:
        """Those of somebody who is signed in, as browsers take them; cookies know no ports."""
        return [
            {"name": name, "value": value, "url": self.url, "httpOnly": True}
            for name, value in self.scene.cookies.get(person, {}).items()
        ]


@contextmanager
def serving(directory: Path, **environment: str) -> Iterator[Site]:
    """A site with all its data in `directory`."""
    with Valkey(directory) as valkey:
        environment = {
            "DATABASE_URL": f"sqlite:///{directory / 'site.sqlite3'}",
            "OCTOSTORE_DATA": str(directory),
            "REDIS_URL": valkey.url,
            "DJANGO_SETTINGS_MODULE": "octostore.settings",
            "OCTOSTORE_LOG_LEVEL": "ERROR",
            "SIGNUP": "open",
        } | environment
        scene = _filled(environment)
        with Web(directory, environment) as web:
            yield Site(web=web, scene=scene, directory=directory, environment=environment)


def _filled(environment: dict[str, str]) -> Scene:
    # In a process of its own: where a browser is driven, an event loop runs, and Django forbids queries there.
    command = [sys.executable, "-m", "tests.browser.scene"]
    run = subprocess.run(command, env=os.environ | environment, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    return Scene(**json.loads(run.stdout))
