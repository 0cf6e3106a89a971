"""External systems in memory: for scenario tests in simulated time, and for `forecast`.

`cluster` behaves like the Kubernetes API as far as controllers can observe: server-side apply with real managedFields
(`shape`, `ownership`, `apply`), defaults and validation of our CRDs, generations, finalizers and garbage collection.
Functional tests run the same operations against a real API server and compare. `foreign` contains Helm, SQL, RabbitMQ,
clock and entropy, `accounts` Keystone.
"""

from stackwright.runtime.memory import ceph
from stackwright.runtime.memory.accounts import MemoryIdentity
from stackwright.runtime.memory.cluster import MemoryCluster, Write
from stackwright.runtime.memory.foreign import (
    FrozenClock,
    MemoryAgents,
    MemoryBroker,
    MemoryContents,
    MemoryHelm,
    MemorySql,
    SeededEntropy,
)

__all__ = [
    "FrozenClock",
    "MemoryAgents",
    "MemoryBroker",
    "MemoryCluster",
    "MemoryContents",
    "MemoryHelm",
    "MemoryIdentity",
    "MemorySql",
    "SeededEntropy",
    "Write",
    "ceph",
]
