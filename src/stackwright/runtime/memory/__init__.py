"""External systems in memory: for scenario tests in simulated time, and for `forecast`.

`cluster` behaves like the Kubernetes API as far as controllers can observe: server-side apply with real managedFields
(`shape`, `ownership`, `apply`), defaults and validation of our CRDs, generations, finalizers and garbage collection.
Functional tests run the same operations against a real API server and compare. `accounts` contains MariaDB,
RabbitMQ and Keystone, `foreign` Helm, clock and entropy.
"""

from stackwright.runtime.memory import ceph
from stackwright.runtime.memory.accounts import MemoryAccounts, MemoryDatabase, MemoryIdentity, MemoryMessaging
from stackwright.runtime.memory.cluster import MemoryCluster, Write
from stackwright.runtime.memory.foreign import (
    FrozenClock,
    MemoryAgents,
    MemoryContents,
    MemoryHelm,
    SeededEntropy,
)

__all__ = [
    "FrozenClock",
    "MemoryAccounts",
    "MemoryAgents",
    "MemoryCluster",
    "MemoryContents",
    "MemoryDatabase",
    "MemoryHelm",
    "MemoryIdentity",
    "MemoryMessaging",
    "SeededEntropy",
    "Write",
    "ceph",
]
