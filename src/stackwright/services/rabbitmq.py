"""RabbitMQ: a message bus; a single node on a persistent volume at every size, as in the reference.

A cloud has several: one for each service that needs a bus, and `rabbitmq` for notifications. Each is a separate object,
whose name all its Kubernetes objects share.
"""

from __future__ import annotations

from stackwright.api.services.kinds import RabbitMQ
from stackwright.services.declaration import CONTROL_PLANE, Chart, Context, Secret, Service, Values, placed
from stackwright.services.sizes import SIZES, memory

PORT = 5672
NOTIFICATIONS_KEPT = 5000  # messages per queue: without a consumer, unread notifications must not fill the memory


def admin_secret(instance: str) -> str:
    """The Secret of a RabbitMQ's administrator."""
    return f"{instance}-admin"


def _values(context: Context) -> Values:
    size = SIZES[context.spec.size]
    return {
        "images": {"tags": {"rabbitmq": context.image("rabbitmq")}},
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "server"),
        "pod": {
            "replicas": {"server": 1},
            "resources": {"server": memory(size.rabbitmq_limit, size.rabbitmq_memory * 3 // 8)},
        },
        "volume": {"class_name": context.spec.storage_class, "size": f"{size.rabbitmq_volume}Gi"},
        "name": context.name,
        "secrets": {"oslo_messaging": {"admin": admin_secret(context.name)}},
        "conf": {
            "schedulers": size.rabbitmq_schedulers,
            "rabbitmq": {
                # Absolute: a relative watermark would refer to the machine's memory, not the pod's.
                "vm_memory_high_watermark": {"absolute": f"{size.rabbitmq_memory}MiB"},
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


SERVICE = Service(
    service="messaging",
    name="rabbitmq",
    group="infra",
    resource=RabbitMQ,
    charts=(Chart("rabbitmq", _values, claims=("server",), own_name=True, options=("rabbitmq",)),),
    secrets=lambda context: (Secret(admin_secret(context.name), fixed={"username": "admin"}),),
    serves={"component": "server"},
)
