"""How many streams and waits are open, for Prometheus; each process tells its own, as limits are its own."""

from __future__ import annotations

from prometheus_client import Gauge

streams = Gauge("octostore_open_streams", "Streams that are open.", multiprocess_mode="liveall")
waits = Gauge("octostore_open_waits", "Requests that wait for a room or a lock.", multiprocess_mode="liveall")
