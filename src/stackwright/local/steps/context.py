"""State that the steps of a bring-up share: the cluster, the options of `up`, and results of earlier steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stackwright.local.commands import Report
from stackwright.local.config import LocalCluster, Node
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
    """Manifest of the cloud to create or change; None for the example."""
    before_apply: Callable[[Path], None] = lambda manifest: None
    """Called before the manifest is applied; raises LocalError if the user does not confirm its deletions."""
    applied: bool = False
    """Whether this call applied the manifest."""
    images: list[store.Image] = field(default_factory=list)
    token: str = ""
    """Output of `openstack token issue`."""

    @property
    def nodes(self) -> list[Node]:
        return self.cluster.nodes(self.node_count)

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
        """Whether there is nothing to do; cheap and without side effects."""

    def run(self, ctx: Context, report: Report) -> None:
        """Do the step, from any incomplete state that a killed process left."""


def remembered_nodes(cluster: LocalCluster) -> int:
    try:
        return int(json.loads(cluster.settings.read_text())["nodes"])
    except (OSError, ValueError, KeyError):
        return 1


def remember(ctx: Context) -> None:
    ctx.cluster.state.mkdir(parents=True, exist_ok=True)
    ctx.cluster.settings.write_text(json.dumps({"nodes": ctx.node_count}) + "\n")
