"""MessagingAccount: a virtual host and a user in a RabbitMQ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from stackwright.api.services.contracts import MessagingAccount, MessagingAccountSpec
from stackwright.controllers.contract.database import host
from stackwright.controllers.contract.objects import Contract, Raw
from stackwright.core.plan.accounts import EnsureMessagingAccount
from stackwright.services.rabbitmq.kind import RabbitMQ
from stackwright.services.rabbitmq.values import PORT, admin_secret

TRANSPORT_URL = "rabbit://{username}:{password}@{host}:{port}/{vhost}"


def _fixed(spec: MessagingAccountSpec, namespace: str) -> dict[str, str]:
    return {
        "username": spec.username,
        "vhost": spec.vhost,
        "host": host(spec.instance, namespace),
        "port": str(PORT),
    }


def _templates(spec: MessagingAccountSpec) -> dict[str, str]:
    return {
        "transport_url": TRANSPORT_URL,
        "messaging.conf": f"[DEFAULT]\ntransport_url = {TRANSPORT_URL}\n",
        "notifications.conf": f"[oslo_messaging_notifications]\ntransport_url = {TRANSPORT_URL}\n",
    }


def _action(spec: MessagingAccountSpec, namespace: str, absent: bool) -> EnsureMessagingAccount:
    return EnsureMessagingAccount(
        host=host(spec.instance, namespace),
        admin_secret=(namespace, admin_secret(spec.instance)),
        vhost=spec.vhost,
        username=spec.username,
        secret=(namespace, spec.secret_name),
        absent=absent,
        keep_vhost=spec.shared_vhost,
    )


def _claims(spec: Raw) -> tuple[str, ...]:
    return (f"user {spec.get('username')} of RabbitMQ {spec.get('instance')}",)


def _uses(spec: Raw) -> tuple[str, ...]:
    return (f"vhost {spec.get('vhost')} of RabbitMQ {spec.get('instance')}",)


def _kept(action: EnsureMessagingAccount, others: Iterable[Raw]) -> EnsureMessagingAccount:
    """A virtual host that another account shares is not deleted."""
    return replace(action, keep_vhost=action.keep_vhost or any(spec.get("vhost") == action.vhost for spec in others))


MESSAGING = Contract(
    name="messaging",
    kind=MessagingAccount.KIND,
    instance_kind=RabbitMQ.KIND,
    spec=MessagingAccountSpec,
    fixed=_fixed,
    templates=_templates,
    action=_action,
    claims=_claims,
    uses=_uses,
    kept=_kept,
)
