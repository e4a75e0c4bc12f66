"""Methods the parser does not know: an address refuses them as it refuses any other it does not answer.

The parser ends a connection over a method that is not on its list. So the first line is looked at
before it: where the method is sound but not one of ours, the parser reads another in its place.
"""

from __future__ import annotations

import re

from octostore.api.metrics import METHODS

# What is told of a method that is not one of ours; which it was is the client's own.
OTHER = "OTHER"
_STAND_IN = b"POST"
_OURS = {method.encode() for method in METHODS}
# RFC 9110, section 5.6.2, and no longer than anybody's.
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{0,32}")
_FIRST_LINE = re.compile(rb"[^ ]+ [^\s]+ HTTP/[^\s]*\r?\n")


def read_opening(begun: bytes) -> tuple[bytes, bool] | None:
    """What the parser shall read of the first bytes of a message, and whether that hides another method.

    None where more of it must come first.
    """
    method, blank, rest = begun.partition(b" ")
    if (blank and method in _OURS) or not _TOKEN.fullmatch(method):
        return begun, False
    if not blank or b"\n" not in rest:
        return None
    if not _FIRST_LINE.match(begun):
        return begun, False
    return _STAND_IN + blank + rest, True
