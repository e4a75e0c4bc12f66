"""News of the engine, sent after the commit: a nudge. The truth is in the event rows."""

from __future__ import annotations

from django.dispatch import Signal

# Sent robustly, for what a receiver raises changes nothing about what was committed, with `space` and `name` for every grant, renewal and end made through the engine. What a
# crash or a sweep leaves untold is found by whoever reads the rows.
lease_changed = Signal()
