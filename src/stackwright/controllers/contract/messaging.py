"""MessagingAccount: a virtual host and a user in a RabbitMQ."""

from __future__ import annotations

from stackwright.api.contracts import MessagingAccount, MessagingAccountSpec
from stackwright.api.services import RabbitMQ
from stackwright.controllers.contract.database import host
from stackwright.controllers.contract.objects import Contract
from stackwright.core.plan import BrokerAccount
from stackwright.services.rabbitmq import ADMIN_SECRET, PORT

TRANSPORT_URL = "rabbit://{username}:{password}@{host}:{port}/{vhost}"


def _fixed(spec: MessagingAccountSpec, namespace: str) -> dict[str, str]:
    return {
        "username": spec.username,
        "vhost": spec.vhost,
        "host": host(spec.instance, namespace),
        "port": str(PORT),
    }


def _action(spec: MessagingAccountSpec, namespace: str, absent: bool) -> BrokerAccount:
    return BrokerAccount(
        host=host(spec.instance, namespace),
        admin_secret=(namespace, ADMIN_SECRET),
        vhost=spec.vhost,
        username=spec.username,
        secret=(namespace, spec.secret_name),
        absent=absent,
    )


MESSAGING = Contract(
    "messaging",
    MessagingAccount.KIND,
    RabbitMQ.KIND,
    MessagingAccountSpec,
    _fixed,
    {"transport_url": TRANSPORT_URL, "messaging.conf": f"[DEFAULT]\ntransport_url = {TRANSPORT_URL}\n"},
    _action,
)
