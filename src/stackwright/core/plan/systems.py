"""Actions on other systems: Helm, back ends and agents of a cloud, directories of a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.core.openstack.deployed.agents import display_names
from stackwright.core.plan.action import Action, Key, Object


@dataclass(frozen=True)
class HelmUpgrade(Action):
    verb = "helm upgrade --install"
    release: Key
    chart: str
    version: str
    values: Mapping[str, Any]
    digest: str
    owner: Object

    @property
    def target(self) -> str:
        return "/".join(self.release)


@dataclass(frozen=True)
class HelmRollback(Action):
    """manifest  digest of what Helm installed as this revision; a record with other content is not rolled back to"""

    verb = "helm rollback"
    release: Key
    revision: int
    manifest: str

    @property
    def target(self) -> str:
        return f"{'/'.join(self.release)} to revision {self.revision}"


@dataclass(frozen=True)
class HelmUninstall(Action):
    verb = "helm uninstall"
    release: Key

    @property
    def target(self) -> str:
        return "/".join(self.release)


@dataclass(frozen=True)
class Inventory(Action):
    """Lists users' resources in back ends of a service and writes them to a ConfigMap: held.json, holder → names;
    since, the time of the first of the successive inventories with this result. Its digest is the time of the result.

    holders  names of back ends, or of agents as `registered` returns them
    """

    verb = "list the content of"
    key: Key
    owner: Object
    service: str
    holders: tuple[str, ...]
    admin_secret: Key

    @property
    def target(self) -> str:
        return f"{self.service} {display_names(self.holders)}"


@dataclass(frozen=True)
class DeleteAgents(Action):
    """Deletes the records of unused agents whose nodes left the cloud, after their routers and networks were moved to
    other agents. Writes the outcome to the ConfigMap of the inventory: held.json, agent → its uses, as texts, or the
    error (none for a deleted agent), and the times as an inventory. Such an error does not fail the action, because no
    other action depends on it.

    look    the inventory of all leaving agents, to which no routers or networks are moved
    agents  names of the agents to delete, as `registered` returns them; if empty, an earlier outcome is deleted
    """

    verb = "delete if unused"
    look: Inventory
    agents: tuple[str, ...]

    @property
    def target(self) -> str:
        return f"{display_names(self.agents) or 'no agent'} in {self.look.service}"


@dataclass(frozen=True)
class Publish(Action):
    """A ConfigMap with copies of fields of a Secret that are not confidential; absent fields are skipped."""

    verb = "publish"
    key: Key
    owner: Object
    source: Key
    fields: tuple[str, ...]
    digest: str

    @property
    def target(self) -> str:
        return f"{', '.join(self.fields)} of Secret {'/'.join(self.source)}"


@dataclass(frozen=True)
class MakeDirectory(Action):
    """Creates a directory of this node for a volume; an existing one is kept unchanged."""

    verb = "mkdir"
    path: str
    why: str = ""

    @property
    def target(self) -> str:
        return self.path


@dataclass(frozen=True)
class RemoveDirectory(Action):
    """Removes the directory of a volume with its content; an absent one is not an error."""

    verb = "remove"
    path: str
    why: str = ""

    @property
    def target(self) -> str:
        return self.path
