"""Server keys: new ones grant, old ones still answer for their live grants, unknown ones do not start."""

from __future__ import annotations

import stat
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from pytest_django import Settings

from octostore.keyfile import load_server_keys
from octostore.leases import keyring
from octostore.leases.models import KnownKey
from octostore.leases.outcomes import AttemptOver
from octostore.lib.errors import Unavailable
from octostore.lib.secrets import ServerKey, encode, mint
from tests.leases.acts import acquire, grant, release, renew, row

pytestmark = pytest.mark.usefixtures("database")

Serve = Callable[..., None]


def make_key() -> ServerKey:
    return ServerKey.from_text(encode(mint(32)))


OLD, NEW, STRANGE = make_key(), make_key(), make_key()


@pytest.fixture
def serve(settings: Settings) -> Serve:
    """Serve under these keys, the current one first."""

    def serve(*keys: ServerKey) -> None:
        settings.SERVER_KEYS = list(keys)

    return serve


class TestANewKeyInFront:
    def test_makes_the_new_grants(self, serve: Serve) -> None:
        serve(OLD)
        grant("before")
        serve(NEW, OLD)
        grant("after")
        assert (row("before").key_id, row("after").key_id) == (OLD.id, NEW.id)

    def test_touches_no_live_lease(self, serve: Serve) -> None:
        serve(OLD)
        granted = grant()
        serve(NEW, OLD)
        assert renew(granted).capability == granted.capability
        release(granted)

    def test_replays_a_grant_of_the_old_one(self, serve: Serve) -> None:
        serve(OLD)
        granted = grant(attempt="attempt")
        serve(NEW, OLD)
        again = grant(attempt="attempt")
        assert again.replayed
        assert again.capability == granted.capability
        assert row().key_id == OLD.id


class TestWithoutTheOldKey:
    def test_a_live_lease_is_still_renewed_and_released(self, serve: Serve) -> None:
        serve(OLD)
        granted = grant()
        serve(NEW)
        release(renew(granted))

    def test_a_replay_is_unavailable_and_no_other_grant(self, serve: Serve) -> None:
        serve(OLD)
        granted = grant(attempt="attempt")
        serve(NEW)
        with pytest.raises(Unavailable):
            acquire(attempt="attempt")
        assert row().term == granted.hold.term

    def test_a_term_that_is_over_is_told_so(self, serve: Serve) -> None:
        serve(OLD)
        granted = grant(attempt="attempt")
        release(granted)
        serve(NEW)
        assert acquire(attempt="attempt") == AttemptOver(term=granted.hold.term)


class TestStarting:
    def test_a_new_database_adopts_the_first_key(self, serve: Serve) -> None:
        serve(NEW, OLD)
        keyring.require_known_key()
        assert list(KnownKey.objects.values_list("key_id", flat=True)) == [NEW.id]

    def test_a_known_key_starts_again(self, serve: Serve) -> None:
        serve(OLD)
        for _ in range(2):
            keyring.require_known_key()
        assert KnownKey.objects.count() == 1

    def test_an_unknown_key_does_not_start(self, serve: Serve) -> None:
        serve(OLD)
        keyring.require_known_key()
        serve(STRANGE)
        with pytest.raises(ImproperlyConfigured, match=f"does not know the server key {STRANGE.id}"):
            keyring.require_known_key()

    def test_an_unknown_key_does_not_start_beside_a_known_older_one(self, serve: Serve) -> None:
        serve(OLD)
        keyring.require_known_key()
        serve(STRANGE, OLD)
        with pytest.raises(ImproperlyConfigured):
            keyring.require_known_key()

    def test_a_database_with_leases_and_no_known_key_does_not_start(self, serve: Serve) -> None:
        serve(OLD)
        grant()
        with pytest.raises(ImproperlyConfigured):
            keyring.require_known_key()

    def test_an_adopted_key_starts(self, serve: Serve) -> None:
        serve(OLD)
        keyring.require_known_key()
        serve(NEW, OLD)
        keyring.adopt(NEW)
        keyring.require_known_key()


class TestTheCommand:
    def test_adopts_the_current_key(self, serve: Serve) -> None:
        serve(NEW)
        out = StringIO()
        call_command("adopt_server_key", stdout=out)
        assert NEW.id in out.getvalue()
        keyring.require_known_key()

    def test_puts_a_fresh_key_in_front_and_keeps_the_old(
        self, serve: Serve, settings: Settings, tmp_path: Path
    ) -> None:
        settings.DATA_DIR = tmp_path
        [old] = load_server_keys(tmp_path)
        serve(old)
        keyring.require_known_key()
        call_command("adopt_server_key", "--new", stdout=StringIO())
        new, kept = load_server_keys(tmp_path)
        assert kept == old
        assert stat.S_IMODE((tmp_path / "server.key").stat().st_mode) == 0o600
        serve(new, kept)
        keyring.require_known_key()

    def test_makes_no_new_key_where_the_environment_gives_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OCTOSTORE_SERVER_KEY", encode(mint(32)))
        with pytest.raises(CommandError, match="OCTOSTORE_SERVER_KEY"):
            call_command("adopt_server_key", "--new", stdout=StringIO())
