"""The full cloud, with its virtual machine, recovers after a power cut of the nodes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from faults.machine_ends import brought_back, power_cut
from full import FullCloud
from vms import Vms


@pytest.mark.parametrize("end", [power_cut])
def test_one_up_restores_the_cloud_and_its_virtual_machine(
    full_cloud: FullCloud, vms: Vms, end: Callable[[FullCloud], None]
) -> None:
    brought_back(full_cloud, vms, end)
