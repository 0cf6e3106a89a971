"""`stackwright doctor`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common
from stackwright.cli.cluster.options import KubeconfigOption
from stackwright.cli.common import Ca, PlainHttp

if TYPE_CHECKING:
    from stackwright.adapters.registry.reference import Prefix
    from stackwright.cli.manifests.load import Manifest
    from stackwright.cli.ui.progress import Phase
    from stackwright.core.findings import Finding
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader
    from stackwright.examine.demand import Given
    from stackwright.examine.observe import Observed


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


MARKS = {"ok": "✓", "note": "•", "problem": "✗"}


@dataclass(frozen=True)
class Asked:
    """manifests  those of the files. place  the registry and prefix. nodes  whether pods are run on nodes

    ca, plain_http  how the registry is reached
    """

    kubeconfig: Path | None
    manifests: list[Manifest]
    place: Prefix | None
    nodes: bool
    phase: Phase
    ca: Path | None
    plain_http: bool

    @property
    def given(self) -> list[Given]:
        return [(each.kind, each.obj) for each in self.manifests]


def doctor(
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="Clouds for this cluster; - for standard input. May be repeated.",
        ),
    ] = None,
    images: Annotated[
        str | None,
        typer.Option(
            metavar="REGISTRY/PREFIX", help="Registry and prefix of published images: report those that it lacks."
        ),
    ] = None,
    ca: Ca = None,
    plain_http: PlainHttp = False,
    nodes: Annotated[
        bool,
        typer.Option(
            "--nodes",
            help="Run a pod without privileges for up to two minutes on each node with a label of services, or on all.",
        ),
    ] = False,
    output: Annotated[Format, typer.Option("--output", "-o", help="Output format.")] = Format.TEXT,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Find faults of this machine and of the cluster, with remedies.

    With --kubeconfig, --context, -f, --images or --nodes: examine a cluster, but not its machines. Nothing need be
    installed on it: the command lists what an installation would lack. Only --nodes creates objects, in a namespace
    that it deletes.

    Exit code 0: no problem; 1: a problem; 2: wrong usage.

    For example:

      stackwright doctor

      stackwright doctor -o json

      stackwright doctor --kubeconfig ~/.kube/config -f cloud.yaml

      stackwright doctor --kubeconfig ~/.kube/config --images registry.example.org/stackwright --nodes

    """
    from stackwright.cli.failures import run
    from stackwright.cli.ui.progress import progress, silent
    from stackwright.local.cluster.doctor import examine
    from stackwright.local.config import LocalCluster

    for option, value in (("--ca", ca), ("--plain-http", plain_http)):
        if value and not images:
            raise typer.BadParameter(f"{option} needs --images", param_hint=option)
    if any((kubeconfig, common.given.context, file, images, nodes)):
        phase = progress() if output is Format.TEXT else silent
        place = _place(images) if images else None
        asked = Asked(kubeconfig, _loaded(file or []), place, nodes, phase, ca, plain_http)
        findings = [*run(_of_cluster(asked)), *_images(asked)]
    else:
        findings = [*_variable(), *examine(LocalCluster.discover())]
    if output is Format.JSON:
        import json

        common.data(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for one in findings:
            text = one.text.replace("\n", "\n      ")  # text of other programs must not look like another finding
            common.echo(f" {MARKS[one.level]} {one.subject}: {text}")
            if one.remedy:
                common.echo(f"      → {one.remedy}")
            for line in one.log.splitlines():
                common.echo(f"      | {line[:240]}")
    if any(finding.level == "problem" for finding in findings):
        raise typer.Exit(1)


def _variable() -> list[Finding]:
    """Errors of $KUBECONFIG: all other commands find their cluster by it, while this one examines the local cluster."""
    from stackwright.cli.cluster.connection import environment_kubeconfig, is_local
    from stackwright.cli.failures import CliError
    from stackwright.core.findings import Finding

    try:
        path = environment_kubeconfig()
    except CliError as error:
        return [Finding("kubeconfig", "problem", str(error), "Set $KUBECONFIG to an existing file, or unset it.")]
    if path is None or is_local(path):
        return []
    text = f"The cluster of $KUBECONFIG ({path}) is not examined, only this machine."
    return [Finding("kubeconfig", "note", text, f"`stackwright doctor --kubeconfig {path}` examines that cluster.")]


def _loaded(files: list[Path]) -> list[Manifest]:
    from stackwright.cli.failures import fail
    from stackwright.cli.manifests.load import BadManifest, load_all
    from stackwright.cloud.registry import CLOUD_KINDS

    kinds = [resource.KIND for resource in CLOUD_KINDS]
    try:
        found = load_all(files, None)
    except BadManifest as error:
        fail(str(error))
    if files and not any(each.kind in kinds for each in found):
        fail(f"{', '.join(map(str, files))}: contains no {' or '.join(kind.kind for kind in kinds)}")
    return found


def _place(prefix: str) -> Prefix:
    from stackwright.adapters.registry import reference

    try:
        return reference.prefix(prefix)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--images") from None


async def _of_cluster(asked: Asked) -> list[Finding]:
    """Findings about any cluster; one that cannot be examined is a finding, too."""
    from stackwright.adapters.kubernetes.errors import Unauthenticated
    from stackwright.cli.failures import CliError, failure_message
    from stackwright.core.errors import Conflict, TerminalError, TransientError
    from stackwright.core.findings import Finding

    try:
        return await _elsewhere(asked)
    except Unauthenticated as error:
        remedy = "Log in again, or name another user by --kubeconfig or --context."
        return [Finding("credentials", "problem", str(error), remedy)]
    except (CliError, Conflict, TerminalError, TransientError) as error:
        common.trace()
        return [Finding("cluster", "problem", failure_message(error), "")]


async def _elsewhere(asked: Asked) -> list[Finding]:
    """Findings about any cluster: missing requirements, pods and objects."""
    from stackwright.adapters.helm.command import chart_digests, privileged_charts
    from stackwright.api.kinds import NODE, POD
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.foresee import rendering
    from stackwright.core.kubernetes.diagnosis import of_objects, of_pods
    from stackwright.core.settings import Settings
    from stackwright.examine.checks import unmanaged
    from stackwright.examine.examine import examine
    from stackwright.examine.nodes import concerned
    from stackwright.examine.probe import run as probe
    from stackwright.local.image.images import references

    known = references(str(asked.place)) if asked.place else references()
    settings = Settings(known, chart_digests(), privileged_charts())

    def tell(text: str) -> None:
        common.echo(text, err=True)

    async with connected(asked.kubeconfig) as cluster:
        with rendering(tell, "requests of pods and some rights are not examined") as render:
            found, seen, demand = await examine(cluster, asked.given, settings, render)
        if asked.nodes:
            image = known["operator"] if asked.place else _installed_image(seen)
            with asked.phase("Examine nodes") as report:
                nodes = concerned(seen.all(NODE), demand)
                found += await probe.examine(cluster, nodes, image, demand, report, operator=seen.operator)
        objects, unknown = await _objects(cluster)
        namespaces = {each["metadata"].get("namespace", "") for each in objects} - {""}  # some kinds have none
        found += unmanaged(seen.operator, namespaces.union(demand.namespaces))
        return [*found, *of_pods(seen.all(POD)), *of_objects(objects), *unknown]


def _images(asked: Asked) -> list[Finding]:
    from stackwright.cloud.registry import CLOUD_KINDS
    from stackwright.examine import images

    if asked.place is None:
        return []
    kinds = [resource.KIND for resource in CLOUD_KINDS]
    with asked.phase(f"Verify images of {asked.place}") as report:
        clouds = [each for each in asked.given if each[0] in kinds]
        return images.check(asked.place, clouds, report, ca=asked.ca, plain_http=asked.plain_http)


def _installed_image(seen: Observed) -> str:
    """The image of the operator, which the nodes can pull. Raises CliError if no operator is known."""
    from stackwright.cli.failures import CliError

    if seen.operator is None:
        why = f"is unknown ({seen.hidden})" if seen.hidden else "is not installed"
        raise CliError(f"--nodes runs the operator's image, which {why}; name the registry by --images")
    return str(seen.operator["spec"]["template"]["spec"]["containers"][0]["image"])


async def _objects(cluster: Reader) -> tuple[list[Object], list[Finding]]:
    """The objects of our kinds, or why they are not known."""
    from stackwright.adapters.kubernetes.errors import MissingRight
    from stackwright.cloud.registry import RESOURCES
    from stackwright.core.errors import NotServed, TerminalError
    from stackwright.core.findings import Finding

    objects: list[Object] = []
    for kind in (resource.KIND for resource in RESOURCES):
        try:
            objects += [{**obj, "kind": kind.kind} for obj in await cluster.list(kind)]
        except NotServed:
            text = "Stackwright is not installed on this cluster."
            return [], [Finding("operator", "note", text, "`stackwright up --kubeconfig` installs it.")]
        except TerminalError as error:
            remedy = "Use a user who may list the objects of Stackwright." if isinstance(error, MissingRight) else ""
            return [], [Finding("objects", "note", str(error), remedy)]
    return objects, []
