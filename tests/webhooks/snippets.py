"""The verification snippets of `docs/webhooks`, each run in its own language."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house.sources import ROOT

SNIPPETS = ROOT / "docs" / "webhooks"


@dataclass(frozen=True, kw_only=True)
class Received:
    """What a receiver has in hand when it verifies."""

    secrets: list[str]
    headers: dict[str, str]
    body: bytes


# Whether each is verified.
Verify = Callable[[list[Received]], list[bool]]

# Both read the cases as JSON from standard input, and print the verdicts.
_NODE = """
import { verify } from "./verify.mjs";
let text = "";
for await (const piece of process.stdin) text += piece;
const verdicts = JSON.parse(text).map(({ secrets, headers, body }) =>
  verify(secrets, new Headers(headers), Buffer.from(body, "base64")));
console.log(JSON.stringify(verdicts));
"""
_GO = """
package main

import (
	"encoding/json"
	"os"

	"receiver/webhooks"
)

func main() {
	var cases []struct {
		Secrets []string
		Headers map[string]string
		Body    []byte
	}
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	verdicts := []bool{}
	for _, one := range cases {
		header := func(name string) string { return one.Headers[name] }
		verdicts = append(verdicts, webhooks.Verify(one.Secrets, header, one.Body))
	}
	json.NewEncoder(os.Stdout).Encode(verdicts)
}
"""


def in_python(_: Path) -> Verify:
    spec = importlib.util.spec_from_file_location("verify", SNIPPETS / "verify.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda cases: [module.verify(one.secrets, one.headers, one.body) for one in cases]


def in_typescript(directory: Path) -> Verify:
    """By any Node: what it would strip of the types, the snippet does without."""
    node = _installed("node")
    shutil.copy(SNIPPETS / "verify.ts", directory / "verify.mjs")
    (directory / "main.mjs").write_text(_NODE)
    return lambda cases: _ask([node, str(directory / "main.mjs")], cases)


def in_go(directory: Path) -> Verify:
    go = _installed("go")
    (directory / "webhooks").mkdir()
    shutil.copy(SNIPPETS / "verify.go", directory / "webhooks")
    (directory / "go.mod").write_text("module receiver\n\ngo 1.19\n")
    (directory / "main.go").write_text(_GO)
    environ = os.environ | {"GOTOOLCHAIN": "local", "GOPROXY": "off", "CGO_ENABLED": "0"}
    built = subprocess.run([go, "build", "-o", "main", "."], cwd=directory, env=environ, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return lambda cases: _ask([str(directory / "main")], cases)


def in_bash(_: Path) -> Verify:
    bash = _installed("bash")
    _installed("openssl")

    def verify(one: Received) -> bool:
        said = [one.headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature")]
        done = subprocess.run(
            [bash, str(SNIPPETS / "verify.sh"), *said],
            env=os.environ | {"WEBHOOK_SECRETS": " ".join(one.secrets)},
            input=one.body,
            capture_output=True,
        )
        assert done.returncode in {0, 1}, done.stderr
        assert not done.stderr
        return done.returncode == 0

    return lambda cases: [verify(one) for one in cases]


def _ask(command: list[str], cases: list[Received]) -> list[bool]:
    given = [
        {"secrets": one.secrets, "headers": one.headers, "body": base64.b64encode(one.body).decode()} for one in cases
    ]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    verdicts: list[bool] = json.loads(done.stdout)
    return verdicts


def _installed(command: str) -> str:
    if path := shutil.which(command):
        return path
    pytest.skip(f"{command} is not installed, so its snippet is not run")
