"""What is signed verifies with the specification's own verifier; what was tampered with does not."""

from __future__ import annotations

import base64
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from webhooks.signing import is_secret, mint_secret, sign, signed_headers

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")

BODY = '{"type":"lock.acquired","data":{"lock":"größer"}}'.encode()
ID = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W"


def now() -> datetime:
    return datetime.now(UTC)


def of_bytes(size: int) -> str:
    return "whsec_" + base64.b64encode(bytes(range(size))).decode()


class TestASignature:
    def test_is_the_specifications_example(self) -> None:
        # From https://github.com/standard-webhooks/standard-webhooks, the libraries' shared test vector.
        signature = sign(
            ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
            message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
            at=datetime.fromtimestamp(1614265330, UTC),
            body=b'{"test": 2432232314}',
        )
        assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

    def test_verifies(self) -> None:
        secret = mint_secret()
        Webhook(secret).verify(BODY, signed_headers([secret], message_id=ID, at=now(), body=BODY))

    def test_is_made_with_each_secret(self) -> None:
        old, new = mint_secret(), mint_secret()
        headers = signed_headers([new, old], message_id=ID, at=now(), body=BODY)
        assert len(headers["webhook-signature"].split(" ")) == 2
        for secret in (old, new):
            Webhook(secret).verify(BODY, headers)

    def test_fails_with_another_secret(self) -> None:
        headers = signed_headers([mint_secret()], message_id=ID, at=now(), body=BODY)
        with pytest.raises(WebhookVerificationError, match="No matching signature"):
            Webhook(mint_secret()).verify(BODY, headers)

    @pytest.mark.parametrize("header", ["webhook-id", "webhook-timestamp"])
    def test_covers_the_headers(self, header: str) -> None:
        secret = mint_secret()
        headers = signed_headers([secret], message_id=ID, at=now(), body=BODY)
        headers[header] = str(int(time.time()) - 1) if header == "webhook-timestamp" else "msg_other"
        with pytest.raises(WebhookVerificationError, match="No matching signature"):
            Webhook(secret).verify(BODY, headers)

    def test_covers_the_body(self) -> None:
        secret = mint_secret()
        headers = signed_headers([secret], message_id=ID, at=now(), body=BODY)
        with pytest.raises(WebhookVerificationError, match="No matching signature"):
            Webhook(secret).verify(BODY.replace(b"acquired", b"released"), headers)

    def test_of_an_old_attempt_is_too_old(self) -> None:
        secret = mint_secret()
        headers = signed_headers([secret], message_id=ID, at=now() - timedelta(minutes=6), body=BODY)
        with pytest.raises(WebhookVerificationError, match="too old"):
            Webhook(secret).verify(BODY, headers)

    def test_is_the_same_in_every_time_zone(self) -> None:
        secret, at = mint_secret(), now()
        elsewhere = at.astimezone(timezone(timedelta(hours=-7)))
        assert signed_headers([secret], message_id=ID, at=at, body=BODY) == signed_headers(
            [secret], message_id=ID, at=elsewhere, body=BODY
        )

    def test_needs_an_aware_instant(self) -> None:
        with pytest.raises(ValueError, match="aware"):
            sign([mint_secret()], message_id=ID, at=datetime.now(), body=BODY)

    @pytest.mark.parametrize("secrets", [[], ["whsec_"], ["secret"], [mint_secret(), "whsec_short"]])
    def test_needs_good_secrets(self, secrets: list[str]) -> None:
        with pytest.raises(ValueError, match="takes one or more secrets") as caught:
            sign(secrets, message_id=ID, at=now(), body=BODY)
        assert not any(secret in str(caught.value) for secret in secrets if len(secret) > 6)

    @pytest.mark.parametrize("message_id", ["", "msg.1"])
    def test_needs_a_message_id_without_a_dot(self, message_id: str) -> None:
        with pytest.raises(ValueError, match="no dot"):
            sign([mint_secret()], message_id=message_id, at=now(), body=BODY)


class TestASecret:
    def test_that_was_minted_is_one(self) -> None:
        minted = {mint_secret() for _ in range(50)}
        assert len(minted) == 50
        assert all(map(is_secret, minted))

    @pytest.mark.parametrize("size", [24, 25, 32, 63, 64])
    def test_has_24_to_64_bytes(self, size: int) -> None:
        assert is_secret(of_bytes(size))

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "whsec_",
            of_bytes(23),
            of_bytes(65),
            of_bytes(32).removeprefix("whsec_"),
            of_bytes(32).replace("whsec_", "WHSEC_"),
            of_bytes(25).rstrip("="),
            of_bytes(25) + "=",
            of_bytes(32) + "\n",
            " " + of_bytes(32),
            "whsec_" + "-_" * 20,
            "whsec_" + "ä" * 40,
            # 25 bytes whose last letter carries bits that no byte has: two texts would be one key.
            "whsec_" + "A" * 33 + "B==",
        ],
    )
    def test_is_refused_otherwise(self, text: str) -> None:
        assert not is_secret(text)
