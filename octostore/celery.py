"""Celery: the app, and what runs when. Nothing here is needed for safety (guarantees, G7).

`celery -A octostore worker -B` runs it all; every task is right with any number of workers and
schedulers at once.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
import warnings
from typing import Any

from celery import Celery, bootsteps, signals
from celery.exceptions import SecurityWarning
from celery.platforms import EX_FAILURE
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from kombu.transport.redis import Channel

from octostore.server.parent import die_with

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "octostore.settings")
try:
    LOG_LEVEL = settings.LOG_LEVEL
except ImproperlyConfigured as error:  # seen here by `celery` alone: manage.py has read them before
    sys.exit(f"OctoStore cannot start: {error}")

# Celery warns every root, as whoever can write to the broker might run code here. With JSON nobody can.
warnings.filterwarnings("ignore", category=SecurityWarning)

# What a worker held when Redis went, it would give back or acknowledge on a connection that is none any more, and
# end of it. No message is needed: whatever one tells of, a later task finds in the database. So none is kept either.
Channel.do_restore = False
BROKER_OPTIONS = {"ack_emulation": False, "socket_connect_timeout": 5, "socket_timeout": 30, "socket_keepalive": True}

# A message that waited longer than until the next one is due is of no use: no backlog is ever run.
BEAT = {
    "sweep": {
        "task": "octostore.leases.tasks.sweep",
        "schedule": 1,
        "options": {"queue": "sweep", "expires": 2},
    },
    "trim_history": {"task": "octostore.leases.tasks.trim_history", "schedule": 60, "options": {"expires": 60}},
    "forget_idle_locks": {"task": "locks.tasks.forget_idle_locks", "schedule": 600, "options": {"expires": 600}},
    "forget_old_sign_ins": {
        "task": "octostore.pages.tasks.forget_old_sign_ins",
        "schedule": 3600,
        "options": {"expires": 3600},
    },
    "probe": {"task": "octostore.pages.tasks.probe", "schedule": 30, "options": {"expires": 30}},
    "forget_idle_rooms": {"task": "elections.tasks.forget_idle_rooms", "schedule": 60, "options": {"expires": 60}},
    "dispatch": {"task": "webhooks.tasks.dispatch", "schedule": 1, "options": {"expires": 2}},
    "tell_owners": {"task": "webhooks.tasks.tell_owners", "schedule": 60, "options": {"expires": 60}},
    "forget_old_deliveries": {
        "task": "webhooks.tasks.forget_old_deliveries",
        "schedule": 600,
        "options": {"expires": 600},
    },
    "reseal_secrets": {"task": "webhooks.tasks.reseal_secrets", "schedule": 600, "options": {"expires": 600}},
}

app = Celery(
    "octostore",
    accept_content=["json"],
    task_serializer="json",
    task_ignore_result=True,
    task_default_queue="default",
    # Calls to customers wait for customers: they have a queue and, where `-Q` says so, a worker of their own.
    task_queues={"sweep": {}, "default": {}, "deliveries": {}},
    task_routes={"webhooks.tasks.deliver": {"queue": "deliveries"}},
    worker_pool="threads",
    worker_concurrency=4,
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,
    worker_redirect_stdouts=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=math.inf,
    # A Redis that answers with errors (it is full, read-only, forbids a command) is waited for like one that is gone.
    broker_channel_error_retry=True,
    broker_transport_options=BROKER_OPTIONS,
    timezone="UTC",
    beat_schedule=BEAT,
    # The table is above and nothing else is worth remembering, so it needs no file.
    beat_scheduler="celery.beat:Scheduler",
)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
# On every thread: what a web process enqueues goes to this broker.
app.set_default()


@signals.setup_logging.connect
def leave_logging_alone(**_: Any) -> None:
    """The settings have set it up, and a receiver here keeps Celery from doing so again."""
    if LOG_LEVEL == "INFO":
        # Three lines for each task, and there is one every second.
        for name in ("celery.beat", "celery.worker.strategy", "celery.app.trace"):
            logging.getLogger(name).setLevel(logging.WARNING)


@signals.worker_init.connect
def refuse_unready_database(**_: Any) -> None:
    from octostore.server.startup import require_database  # knows models, and Django is not set up above

    try:
        require_database()
    except ImproperlyConfigured as error:
        # Celery logs what a receiver raises and goes on, unless it is an exit.
        sys.exit(f"OctoStore cannot start: {error}")


@signals.worker_init.connect
def tie_scheduler_to_worker(**_: Any) -> None:
    """The scheduler of `-B` is a process of its own, which a killed worker would leave behind."""
    worker = os.getpid()

    @signals.beat_embedded_init.connect(weak=False)
    def end_with_worker(**_: Any) -> None:
        die_with(worker)


class EndWithScheduler(bootsteps.StartStopStep):  # type: ignore[misc]
    """A worker whose scheduler is gone ends too: whoever started it starts both again, and nobody the one alone."""

    requires = ("celery.worker.components:Beat",)

    def start(self, worker: Any) -> None:
        if worker.beat:
            threading.Thread(target=self._wait, args=(worker,), name="scheduler's end", daemon=True).start()

    @staticmethod
    def _wait(worker: Any) -> None:
        worker.beat.join()
        if worker.blueprint.state == bootsteps.RUN:
            logging.getLogger(__name__).error("The scheduler ended by itself; the worker ends with it.")
            worker.state.should_stop = EX_FAILURE


app.steps["worker"].add(EndWithScheduler)
