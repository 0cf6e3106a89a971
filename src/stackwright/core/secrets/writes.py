"""The actions that write Secrets. None holds a value: it names where each is from; runtime/secrets.py makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.api.meta import Kind
from stackwright.core.digest import digest
from stackwright.core.plan import Action, Key, Object


@dataclass(frozen=True)
class EnsureSecret(Action):
    """A Secret with generated fields; made once, later only its templates are kept up to date.

    `generated` are names of fields with a random password (32 letters and digits). `templates` are texts in which
    {field} is replaced by fixed and generated fields, {field!j} by their JSON (core/secrets/filling.py). `fixed` are
    plain values. `keypairs` are names of SSH key pairs: <name> is the private key, <name>.pub the public one. `given` are
    generated fields that a user chose: field → (Secret, key), looked at when the field is made and never again.
    """

    verb = "secret"
    key: Key
    owner: Object
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
        owner = self.owner["metadata"]["uid"]  # what an earlier owner of that name left is about to be collected
        made = (self.generated, self.keypairs) if self.keypairs else self.generated
        return digest(made, dict(self.fixed), dict(self.templates), dict(self.labels), owner)


@dataclass(frozen=True)
class EnsureCertificate(Action):
    """A Secret with tls.crt, tls.key, ca.crt, and the authority that issues it, made when absent.

    `digest` changes when it must be issued anew; its annotation stackwright.dev/expires tells until when it is good.
    """

    verb = "certificate"
    key: Key
    authority: Key
    owner: Object
    names: tuple[str, ...]
    addresses: tuple[str, ...]
    digest: str

    @property
    def target(self) -> str:
        return f"{'/'.join(self.key)} for {', '.join((*self.names, *self.addresses))}"


@dataclass(frozen=True)
class GatherSecret(Action):
    """A Secret whose fields are copies of fields of other Secrets, beside `fixed` ones.

    source  the namespace of those others, its own if empty
    owner   None where it is in another namespace than what it belongs to
    """

    verb = "secret"
    key: Key
    owner: Object | None
    fields: Mapping[str, tuple[str, str]]  # field → (Secret, key)
    digest: str = ""
    fixed: Mapping[str, str] = field(default_factory=dict)
    source: str = ""

    @property
    def target(self) -> str:
        return f"{'/'.join(self.key)} from {', '.join(sorted({name for name, _ in self.fields.values()}))}"


@dataclass(frozen=True)
class RotateKeys(Action):
    """The next turn of a Fernet key repository kept in a Secret (see core/secrets/fernet.py); makes it when absent.

    turned  what the repository notes of its last turn; one that notes another is not turned
    """

    verb = "rotate"
    key: Key
    owner: Object
    max_active: int = 3
    turned: str = ""

    @property
    def target(self) -> str:
        return f"{'/'.join(self.key)}"


@dataclass(frozen=True)
class CopySecret(Action):
    """A Secret with one snippet built from values of other Secrets: sensitive options of a service."""

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
    """The Secret of a client of Ceph, out of the one in which the Ceph side hands over monitors, keys and pools.

    spec         a CephClientSpec as a dict
    secret_uuid  by which libvirt knows the key
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
    """A Secret of texts that stand in the spec of its owner, which is read again for them.

    owner   its identity alone: kind, name, namespace, uid
    fields  field of the Secret, which ends in the digest of the text (api.cloud.certificates.key_of) → where that is
    """

    verb = "secret"
    key: Key
    kind: Kind
    owner: Object
    fields: Mapping[str, tuple[str, ...]]

    @property
    def paths(self) -> list[str]:
        """Where the texts stand in the object."""
        return sorted(".".join(("spec", *path)) for path in self.fields.values())

    @property
    def target(self) -> str:
        return f"{'/'.join(self.key)} from {', '.join(self.paths)}"

    @property
    def digest(self) -> str:
        return digest(dict(self.fields), self.owner["metadata"]["uid"])


@dataclass(frozen=True)
class KeepRevision(Action):
    """A Secret with the spec of a cloud, read from the cluster when it is written: a spec may hold a key.

    digest  of the spec that is meant; another one is not kept under this number
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
