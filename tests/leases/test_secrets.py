"""Secrets: the tables alone produce no capability, and nothing shows what it should not (G10)."""

from __future__ import annotations

import base64
import logging
import traceback

import pytest
from django.conf import settings
from django.db import connection

from octostore.leases import engine, keyring
from octostore.leases.errors import NotCurrent
from octostore.lib import secrets
from octostore.lib.secrets import ServerKey, encode, mint
from tests.leases.acts import NAME, SPACE, grant, release, renew, row, settle

pytestmark = pytest.mark.usefixtures("database")

ATTEMPT = "attempt-canary-0123456789"


def dump() -> list[str]:
    """Every value of every table, as text and as hexadecimal."""
    values = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            for value in (value for record in cursor.fetchall() for value in record):
                values.append(bytes(value).hex() if isinstance(value, bytes | memoryview) else str(value))
    return values


class TestACapability:
    def test_follows_from_key_nonce_and_name(self) -> None:
        granted = grant()
        assert keyring.capability(row().key_id, bytes(row().nonce or b""), SPACE, NAME) == granted.capability

    def test_does_not_follow_without_the_key(self) -> None:
        granted = grant()
        other = ServerKey.from_text(encode(mint(32)))
        derived = other.derive("capability", bytes(row().nonce or b""), SPACE.encode(), NAME.encode())
        assert encode(derived) != granted.capability

    def test_differs_for_each_grant(self) -> None:
        capabilities = set()
        for _ in range(20):
            granted = grant()
            capabilities.add(granted.capability)
            release(granted)
        assert len(capabilities) == 20

    @pytest.mark.parametrize(("left", "right"), [(("ab", "c"), ("a", "bc")), (("a", ""), ("", "a"))])
    def test_of_one_nonce_differs_for_names_that_join_alike(
        self, left: tuple[str, str], right: tuple[str, str]
    ) -> None:
        key, nonce = keyring.current().id, mint(32)
        assert keyring.capability(key, nonce, *left) != keyring.capability(key, nonce, *right)

    def test_has_256_bits(self) -> None:
        assert len(base64.urlsafe_b64decode(grant().capability + "=")) == 32


class TestADump:
    def test_holds_no_capability_key_or_attempt(self) -> None:
        granted = grant(attempt=ATTEMPT)
        renew(granted)
        grant("other", attempt=ATTEMPT + "!")
        release(granted)
        raw = base64.urlsafe_b64decode(granted.capability + "=")
        planted = [granted.capability, raw.hex(), ATTEMPT, ATTEMPT.encode().hex()]
        for key in settings.SERVER_KEYS:
            planted += [key.secret.hex(), encode(key.secret)]
        found = dump()
        assert keyring.digest(granted.capability).hex() in found, "the dump shows what it should"
        assert [secret for secret in planted if any(secret in value for value in found)] == []

    def test_of_a_digest_does_not_serve_as_capability(self) -> None:
        grant()
        for stolen in (row().capability_digest, row().nonce, row().content_digest):
            for spelling in (encode(bytes(stolen or b"")), bytes(stolen or b"").hex()):
                with pytest.raises(NotCurrent):
                    engine.renew(SPACE, NAME, capability=spelling)


class TestWhatIsShown:
    def test_a_keys_representation_hides_it(self) -> None:
        key = ServerKey.from_text(encode(mint(32)))
        for shown in (repr(key), str(key), f"{key}", repr([key])):
            assert key.id in shown
            assert encode(key.secret) not in shown
            assert repr(key.secret) not in shown

    def test_a_key_id_is_no_part_of_the_key(self) -> None:
        key = ServerKey.from_text(encode(mint(32)))
        assert key.id not in key.secret.hex()

    def test_a_refusal_does_not_repeat_what_was_presented(self) -> None:
        granted = grant()
        release(granted)
        with pytest.raises(NotCurrent) as refused:
            renew(granted)
        shown = "".join(traceback.format_exception(refused.value)) + repr(refused.value.extra)
        assert granted.capability not in shown

    def test_no_log_line_carries_one(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        granted = grant(attempt=ATTEMPT, metadata="canary-metadata")
        renew(granted)
        with pytest.raises(NotCurrent):
            engine.renew(SPACE, NAME, capability="canary-capability")
        release(granted)
        settle()
        for planted in (granted.capability, ATTEMPT, "canary-metadata", "canary-capability"):
            assert planted not in caplog.text


class TestDigests:
    def test_of_lists_that_join_alike_differ(self) -> None:
        assert secrets.digest("kind", "ab", "c") != secrets.digest("kind", "a", "bc")
        assert secrets.digest("kind", "a") != secrets.digest("kind", "a", "")
        assert secrets.digest("one", "a") != secrets.digest("two", "a")
