"""The provider of each kind of account."""

from __future__ import annotations

from stackwright.adapters.mariadb.accounts import MariaDbDatabase
from stackwright.adapters.openstack.deployed.keystone import KeystoneIdentity
from stackwright.adapters.rabbitmq import RabbitMqMessaging
from stackwright.core.plan.accounts import EnsureDatabaseAccount, EnsureIdentityAccount, EnsureMessagingAccount
from stackwright.core.ports import Providers, provided


def providers() -> Providers:
    return dict(
        (
            provided(EnsureDatabaseAccount, by=MariaDbDatabase()),
            provided(EnsureMessagingAccount, by=RabbitMqMessaging()),
            provided(EnsureIdentityAccount, by=KeystoneIdentity()),
        )
    )
