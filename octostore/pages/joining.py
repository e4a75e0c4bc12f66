"""How a worker joins a room, in the languages it may speak; the room and the service are filled in.

Where the leader's secret belongs, a variable of the shell stands.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """`slug` names it in ids; `note` says what it needs."""

    slug: str
    title: str
    note: str
    text: str


def snippets(service_url: str, election_id: str, candidate_id: str = "worker-b") -> list[Snippet]:
    """One for each language, each a whole program or a command."""
    filled = {"@ROOM@": f"{service_url}/elections/{election_id}", "@ME@": candidate_id}
    return [
        Snippet(slug=slug, title=title, note=note, text=_fill(text, filled)) for slug, title, note, text in _PROGRAMS
    ]


def _fill(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


_CURL = """\
curl -sS -X POST @ROOM@/campaign \\
  -H 'Content-Type: application/json' \\
  -d '{"candidate_id": "@ME@", "ttl_seconds": 30}'

# As the leader, every 15 seconds:
curl -sS -X POST @ROOM@/renew \\
  -H 'Content-Type: application/json' -d "{\\"leader_token\\": \\"$LEADER_TOKEN\\"}"

# When done:
curl -sS -X POST @ROOM@/resign \\
  -H 'Content-Type: application/json' -d "{\\"leader_token\\": \\"$LEADER_TOKEN\\"}"
"""

_BASH = """\
room=@ROOM@
ask() { curl -sS -m 10 -X POST "$room/$1" -H 'Content-Type: application/json' -d "$2"; }

while true; do
  answer=$(ask campaign '{"candidate_id": "@ME@", "ttl_seconds": 30, "wait_seconds": 5}')
  LEADER_TOKEN=$(jq -r '.leader_token // empty' <<<"$answer")
  while [ -n "$LEADER_TOKEN" ]; do
    echo "leading term $(jq .leader.term <<<"$answer")"   # do the work here, a few seconds at a time
    sleep 10
    answer=$(ask renew "{\\"leader_token\\": \\"$LEADER_TOKEN\\"}")
    LEADER_TOKEN=$(jq -r '.leader_token // empty' <<<"$answer")
  done
  sleep 1
done
"""

_PYTHON = """\
import json, time, urllib.error, urllib.request

ROOM = "@ROOM@"

def ask(verb, **body):
    request = urllib.request.Request(
        f"{ROOM}/{verb}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
    except (urllib.error.URLError, TimeoutError):
        return {"status": "unknown"}

while True:
    answer = ask("campaign", candidate_id="@ME@", ttl_seconds=30)
    while answer["status"] == "leader":
        print("leading term", answer["leader"]["term"])  # do the work here, a few seconds at a time
        time.sleep(answer["renew_after_ms"] / 1000)
        answer = ask("renew", leader_token=answer["leader_token"])
    time.sleep(answer.get("retry_after_ms", 1000) / 1000)
"""

_TYPESCRIPT = """\
const room = "@ROOM@";
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

async function ask(verb: string, body: object) {
  try {
    const headers = { "Content-Type": "application/json" };
    const signal = AbortSignal.timeout(10_000);
    const answer = await fetch(`${room}/${verb}`, { method: "POST", headers, signal, body: JSON.stringify(body) });
    return await answer.json();
  } catch {
    return { status: "unknown" };
  }
}

while (true) {
  let answer = await ask("campaign", { candidate_id: "@ME@", ttl_seconds: 30 });
  while (answer.status === "leader") {
    console.log("leading term", answer.leader.term); // do the work here, a few seconds at a time
    await pause(answer.renew_after_ms);
    answer = await ask("renew", { leader_token: answer.leader_token });
  }
  await pause(answer.retry_after_ms ?? 1000);
}
"""

_PROGRAMS = (
    ("curl", "curl", "Needs curl alone.", _CURL),
    ("bash", "bash", "Needs curl and jq.", _BASH),
    ("python", "Python", "Needs Python 3.8 or newer and nothing else.", _PYTHON),
    ("typescript", "TypeScript", "Runs on Node 22.18, Deno or Bun as it is.", _TYPESCRIPT),
)
