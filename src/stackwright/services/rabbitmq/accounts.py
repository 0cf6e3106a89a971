"""The contracts by which a service gets a bus. Releases do not wait for them: pods may start before the bus."""

from __future__ import annotations

from stackwright.api.services.contracts import MessagingAccount
from stackwright.services.declaration import Contract
from stackwright.services.rabbitmq.kind import RabbitMQ

NOTIFICATION_BUS = "rabbitmq"


def notifications(name: str) -> Contract:
    """A user on the notification bus, which all services share."""
    return Contract(
        "Notifications",
        MessagingAccount.KIND,
        NOTIFICATION_BUS,
        RabbitMQ.KIND,
        {
            "instance": NOTIFICATION_BUS,
            "vhost": "notifications",
            "sharedVhost": True,
            "username": name,
            "secretName": f"{name}-notifications",
        },
        name=f"{name}-notifications",
        gates=False,
    )


def messaging(name: str, instance: str, username: str = "") -> Contract:
    """A virtual host and a user on a bus. On the notification bus, `notifications` uses the plain user name."""
    user = username or (f"{name}-rpc" if instance == NOTIFICATION_BUS else name)
    spec = {"instance": instance, "vhost": name, "username": user, "secretName": f"{name}-messaging"}
    return Contract("Messaging", MessagingAccount.KIND, instance, RabbitMQ.KIND, spec, name=name, gates=False)
