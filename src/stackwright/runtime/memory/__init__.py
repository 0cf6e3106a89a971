"""A whole outside world in memory: for scenario tests in simulated time, and for `stackwright plan`.

`cluster` behaves as the Kubernetes API does where controllers can tell: server-side apply with real managedFields
(`shape`, `ownership`, `apply`), defaults and refusals of our CRDs, generations, finalizers and garbage collection.
Functional tests run the same operations against a real API server and compare. `foreign` has Helm, SQL, RabbitMQ,
Keystone, clock and entropy, `openstack` what users have in an OpenStack; `faults` kills the operator at any write.
"""

from stackwright.runtime.memory import ceph
from stackwright.runtime.memory.cluster import MemoryCluster, Write
from stackwright.runtime.memory.faults import Crash, FaultyCluster, Fuse, faulty
from stackwright.runtime.memory.forecast import ForecastClouds
from stackwright.runtime.memory.foreign import (
    FrozenClock,
    MemoryBroker,
    MemoryContents,
    MemoryHelm,
    MemoryIdentity,
    MemorySql,
    SeededEntropy,
)
from stackwright.runtime.memory.openstack import MemoryClouds

__all__ = [
    "Crash",
    "FaultyCluster",
    "ForecastClouds",
    "FrozenClock",
    "Fuse",
    "MemoryBroker",
    "MemoryClouds",
    "MemoryCluster",
    "MemoryContents",
    "MemoryHelm",
    "MemoryIdentity",
    "MemorySql",
    "SeededEntropy",
    "Write",
    "ceph",
    "faulty",
]
