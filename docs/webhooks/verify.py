import base64
import hmac
import time


def verify(secrets, headers, body):
    """Whether `body`, the request's raw bytes, was signed with one of `secrets` in the last five minutes."""
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (timestamp.isdecimal() and len(timestamp) < 13 and abs(time.time() - int(timestamp)) <= 300):
        return False
    for secret in secrets:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        signature = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + body, "sha256")
        expected = b"v1," + base64.b64encode(signature)
        for given in headers.get("webhook-signature", "").split():
            if hmac.compare_digest(expected, given.encode()):
                return True
    return False
