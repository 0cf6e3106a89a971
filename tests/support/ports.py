"""All ports of the operator, in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stackwright.core.ports import Clock, Ports
from stackwright.runtime.memory import MemoryAccounts, MemoryCluster, MemoryHelm, SeededEntropy


def memory_ports(memory: MemoryCluster, clock: Clock, **given: Any) -> Ports:
    """Ports to the cluster and to new systems around it; `given` replaces some of them."""
    helm = MemoryHelm(memory, clock)
    ports = Ports(memory, helm, clock, SeededEntropy(), MemoryAccounts().providers)
    return replace(ports, **given)
