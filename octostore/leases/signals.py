"""News of the engine, sent after the commit: a nudge. The truth is in the event rows."""

from __future__ import annotations

from django.dispatch import Signal

# Sent with `space` and `name` for every grant, renewal and end made through the engine; robustly, for
# what a receiver raises changes nothing about what was committed. What a crash or a sweep leaves
# untold is found by whoever reads the rows.
lease_changed = Signal()
