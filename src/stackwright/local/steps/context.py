"""State that the steps of a bring-up share: the cluster, the options of `up`, and results of earlier steps."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stackwright.local.commands import LocalError, Report
from stackwright.local.config import MAX_NODES, LocalCluster, Node, settings_in
from stackwright.local.host.files import write_whole
from stackwright.local.image import store
from stackwright.local.kubernetes import api


@dataclass
class Context:
    """The argument of every step."""

    cluster: LocalCluster
    node_count: int = 1
    bare: bool = False
    """Only Kubernetes: no volumes, operator or cloud, and only the images that Kubernetes needs."""
    cloud: bool = True
    """False: no example cloud, only the operator."""
    vm: bool = True
    """False: no virtual machine at the end."""
    image_prefix: str = ""
    """Registry and prefix of published images, for an existing cluster."""
    kubeconfig: Path | None = None
    """Kubeconfig of an existing cluster."""
    manifest: Path | None = None
    """The cloud to create or change, in place of the example."""
    applicable: Callable[[Path], str] = Path.read_text
    """Returns the text to apply of a manifest. Raises LocalError if the user does not confirm the deletions of the
    change."""
    applied: bool = False
    """Whether this call applied the manifest."""
    images: list[store.Image] = field(default_factory=list)
    token: str = ""
    """Output of `openstack token issue`."""

    @property
    def nodes(self) -> list[Node]:
        return self.cluster.nodes(self.node_count)

    @property
    def surplus(self) -> list[Node]:
        """Nodes of a former `up --nodes` with a larger number."""
        return [node for node in homes(self.cluster) if node.index > self.node_count]

    @property
    def api(self) -> api.Api:
        return api.of(self.cluster)

    def references(self) -> dict[str, str]:
        """Short name → image reference, of images built here or published under the given prefix."""
        if self.image_prefix:
            from stackwright.local.image import images

            return images.references(self.image_prefix)
        return {ref.rpartition("/")[2].partition(":")[0]: ref for ref in (i.reference for i in self.images)}

    def image(self, name: str) -> str | None:
        return self.references().get(name)

    @property
    def kubeconfig_in_use(self) -> Path:
        return self.kubeconfig or self.cluster.kubeconfig


class Step(Protocol):
    """A module in `local/steps/`."""

    TITLE: str

    # Optional: skipped(ctx) -> str | None, the reason why the step does not apply.

    def done(self, ctx: Context) -> bool:
        """Whether nothing remains to do; cheap and without side effects."""

    def run(self, ctx: Context, report: Report) -> None:
        """Do the step, from any incomplete state that a killed process left."""


def homes(cluster: LocalCluster) -> list[Node]:
    """Nodes that have data."""
    return [node for node in cluster.nodes(MAX_NODES) if os.path.lexists(node.home)]


def remembered_nodes(cluster: LocalCluster) -> int:
    """The last requested number. Raises LocalError if it is unknown and existing nodes could be lost."""
    count = _remembered(cluster)
    if isinstance(count, int):
        return count
    if not homes(cluster):
        return 1
    raise _unknown(cluster, f"the number of nodes ({count})")


def is_version_unknown(cluster: LocalCluster) -> bool:
    """Whether nodes exist, and the file that names their version of Kubernetes cannot be read."""
    return settings_in(cluster.settings) is None and bool(homes(cluster))


def check_version(cluster: LocalCluster) -> None:
    """Raises LocalError if the version of Kubernetes is unknown: another one may not read the existing data."""
    if is_version_unknown(cluster):
        raise _unknown(cluster, "the version of Kubernetes")


def _unknown(cluster: LocalCluster, what: str) -> LocalError:
    there = homes(cluster)
    version, hint = "", ""
    if is_version_unknown(cluster):
        version = " --kubernetes VERSION"
        hint = "\nVERSION is the one with which the cluster was created: the newest, unless the option named another."
    return LocalError(
        f"{cluster.settings} does not contain {what}; the local cluster has "
        f"{', '.join(node.name for node in there)}. Nothing was changed.\n"
        f"`stackwright up --nodes {there[-1].index}{version}` keeps them and rewrites the file; "
        f"`stackwright down --purge` deletes all data.{hint}"
    )


def nodes_of(cluster: LocalCluster) -> list[Node]:
    """For readers of the cluster: the requested nodes, or all existing ones if their number is unknown."""
    count = _remembered(cluster)
    return cluster.nodes(count) if isinstance(count, int) else homes(cluster) or cluster.nodes(1)


def _remembered(cluster: LocalCluster) -> int | str:
    """The number, or the reason why it is unknown."""
    try:
        count = json.loads(cluster.settings.read_bytes())["nodes"]
    except OSError as error:
        return error.strerror or str(error)
    except (ValueError, TypeError, LookupError):
        return "it is damaged" if cluster.settings.stat().st_size else "it is empty"
    return count if type(count) is int and 1 <= count <= MAX_NODES else f"it contains no number from 1 to {MAX_NODES}"


def is_remembered(ctx: Context) -> bool:
    return _remembered(ctx.cluster) == ctx.node_count


def remember(ctx: Context) -> None:
    cluster = ctx.cluster
    cluster.state.mkdir(parents=True, exist_ok=True)
    version = {"kubernetes": cluster.kubernetes} if cluster.kubernetes else {}
    write_whole(cluster.settings, json.dumps({"nodes": ctx.node_count, **version}) + "\n")
