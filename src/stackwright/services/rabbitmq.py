"""RabbitMQ: the message bus; a single node on a persistent volume, as the reference has it at every size."""

from __future__ import annotations

from stackwright.api.services import RabbitMQ
from stackwright.services.declaration import CONTROL_PLANE, Chart, Context, Secret, Service, Values, placed
from stackwright.services.sizes import SIZES

ADMIN_SECRET = "rabbitmq-admin"  # noqa: S105 - the name of a Secret
PORT = 5672


def _values(context: Context) -> Values:
    size = SIZES[context.spec.size]
    return {
        "images": {"tags": {"rabbitmq": context.image("rabbitmq")}},
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "server"),
        "pod": {"replicas": {"server": 1}},
        "volume": {"class_name": context.spec.storage_class, "size": "1Gi"},
        "secrets": {"oslo_messaging": {"admin": ADMIN_SECRET}},
        "conf": {
            "rabbitmq": {
                # Absolute: a relative watermark would be of the machine's memory, not of the pod's.
                "vm_memory_high_watermark": {"absolute": f"{size.rabbitmq_memory}MiB"},
            }
        },
    }


SERVICE = Service(
    service="messaging",
    name="rabbitmq",
    group="infra",
    resource=RabbitMQ,
    charts=(Chart("rabbitmq", _values),),
    secrets=lambda context: (Secret(ADMIN_SECRET, fixed={"username": "admin"}),),
)
