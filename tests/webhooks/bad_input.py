"""What the fields of a webhook do not take, as JSON; each label says why."""

from __future__ import annotations

import base64

# One that is taken.
GIVEN = "whsec_" + base64.b64encode(b"a secret of the caller's own").decode()

NO_URLS = {
    "empty": '""',
    "no scheme": '"example.com/hook"',
    "plain HTTP": '"http://example.com/"',
    "other scheme": '"ftp://example.com/"',
    "user": '"https://user:password@example.com/"',
    "odd port": '"https://example.com:22/"',
    "fragment": '"https://example.com/#a"',
    "one label": '"https://localhost/"',
    "loopback": '"https://127.0.0.1/"',
    "short": '"https://127.1/"',
    "hexadecimal": '"https://0x7f000001/"',
    "decimal": '"https://2130706433/"',
    "octal": '"https://017700000001/"',
    "IPv6": '"https://[::1]/"',
    "mapped": '"https://[::ffff:127.0.0.1]/"',
    "NAT64": '"https://[64:ff9b::a9fe:a9fe]/"',
    "metadata": '"https://169.254.169.254/latest"',
    "private": '"https://192.168.0.1/"',
    "internal": '"https://vault.internal/"',
    "space": '"https://example.com/a b"',
    "line end": '"https://example.com/\\n"',
    "not ASCII": '"https://example.com/\\u00e9"',
    "backslash": '"https://example.com\\\\@127.0.0.1/"',
    "over 2048": '"https://example.com/' + "a" * 2048 + '"',
}
NO_EVENTS = {
    "none": "[]",
    "unknown": '["lost"]',
    "type of the body": '["lock.acquired"]',
    "capitals": '["Acquired"]',
    "one of two": '["acquired", "lost"]',
    "empty": '[""]',
}
NO_PATTERNS = {
    "empty": '""',
    "star first": '"*/a"',
    "two stars": '"a**"',
    "star inside": '"a*b"',
    "line end": '"a\\n"',
    "258 bytes": '"' + "a" * 257 + '*"',
    "258 bytes of two": '"' + "\\u00e9" * 129 + '"',
}
NO_SECRETS = {
    "empty": '""',
    "without prefix": '"' + GIVEN.removeprefix("whsec_") + '"',
    "short": '"whsec_c2hvcnQ="',
    "no base64": '"whsec_' + "-_" * 20 + '"',
    "space": '" ' + GIVEN + '"',
    "long": '"whsec_' + "A" * 400 + '"',
}
