"""Values of RabbitMQ."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.services.kinds import Size
from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.sizes import memory, rounded

PORT = 5672
NOTIFICATIONS_KEPT = 5000  # messages per queue: without a consumer, unread notifications must not fill the memory


@dataclass(frozen=True)
class Sizing:
    """Memory (MiB), processors, and the volume (GiB)."""

    memory: int
    schedulers: int
    volume: int

    @property
    def limit(self) -> int:
        """Publishers are blocked at the watermark; garbage collection and paging need half as much memory again."""
        return rounded(self.memory * 1.5)


SIZES: dict[Size, Sizing] = {
    "single": Sizing(512, 1, 1),
    "tiny": Sizing(1024, 2, 5),
    "small": Sizing(2048, 4, 10),
    "medium": Sizing(8192, 8, 20),
}


def admin_secret(instance: str) -> str:
    """The Secret of a RabbitMQ's administrator."""
    return f"{instance}-admin"


def chart_values(context: Context) -> Values:
    size = SIZES[context.spec.size]
    return {
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "server"),
        "pod": {
            "replicas": {"server": 1},
            "resources": {"server": memory(size.limit, size.memory * 3 // 8)},
        },
        "volume": {"class_name": context.spec.storage_class, "size": f"{size.volume}Gi"},
        "name": context.name,
        "secrets": {"oslo_messaging": {"admin": admin_secret(context.name)}},
        "conf": {
            "schedulers": size.schedulers,
            "rabbitmq": {
                # Absolute: a relative watermark would refer to the machine's memory, not the pod's.
                "vm_memory_high_watermark": {"absolute": f"{size.memory}MiB"},
                "default_policies": {
                    "operator": {
                        "notifications": {
                            "vhost_pattern": "^notifications$",
                            "queue_pattern": ".*",
                            "max_length": NOTIFICATIONS_KEPT,
                        }
                    }
                },
            },
        },
    }
