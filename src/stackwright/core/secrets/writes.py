"""The actions that write Secrets. They contain no values, only sources, which runtime/cycle/secrets.py resolves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.api.meta import Kind
from stackwright.core.digest import digest
from stackwright.core.objects import owner_reference
from stackwright.core.plan import Action, Key, Object


@dataclass(frozen=True)
class SecretOwner:
    """obj         the object that the Secret belongs to, by its label
    lives_with  the object with which the Secret is deleted, by its owner reference; default: the same
    """

    obj: Object
    lives_with: Object | None = None

    @property
    def reference(self) -> Object:
        return owner_reference(self.lives_with or self.obj)

    @property
    def uid(self) -> str:
        """UID of the object with which the Secret is deleted."""
        return str((self.lives_with or self.obj)["metadata"]["uid"])


@dataclass(frozen=True)
class EnsureSecret(Action):
    """A Secret with generated fields; these are created once, and later writes update only the other fields.

    `generated` are names of fields with a random password (32 letters and digits). `templates` are texts in which
    {field} is replaced by fixed and generated fields, {field!j} by their JSON (core/secrets/filling.py). `fixed` are
    plain values. `keypairs` are names of SSH key pairs: <name> is the private key, <name>.pub the public one. `given`
    are generated fields whose value a user provides: field → (Secret, key), read only when the field is created.
    """

    verb = "secret"
    key: Key
    owner: SecretOwner
    generated: tuple[str, ...] = ("password",)
    fixed: Mapping[str, str] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    keypairs: tuple[str, ...] = ()
    given: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return f"{'/'.join(self.key)}"

    @property
    def digest(self) -> str:
        made = (self.generated, self.keypairs) if self.keypairs else self.generated
        # With the UID, because a Secret of an earlier owner will be garbage-collected.
        return digest(made, dict(self.fixed), dict(self.templates), dict(self.labels), self.owner.uid)


@dataclass(frozen=True)
class EnsureCertificate(Action):
    """A Secret with tls.crt, tls.key and ca.crt, and the Secret of the CA that issues it, created if absent.

    `digest` changes when the certificate must be reissued; the annotation stackwright.dev/expires holds its expiry, and
    stackwright.dev/authority the version of the CA. A certificate of another CA is reissued too.
    """

    verb = "certificate"
    key: Key
    authority: Key
    owner: Object
    names: tuple[str, ...]
    addresses: tuple[str, ...]
    digest: str
    subject: str = ""
    server_only: bool = False

    @property
    def target(self) -> str:
        return f"{'/'.join(self.key)} for {', '.join((*self.names, *self.addresses))}"


@dataclass(frozen=True)
class GatherSecret(Action):
    """A Secret with copies of fields of other Secrets, and `fixed` fields.

    source  namespace of the other Secrets; empty for the same namespace
    owner   None if the owner is in another namespace
    type    type of the Secret, which cannot be changed later
    """

    verb = "secret"
    key: Key
    owner: Object | None
    fields: Mapping[str, tuple[str, str]]  # field → (Secret, key)
    digest: str = ""
    fixed: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    type: str = "Opaque"

    @property
    def target(self) -> str:
        return f"{'/'.join(self.key)} from {', '.join(sorted({name for name, _ in self.fields.values()}))}"


@dataclass(frozen=True)
class RotateKeys(Action):
    """The next rotation of a Fernet key repository in a Secret (see core/secrets/fernet.py); creates it if absent. One
    of another owner is taken over with its keys.

    turned  the expected annotation fernet.ROTATED; a repository with another value is not rotated
    """

    verb = "rotate"
    key: Key
    owner: SecretOwner
    max_active: int = 3
    turned: str = ""

    @property
    def target(self) -> str:
        return f"{'/'.join(self.key)}"


@dataclass(frozen=True)
class CopySecret(Action):
    """A Secret with an oslo.config snippet built from values of other Secrets: the sensitive options of a service."""

    verb = "secret"
    key: Key
    owner: Object
    field: str
    sections: Mapping[str, Mapping[str, tuple[str, str]]]  # section → option → (Secret, key)
    digest: str = ""

    @property
    def target(self) -> str:
        return (
            f"{'/'.join(self.key)} from {', '.join(sorted({s for o in self.sections.values() for s, _ in o.values()}))}"
        )


@dataclass(frozen=True)
class CephAccess(Action):
    """The Secret of a Ceph client, built from the Secret in which Ceph provides monitors, keys and pools.

    spec         a CephClientSpec as a dict
    secret_uuid  UUID of the key's secret in libvirt
    """

    verb = "ceph"
    key: Key
    owner: Object
    source: Key
    spec: Mapping[str, Any]
    secret_uuid: str
    digest: str

    @property
    def target(self) -> str:
        return f"{'/'.join(self.key)} for client {self.spec['client']} from {'/'.join(self.source)}"


@dataclass(frozen=True)
class ExtractSecret(Action):
    """A Secret with texts from the spec of its owner, which the executor reads again.

    owner   the owner's identity only: kind, name, namespace, uid
    fields  field of the Secret, ending in the digest of the text (services.ingress.features.key_of) → path in the spec
    """

    verb = "secret"
    key: Key
    kind: Kind
    owner: Object
    fields: Mapping[str, tuple[str, ...]]

    @property
    def paths(self) -> list[str]:
        """Paths of the texts in the owner."""
        return sorted(".".join(("spec", *path)) for path in self.fields.values())

    @property
    def target(self) -> str:
        return f"{'/'.join(self.key)} from {', '.join(self.paths)}"

    @property
    def digest(self) -> str:
        return digest(dict(self.fields), self.owner["metadata"]["uid"])


@dataclass(frozen=True)
class KeepRevision(Action):
    """A Secret with the spec of a cloud, which the executor reads from the cluster because it may contain a key.

    digest  digest of the intended spec; another spec is not stored under this number
    """

    verb = "revision"
    key: Key
    owner: Object = field(repr=False)
    number: int
    digest: str

    @property
    def target(self) -> str:
        return f"{self.number} of {self.owner['kind']} {self.owner['metadata']['name']}"


SecretWrite = (
    EnsureSecret
    | EnsureCertificate
    | GatherSecret
    | RotateKeys
    | CopySecret
    | CephAccess
    | ExtractSecret
    | KeepRevision
)
