"""API keys: `osk_<12 visible characters>_<43 secret characters>`.

The visible part finds a key and may be shown anywhere; of the secret a digest is kept, so the text
of a key is known to its bearer alone.
"""

from __future__ import annotations

import re
import secrets as random
import string
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import F, Q
from django.utils import timezone

from octostore.lib import ids, secrets
from octostore.lib.errors import AuthenticationFailed, InvalidInput, NotFound
from octostore.teams import last_use
from octostore.teams.audit import Act
from octostore.teams.models import ApiKey, Team
from octostore.teams.principals import SCOPES, Principal
from octostore.teams.writing import changing, reading

VISIBLE_CHARACTERS = 12
PREFIX_MAX_BYTES = 256
NAME_RULE = ids.CANDIDATE_ID_RULE

_ALPHABET = string.ascii_lowercase + string.digits
_TEXT = re.compile(r"osk_([a-z0-9]{12})_[A-Za-z0-9_-]{43}")
_NOBODYS = secrets.digest("API key", "")

# The one look-up of a request; what time says of the row is asked along with it.
_FIND = """
SELECT k.id, k.digest, k.rotation, k.name, k.scopes, k.prefix, k.team_id, t.uuid,
       k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > %(now)s),
       k.last_used_at IS NULL OR k.last_used_at < %(while_ago)s
  FROM teams_apikey k
  JOIN teams_team t ON t.id = k.team_id
 WHERE k.visible = %(visible)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """A key, and its text, which is known now and never again."""

    key: ApiKey
    text: str = field(repr=False)


def find(text: str) -> Principal:
    """Who bears this key. Raises AuthenticationFailed for one that is malformed, unknown, expired or revoked."""
    shaped = _TEXT.fullmatch(text)
    row = reading(lambda: _look_up(shaped[1])) if shaped else None
    if row is None:
        # As long as a comparison takes, so that an unknown key and a wrong secret look the same.
        secrets.same(_digest(text), _NOBODYS)
        raise AuthenticationFailed
    key_id, digest, rotation, name, scopes, prefix, team_id, team_uuid, is_usable, is_idle = row
    if not secrets.same(_digest(text), bytes(digest)) or not is_usable:
        raise AuthenticationFailed
    if is_idle:
        last_use.note(key_id)
    return Principal(
        team_id=team_id,
        team_uuid=str(uuid.UUID(str(team_uuid))),
        key_id=key_id,
        rotation=rotation,
        visible=text[4 : 4 + VISIBLE_CHARACTERS],
        key_name=name,
        scopes=frozenset(scopes.split()),
        prefix=prefix,
    )


def create(
    *,
    team: Team,
    name: str,
    scopes: Iterable[str],
    prefix: str | None = None,
    expires_at: datetime | None = None,
    act: Act,
) -> Issued:
    """A new key of the team. Raises InvalidInput, naming what is wrong."""
    visible, text = _mint()
    key = ApiKey(
        team=team,
        visible=visible,
        digest=_digest(text),
        name=_checked_name(name),
        scopes=_checked_scopes(scopes),
        prefix=_checked_prefix(prefix),
        expires_at=_checked_expiry(expires_at),
        created_by=act.actor,
    )
    with changing():
        key.save()
        act.record(team.id, "key_created", f"key:{visible}", after=describe(key))
    return Issued(key=key, text=text)


def rotate(*, team_id: int, visible: str, rotation: int | None = None, act: Act) -> str:
    """A new text for a key of the team; the old one is dead from this instant.

    `rotation` is the one that was seen: whoever proved the key by a text that was replaced meanwhile
    replaces nothing. Raises NotFound for what is no live key of the team in that state.
    """
    text = _write(visible)
    with changing():
        present = ApiKey.objects.filter(team_id=team_id, visible=visible, revoked_at=None)
        if rotation is not None:
            present = present.filter(rotation=rotation)
        if not present.update(digest=_digest(text), rotation=F("rotation") + 1):
            raise NotFound
        act.record(team_id, "key_rotated", f"key:{visible}")
    return text


def revoke(*, team_id: int, visible: str, act: Act) -> None:
    """End a key of the team; again is harmless. Raises NotFound for what is no key of the team."""
    with changing():
        found = ApiKey.objects.filter(team_id=team_id, visible=visible)
        if found.filter(revoked_at=None).update(revoked_at=timezone.now()):
            act.record(team_id, "key_revoked", f"key:{visible}")
        elif not found.exists():
            raise NotFound


def replace(*, team_id: int, visible: str, ends_in: timedelta, act: Act) -> Issued:
    """A new key in the place of a live one, which ends after `ends_in`, at once with none.

    It has the name, scopes and prefix of the old one, and lasts as long as that was made for. Raises NotFound for
    what is no live key of the team.
    """
    now = timezone.now()
    in_time = Q(expires_at=None) | Q(expires_at__gt=now)
    with changing():
        found = ApiKey.objects.select_for_update().select_related("team")
        old = found.filter(in_time, team_id=team_id, visible=visible, revoked_at=None).first()
        if old is None:
            raise NotFound
        issued = create(
            team=old.team,
            name=old.name,
            scopes=old.scopes.split(),
            prefix=old.prefix,
            expires_at=lasting(old.expires_at - old.created_at) if old.expires_at else None,
            act=act,
        )
        if ends_in:
            old.expires_at = min(now + ends_in, old.expires_at or now + ends_in)
        else:
            old.revoked_at = now
        old.save(update_fields=["expires_at", "revoked_at"])
        after = describe(old) | {"replaced_by": issued.key.visible}
        act.record(team_id, "key_replaced", f"key:{visible}", after=after)
    return issued


def describe(key: ApiKey) -> dict[str, Any]:
    """What audit keeps of a key."""
    expires_at = key.expires_at.isoformat() if key.expires_at else None
    return {"name": key.name, "scopes": key.scopes.split(), "prefix": key.prefix, "expires_at": expires_at}


def _look_up(visible: str) -> tuple[Any, ...] | None:
    now = timezone.now()
    adapted = connection.ops.adapt_datetimefield_value
    parameters = {"visible": visible, "now": adapted(now), "while_ago": adapted(now - last_use.EVERY)}
    with connection.cursor() as cursor:
        cursor.execute(_FIND, parameters)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def _mint() -> tuple[str, str]:
    visible = "".join(random.choice(_ALPHABET) for _ in range(VISIBLE_CHARACTERS))
    return visible, _write(visible)


def _write(visible: str) -> str:
    return f"osk_{visible}_{secrets.encode(secrets.mint(32))}"


def _digest(text: str) -> bytes:
    return secrets.digest("API key", text.encode("utf-8", "backslashreplace").decode())


def _checked_name(name: str) -> str:
    if not ids.is_candidate_id(name):
        raise InvalidInput(f"name must have {NAME_RULE}")
    return name


def _checked_scopes(scopes: Iterable[str]) -> str:
    given = set(scopes)
    if not given or not given <= set(SCOPES):
        raise InvalidInput(f"scopes must be some of {', '.join(SCOPES)}")
    return " ".join(sorted(given))


def _checked_prefix(prefix: str | None) -> str | None:
    if prefix is None:
        return None
    size = len(prefix.encode("utf-8", "surrogatepass"))
    is_sound = 0 < size <= PREFIX_MAX_BYTES and prefix.isprintable() and not prefix.startswith("/")
    if not is_sound:
        raise InvalidInput("prefix must be the beginning of a lock's name")
    return prefix


def _checked_expiry(expires_at: datetime | None) -> datetime | None:
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidInput("expires_at must lie in the future")
    return expires_at


def lasting(length: timedelta | None) -> datetime | None:
    """The instant at which a key that lasts this long expires; None for one that does not."""
    return None if length is None else timezone.now() + length
