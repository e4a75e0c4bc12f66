from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connections
from pytest_django import DjangoDbBlocker

from tests.deliveries.cast import Customer
from tests.deliveries.plant import Plant, running_plant


@pytest.fixture(scope="module")
def transactional_db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Rows go with the module, not with the test: processes are at work on them all the while."""
    with django_db_blocker.unblock():
        yield
        call_command("flush", verbosity=0, interactive=False)
        connections.close_all()


@pytest.fixture(scope="module")
def plant(transactional_db: None, database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    """The whole service on the run's database, for a module whose tests leave every part of it running."""
    with running_plant(tmp_path_factory.mktemp("plant"), database_url) as plant:
        yield plant


@pytest.fixture
def customer(database: str, plant: Plant) -> Iterator[Customer]:
    """A team of this test's own."""
    with Customer(plant.web) as customer:
        yield customer
