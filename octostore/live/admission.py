"""How much a client may ask for: the budgets of the contract (section 2, Admission).

A budget is spent on the request's way without asking anything outside this process.
"""

from __future__ import annotations

import os
from typing import cast

from django.conf import settings
from django.utils.functional import SimpleLazyObject

from octostore.lib.secrets import ServerKey
from octostore.live.sharing import Sharing

# The key is made when it is first asked for, and an import asks for nothing.
_key = SimpleLazyObject(lambda: settings.SERVER_KEYS[0])
_sharing = Sharing(settings.REDIS_URL, cast(ServerKey, _key))

campaigns = _sharing.budget("campaigns", lambda: settings.ELECTION_REQUESTS_PER_MINUTE)
wrong_capabilities = _sharing.budget("wrong_capabilities", lambda: settings.WRONG_CAPABILITIES_PER_MINUTE)
wrong_keys = _sharing.budget("wrong_keys", lambda: settings.WRONG_KEYS_PER_MINUTE)

os.register_at_fork(after_in_child=_sharing.start_afresh)
