"""The features of the identity service, and facts about the surrounding cloud."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from stackwright.api.fields.lines import Line
from stackwright.api.fields.naming import InstanceName
from stackwright.api.fields.shared import SecretKey
from stackwright.api.meta import Model
from stackwright.api.support import Absent, OffAnyway, UnsupportedText, absent, unsupported
from stackwright.services.context import Settings


class KeystoneAdmin(Model):
    project_name: Line = Field("admin", min_length=1, description="Project of the administrator.")
    user_domain_name: Literal["Default"] = Field("Default", description="Domain of the administrator.")
    project_domain_name: Literal["Default"] = Field("Default", description="Domain of the project.")
    default_domain_id: UnsupportedText = unsupported("Id of the default domain.")


class KeystoneUsers(Model):
    admin: KeystoneAdmin = Field(default_factory=KeystoneAdmin, description="The administrator.")


class KeystoneFederation(Model):
    openid: Absent | None = absent("OpenID Connect.")


class KeystoneFeatures(Model):
    users: KeystoneUsers = Field(default_factory=KeystoneUsers, description="Names of built-in users.")
    federation: KeystoneFederation | None = Field(None, description="Users of other domains.")
    keycloak: OffAnyway | None = absent("Keycloak.")
    domain_specific_configuration: Absent | None = absent("Domains with their own back end.")


class KeystoneSettings(KeystoneFeatures, Settings):
    """features.keystone, and the destination of audit events."""

    cadf: Literal["", "messagingv2", "log"] = Field("", description="Destination of audit events; empty: none.")
    messaging_instance: InstanceName = Field("rabbitmq", description="Name of the RabbitMQ object for audit events.")
    admin_password: SecretKey | None = Field(
        None, description="Secret with the administrator's first password; default: a generated one."
    )
