"""A plugin for pytest, which `make unit` names: it takes every third test of slow files. `make sweep` takes all."""

from __future__ import annotations

import zlib

import pytest

from tests.sweep import commits

TURNS = 3
SLOW = (
    "tests/golden/test_charts_apart.py",
    "tests/scenario/cloud/test_controlplane.py",
    "tests/scenario/cloud/test_lost_accounts.py",
    "tests/scenario/cloud/secrets/test_one_authority.py",
    "tests/scenario/cloud/test_storage.py",
    "tests/scenario/cloud/test_voters_kept.py",
    "tests/scenario/controllers/test_capicluster.py",
    "tests/scenario/controllers/test_capicluster_faults.py",
    "tests/scenario/controllers/test_cloud_lists.py",
    "tests/scenario/controllers/test_departed_nodes.py",
    "tests/scenario/controllers/test_machine.py",
    "tests/scenario/controllers/test_real_port.py",
    "tests/scenario/forecast/test_companions.py",
    "tests/scenario/forecast/test_losses.py",
    "tests/scenario/openstack/test_addresses_in_use.py",
    "tests/scenario/openstack/test_first_list.py",
    "tests/scenario/openstack/test_foreign_changes.py",
    "tests/scenario/openstack/test_hostile_clouds.py",
    "tests/scenario/openstack/test_moved.py",
    "tests/scenario/releases/test_rollouts.py",
    "tests/scenario/runtime/test_faults.py",
    "tests/scenario/test_new_service.py",
    "tests/unit/adapters/helm/test_records_trusted.py",
    "tests/unit/api/test_reference_fields.py",
    "tests/unit/api/test_secrecy_speed.py",
    "tests/unit/charts/mariadb/test_bootstrap.py",
    "tests/unit/cli/change/test_crds.py",
    "tests/unit/cli/test_unreachable.py",
    "tests/unit/controllers/cloud/test_whole_specs.py",
    "tests/unit/controllers/infra/decisions/test_properties.py",
    "tests/unit/local/image/published/test_push.py",
    "tests/unit/local/image/test_images.py",
    "tests/unit/runtime/lease/test_election.py",
)
"""Files whose tests need more than four seconds of processor together, half of what all pure tests need."""


def has_turn(test: str, number: int) -> bool:
    """Whether a test, such as tests/unit/test_a.py::test_it[1], belongs to the run of the commit with this number.

    Each TURNS consecutive numbers take all tests.
    """
    return test.partition("::")[0] not in SLOW or (zlib.crc32(test.encode()) - number) % TURNS == 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    turns = {True: list[pytest.Item](), False: list[pytest.Item]()}
    for item in items:
        turns[has_turn(item.nodeid, commits())].append(item)
    config.hook.pytest_deselected(items=turns[False])
    items[:] = turns[True]
