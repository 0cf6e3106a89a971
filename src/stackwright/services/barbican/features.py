"""The features of the key manager, and facts about the surrounding cloud."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from stackwright.api.fields.lines import Url
from stackwright.api.fields.naming import Format, InstanceName
from stackwright.api.fields.shared import SecretValue
from stackwright.api.meta import Model
from stackwright.api.support import Unsupported, unsupported
from stackwright.services.context import Settings
from stackwright.services.mariadb.cleanup import Cleanup

# Segments of the path of Vault's API.
VaultPath = Annotated[
    str, Format(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*", 255, "must be a path in Vault")
]


class Vault(Model):
    enabled: bool = Field(True, description="Store new secrets in Vault, instead of Barbican's database.")
    vault_url: Url | None = Field(None, max_length=255, description="URL of Vault.")
    approle_role_id: SecretValue | None = Field(None, description="role_id of Barbican's AppRole.")
    approle_secret_id: SecretValue | None = Field(None, description="secret_id of Barbican's AppRole.")
    namespace: VaultPath | None = Field(None, description="Namespace in Vault; default: the root namespace.")
    kv_mountpoint: VaultPath = Field("secret", description="Path of the KV secrets engine.")
    kv_version: int = Field(2, ge=1, le=2, description="Version of the KV secrets engine. The field is ours.")
    use_ssl: bool = Field(False, description="Require TLS: vault_url must begin with https://.")
    ssl_ca_crt_file: SecretValue | None = Field(
        None, description="CA certificate of Vault (PEM); default: the authorities that Debian trusts."
    )

    @model_validator(mode="after")
    def _complete(self) -> Vault:
        if not self.enabled:
            return self
        if lacking := [
            name for name in ("vault_url", "approle_role_id", "approle_secret_id") if getattr(self, name) is None
        ]:
            raise ValueError(f"{', '.join(lacking)}: required, unless enabled is false")
        encrypted = str(self.vault_url).lower().startswith("https://")
        if self.use_ssl and not encrypted:
            raise ValueError("vault_url: must begin with https://, because use_ssl is true")
        if self.ssl_ca_crt_file and not encrypted:
            raise ValueError("vault_url: must begin with https://, because ssl_ca_crt_file is set")
        return self


class BarbicanBackends(Model):
    vault: Vault | None = Field(None, description="HashiCorp Vault, or a server with its API.")
    pkcs11: Unsupported = unsupported("A hardware security module (PKCS#11).")
    kmip: Unsupported = unsupported("A server for KMIP.")


class BarbicanFeatures(Model):
    backends: BarbicanBackends = Field(
        default_factory=BarbicanBackends, description="Stores of secrets; default: Simple Crypto, in the database."
    )


class BarbicanSettings(BarbicanFeatures, Settings):
    """features.barbican."""

    messaging_instance: InstanceName = Field("rabbitmq", description="Name of the RabbitMQ object.")
    cleanup: Cleanup = Field(default_factory=Cleanup, description="features.database.cleanup.barbican.")

    @property
    def vault(self) -> Vault | None:
        """Vault, if it is enabled."""
        vault = self.backends.vault
        return vault if vault and vault.enabled else None
