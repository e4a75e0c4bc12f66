"""Word to a worker that there may be something to do. Lost, it costs a second."""

from __future__ import annotations

from typing import Any

import structlog
from celery import Task, current_app
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)


def wake(task: Task, **options: Any) -> None:
    """Send the task's message, unless its queue holds any that no worker has taken yet.

    So what nobody takes does not grow, and whoever takes the one does all there is to do.
    """
    queue = current_app.amqp.router.route(options, task.name)["queue"].name
    try:
        with current_app.producer_or_acquire() as producer:
            if not producer.channel._size(queue):
                task.apply_async(producer=producer, retry=False, **options)
    except (OperationalError, RedisError, OSError) as error:
        log.debug("word_lost", task=task.name, cause=type(error).__name__)
