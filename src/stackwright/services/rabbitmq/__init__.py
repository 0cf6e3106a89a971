"""RabbitMQ: a message bus; a single node on a persistent volume at every size, as in the reference.

A cloud has several: one for each service that needs a bus, and `rabbitmq` for notifications. Each is a separate object;
all its Kubernetes objects have its name.
"""

from __future__ import annotations

from stackwright.services.declaration import OPERATOR, Chart, Listener, Secret, Service
from stackwright.services.rabbitmq.kind import RabbitMQ
from stackwright.services.rabbitmq.values import admin_secret, chart_values
from stackwright.services.tested import UP, service

__all__ = ["SERVICE"]

SERVICE = Service(
    service="messaging",
    name="rabbitmq",
    group="infra",
    resource=RabbitMQ,
    charts=(
        Chart(
            "rabbitmq",
            chart_values,
            images=lambda settings: {"rabbitmq": "rabbitmq"},
            claims=("server",),
            own_name=True,
            options=("rabbitmq",),
            listens=(
                Listener("server", (5672,), name="rabbitmq"),
                Listener("server", (15672,), sources=(OPERATOR,)),
            ),
        ),
    ),
    secrets=lambda context: (Secret(admin_secret(context.name), fixed={"username": "admin"}),),
    serves={"component": "server"},
    presets=("core", "compute"),
    section="rabbitmq",
    tested={"features.services": service("messaging", UP)},
)
