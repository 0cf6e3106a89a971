"""`stackwright values`: the values of one chart of a cloud, for our chart or for OpenStack-Helm's. Offline."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stackwright.cli import common
from stackwright.cli.cluster import completion
from stackwright.cli.cluster.options import OnlyNamespaceOption
from stackwright.cli.ui.output import Data

if TYPE_CHECKING:
    from stackwright.cloud.deployment import OpenStackDeploymentSpec
    from stackwright.controllers.cloud.objects import Refinement
    from stackwright.controllers.cloud.selection import Wanted
    from stackwright.core.plan import Object


class Target(StrEnum):
    STACKWRIGHT = "stackwright"
    OPENSTACK_HELM = "openstack-helm"


def values(
    chart: Annotated[
        str, typer.Argument(help="A chart of the cloud, for instance keystone.", autocompletion=completion.charts)
    ],
    file: Annotated[
        list[Path],
        typer.Option(
            "--file", "-f", metavar="FILE", help="Manifest of a cloud; - for standard input. May be repeated."
        ),
    ],
    target: Annotated[
        Target, typer.Option("--for", help="Target charts: Stackwright's own or those of OpenStack-Helm.")
    ] = (Target.STACKWRIGHT),
    namespace: OnlyNamespaceOption = None,
    output: Annotated[Data, typer.Option("--output", "-o", help="Output format.")] = Data.YAML,
) -> None:
    """Print the values that a chart gets from a cloud's features, size and overrides.

    The command needs neither a cluster nor built images. Generated passwords are in Secrets, not in the
    values; what your overrides contain is printed as it is.

    With --for openstack-helm, the values are for the chart of the OpenStack-Helm project, of keystone or glance.
    Values that this chart does not support are listed on standard error.

    For example:

      stackwright values keystone -f cloud.yaml

      stackwright values keystone -f cloud.yaml --for openstack-helm > keystone.yaml
    """
    from stackwright.cli.failures import fail, run
    from stackwright.cli.ui.output import dumped

    try:
        found = run(_built(_cloud(file, namespace), chart))
        if target is Target.OPENSTACK_HELM:
            found = _translated(chart, found)
    except ValueError as error:
        fail(str(error))
    common.data(dumped(found, output))


def _cloud(files: list[Path], namespace: str | None) -> Object:
    from stackwright.cli.failures import fail
    from stackwright.cli.manifests.load import BadManifest, load_all
    from stackwright.cloud.registry import CLOUD_KINDS

    kinds = {resource.KIND for resource in CLOUD_KINDS}
    try:
        asked = [each for each in load_all(files, namespace) if each.kind in kinds]
    except BadManifest as error:
        fail(str(error))
    clouds = list({each.name: each.obj for each in asked}.values())  # the last manifest of a cloud is used, as in apply
    if len(clouds) != 1:
        fail(f"{', '.join(map(str, files))}: must contain exactly one cloud, not {len(clouds)}")
    meta = {"uid": "", **clouds[0]["metadata"]}  # a new object has no uid
    return {**clouds[0], "metadata": meta}


async def _built(cloud: Object, chart: str) -> dict[str, Any]:
    """Computes the values as the operator does: cloud, service object, chart. Raises ValueError for unknown charts."""
    from stackwright.api.wording import choices
    from stackwright.controllers.cloud.objects import service_object
    from stackwright.controllers.cloud.selection import wanted_services
    from stackwright.controllers.service.objects import chart_values
    from stackwright.controllers.service.observe import observe
    from stackwright.core.objects import key_of
    from stackwright.core.settings import Settings
    from stackwright.local.image.images import references
    from stackwright.runtime.memory import MemoryCluster

    spec, more = _spec(cloud)
    services = {each.name: wanted for wanted in wanted_services(spec) for each in wanted.declared.charts}
    if chart not in services:
        raise ValueError(f"{chart}: not a chart of this cloud; {choices(chart, sorted(services))}")
    declared = services[chart].declared
    thing = service_object(cloud, spec, services[chart], more(services[chart]))
    cluster = MemoryCluster()
    cluster.put(declared.kind, thing)
    seen = await observe(declared, Settings(references(), {}), cluster, key_of(thing), 0.0)
    if seen is None or seen.context is None:
        raise ValueError("; ".join(seen.errors if seen else ()))
    return chart_values(seen, seen.context, next(each for each in declared.charts if each.name == chart))


def _spec(cloud: Object) -> tuple[OpenStackDeploymentSpec, Callable[[Wanted], Refinement | None]]:
    """The spec of an OpenStackDeployment, or the equivalent one of an OpenStackControlPlane with its additions."""
    from stackwright.cloud.controlplane import OpenStackControlPlane
    from stackwright.controllers.cloud import validate as of_deployment
    from stackwright.controllers.controlplane import validate as of_control_plane
    from stackwright.controllers.controlplane.objects import deployment, refinement

    if cloud["kind"] == OpenStackControlPlane.KIND.kind:
        plane, errors = of_control_plane.parse(cloud)
        if plane is not None:
            return deployment(plane), partial(refinement, plane)
    else:
        spec, errors = of_deployment.parse(cloud)
        if spec is not None:
            return spec, lambda wanted: None
    raise ValueError("; ".join(errors))


def _translated(chart: str, found: dict[str, Any]) -> dict[str, Any]:
    import yaml

    from stackwright.assets import require
    from stackwright.services.openstack_helm import translate

    defaults = yaml.safe_load(require(f"charts/{chart}/values.yaml").read_text())
    result = translate(chart, found, defaults)
    common.echo("Not translated:", err=True)
    for path, why in result.left_out:
        common.echo(f"  {path}: {why}", err=True)
    return result.values
