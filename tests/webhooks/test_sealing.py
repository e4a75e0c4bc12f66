"""A sealed secret opens for whom it was sealed, under the server's keys, and shows nothing of itself (G10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octostore.lib.errors import Unavailable
from octostore.lib.sealing import seal, unseal
from octostore.lib.secrets import ServerKey, encode, mint

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")

SECRET = "whsec_c2VjcmV0LWNhbmFyeS0wMTIzNDU2Nzg5"


def fresh_key() -> ServerKey:
    return ServerKey.from_text(encode(mint(32)))


KEYS = [fresh_key()]


class TestASealedSecret:
    @given(secret=st.text(), bound_to=st.text(st.characters(codec="utf-8")))
    def test_opens_again(self, secret: str, bound_to: str) -> None:
        secret = secret.encode("utf-8", "replace").decode()
        assert unseal(seal(secret, keys=KEYS, bound_to=bound_to), keys=KEYS, bound_to=bound_to) == secret

    def test_shows_nothing_of_the_secret(self) -> None:
        sealed = seal(SECRET, keys=KEYS, bound_to="endpoint 1")
        assert SECRET not in sealed
        assert SECRET.removeprefix("whsec_") not in sealed

    def test_differs_each_time(self) -> None:
        assert len({seal(SECRET, keys=KEYS, bound_to="endpoint 1") for _ in range(20)}) == 20

    def test_opens_for_nothing_else(self) -> None:
        sealed = seal(SECRET, keys=KEYS, bound_to="endpoint 1")
        with pytest.raises(ValueError, match="sealed for something else"):
            unseal(sealed, keys=KEYS, bound_to="endpoint 2")

    def test_does_not_open_with_another_key(self) -> None:
        sealed = seal(SECRET, keys=KEYS, bound_to="endpoint 1")
        with pytest.raises(ValueError, match="was changed"):
            unseal(sealed, keys=[ServerKey(id=KEYS[0].id, secret=mint(32))], bound_to="endpoint 1")

    def test_does_not_open_once_changed(self) -> None:
        sealed = seal(SECRET, keys=KEYS, bound_to="endpoint 1")
        start = len(KEYS[0].id) + 1
        for place in range(start, len(sealed)):
            changed = sealed[:place] + ("A" if sealed[place] != "A" else "B") + sealed[place + 1 :]
            with pytest.raises(ValueError, match="was changed"):
                unseal(changed, keys=KEYS, bound_to="endpoint 1")

    @pytest.mark.parametrize("rest", ["", ".", ".AAAA", ".not base64", ".ünïcode"])
    def test_does_not_open_when_it_is_none(self, rest: str) -> None:
        with pytest.raises(ValueError, match="was changed"):
            unseal(KEYS[0].id + rest, keys=KEYS, bound_to="endpoint 1")


class TestARotatedServerKey:
    def test_opens_what_its_predecessor_sealed(self) -> None:
        sealed = seal(SECRET, keys=KEYS, bound_to="endpoint 1")
        assert unseal(sealed, keys=[fresh_key(), *KEYS], bound_to="endpoint 1") == SECRET

    def test_seals_from_now_on(self) -> None:
        rotated = [fresh_key(), *KEYS]
        sealed = seal(SECRET, keys=rotated, bound_to="endpoint 1")
        assert unseal(sealed, keys=rotated[:1], bound_to="endpoint 1") == SECRET

    def test_is_missed_where_the_process_lacks_it(self) -> None:
        sealed = seal(SECRET, keys=KEYS, bound_to="endpoint 1")
        with pytest.raises(Unavailable, match="server key"):
            unseal(sealed, keys=[fresh_key()], bound_to="endpoint 1")
