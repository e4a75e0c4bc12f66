"""A new server key takes over the signing secrets, so that the old one can go."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from octostore.lib.errors import Unavailable
from octostore.lib.secrets import ServerKey, encode, mint
from tests.webhooks.cast import Keeper, calls, endpoint_of, send, stored
from tests.webhooks.receivers import Receiver
from webhooks import resealing, sealing, tasks
from webhooks.models import Delivery, Endpoint


@pytest.fixture
def rotated(settings: Settings) -> ServerKey:
    """A fresh server key, which nothing was sealed under."""
    return ServerKey.from_text(encode(mint(32)))


class TestResealing:
    def test_makes_the_old_server_key_needless(
        self, keeper: Keeper, receiver: Receiver, settings: Settings, rotated: ServerKey
    ) -> None:
        made = keeper.register(receiver.url())
        new = keeper.rotate(made["id"])["secret"]
        settings.SERVER_KEYS = [rotated, *settings.SERVER_KEYS]
        assert resealing.reseal() == 1
        settings.SERVER_KEYS = [rotated]
        keeper.try_out(made["id"])
        send()
        (call,) = calls(receiver)
        assert call.is_signed_with(made["secret"])
        assert call.is_signed_with(new)

    def test_changes_nothing_that_is_sealed_so_already(
        self, keeper: Keeper, settings: Settings, rotated: ServerKey
    ) -> None:
        first = keeper.register()
        settings.SERVER_KEYS = [rotated, *settings.SERVER_KEYS]
        keeper.register()
        before = stored()
        assert resealing.reseal() == 1
        assert [row["id"] for row in before if row not in stored()] == [endpoint_of(first).pk]
        before = stored()
        assert resealing.reseal() == 0
        assert stored() == before

    def test_of_one_that_was_rotated_since_takes_the_older_secret_along(
        self, keeper: Keeper, settings: Settings, rotated: ServerKey
    ) -> None:
        made = keeper.register()
        settings.SERVER_KEYS = [rotated, *settings.SERVER_KEYS]
        keeper.rotate(made["id"])
        tasks.reseal_secrets()
        settings.SERVER_KEYS = [rotated]
        assert sealing.unseal(endpoint_of(made), endpoint_of(made).previous_secret) == made["secret"]


class TestAKeyThatIsMissed:
    def test_is_told_and_costs_no_attempt(
        self, keeper: Keeper, receiver: Receiver, settings: Settings, rotated: ServerKey
    ) -> None:
        made = keeper.register(receiver.url())
        keeper.try_out(made["id"])
        known, settings.SERVER_KEYS = settings.SERVER_KEYS, [rotated]
        with pytest.raises(Unavailable, match="server key"):
            resealing.reseal()
        before = stored()
        assert send() == 0
        assert stored() == before
        settings.SERVER_KEYS = known
        assert send() == 1

    def test_keeps_none_but_its_own_from_being_sealed_anew(
        self, keeper: Keeper, settings: Settings, rotated: ServerKey
    ) -> None:
        known, lost = settings.SERVER_KEYS, [ServerKey.from_text(encode(mint(32)))]
        for keys in (lost, known, lost, known):
            settings.SERVER_KEYS = keys
            keeper.register()
        settings.SERVER_KEYS = [rotated, *known]
        with pytest.raises(Unavailable, match="server key"):
            resealing.reseal()
        sealed = Endpoint.objects.order_by("pk").values_list("secret", flat=True)
        assert [secret.partition(".")[0] for secret in sealed] == [lost[0].id, rotated.id, lost[0].id, rotated.id]

    def test_is_mended_by_a_new_secret(
        self, keeper: Keeper, receiver: Receiver, settings: Settings, rotated: ServerKey
    ) -> None:
        made = keeper.register(receiver.url())
        settings.SERVER_KEYS = [rotated]
        new = keeper.rotate(made["id"], now=True)["secret"]
        keeper.try_out(made["id"])
        assert send() == 1
        assert calls(receiver)[0].is_signed_with(new)


class TestAtRest:
    def test_nothing_is_a_secret(self, keeper: Keeper) -> None:
        made = keeper.register()
        new = keeper.rotate(made["id"])["secret"]
        rows = repr(stored())
        assert "whsec_" not in rows
        for secret in (made["secret"], new):
            assert secret.removeprefix("whsec_") not in rows

    def test_a_secret_opens_in_its_own_row_alone(self, keeper: Keeper) -> None:
        first, second = endpoint_of(keeper.register()), endpoint_of(keeper.register())
        second.secret = first.secret
        with pytest.raises(ValueError, match="sealed for something else"):
            sealing.secret_of(second)

    def test_two_endpoints_with_one_secret_look_unlike(self, keeper: Keeper) -> None:
        given: dict[str, Any] = {"secret": keeper.register()["secret"]}
        sealed = {endpoint_of(keeper.register(**given)).secret for _ in range(3)}
        assert len(sealed) == 3

    def test_shows_in_no_text_of_a_row(self, keeper: Keeper) -> None:
        made = keeper.register()
        keeper.try_out(made["id"])
        texts = [str(row) + repr(row) for model in (Endpoint, Delivery) for row in model.objects.all()]
        assert not [text for text in texts if "whsec" in text or "canary" in text or endpoint_of(made).secret in text]
