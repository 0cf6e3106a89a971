"""The core is one sequence of tests on one cloud, the one with storage."""

from __future__ import annotations

import pytest
from full import FullCloud
from storage import Storage
from vms import Vms


@pytest.fixture(scope="session")
def cloud(storage_cloud: FullCloud) -> FullCloud:
    return storage_cloud


@pytest.fixture(scope="session")
def full_cloud(storage_cloud: FullCloud) -> FullCloud:
    return storage_cloud


@pytest.fixture(scope="session")
def vms(storage: Storage) -> Vms:
    return storage.vms
