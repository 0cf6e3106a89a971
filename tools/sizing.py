"""The page docs/reference/sizing.md: the requests of a cloud's pods, by size.

The figures are computed from the values that the operator gives to charts, merged over the charts' defaults as Helm
merges them; `manifests` of the values selects the workloads. A unit test compares them with manifests from Helm.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import yaml

from stackwright.api.services.kinds import OPENSTACK_RELEASE, Size
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.cloud.objects import service_object
from stackwright.controllers.cloud.selection import wanted_services
from stackwright.controllers.cloud.validate import parse
from stackwright.core.helm.merge import merge
from stackwright.core.kubernetes.quantity import amount
from stackwright.services.declaration import Chart
from stackwright.services.registry import BY_KIND, SERVICES
from stackwright.services.values import context_of, merged_values

CHARTS = Path(__file__).parents[1] / "charts"
SIZES: tuple[str, ...] = get_args(Size)
WORKLOADS = ("deployment", "statefulset", "daemonset")  # of the keys of `manifests`, without Jobs, whose pods end
Values = Mapping[str, Any]
CLOUDS = {
    "core": ("Preset `core`", "core", (), "ml2"),
    "ovn": ("Preset `core` with OVN", "core", (), "ml2/ovn"),
    "all": ("All services", "compute", tuple(declared.service for declared in SERVICES), "ml2"),
}
"""Name → title, preset, requested services, and back end of networks."""
PAGE = """\
# Sizes

`spec.size` of a cloud selects replicas, workers, memory and volumes. Intended are `single` for one node (trial and
tests), `tiny` for about 10 compute nodes, `small` for about 50, and `medium` for about 300; no cloud of more than a
few nodes has been tried. All figures on this page are computed from the values that the operator gives to its charts,
without overrides. Pods of Jobs and CronJobs are not included, because they end. A value that depends on the size has
one figure per size, in the order {sizes}.

`stackwright doctor --kubeconfig FILE -f cloud.yaml` compares the requests of your own cloud, overrides included, with
what is free on the nodes of your cluster ([guide](../howto/existing-cluster.md#check-the-cluster-first)). Virtual
machines are not in these figures: Nova places them in what it counts as free memory of the compute nodes.

"""
TOTALS = """\
## In total

Sums of all pods with the label of their nodes. *Once*: pods whose number does not depend on the number of nodes. *Each
node*: pods of which each node with the label has one. A node with several labels has the pods of each.

"""
ROWS = (
    "| release | container | nodes | pods | CPU | memory | memory limit | volume |\n|---|---|---|---|---|---|---|---|\n"
)
NOTES = {
    "core": "Images are files on one volume, which all pods of Glance share; Glance therefore has one pod.",
    "ovn": "Only what differs from the preset `core`. Neutron's RPC server and its agents do not exist.",
    "all": "Only what differs from the preset `core`. Images, volumes and objects are in a trial Ceph inside the\n"
    "cloud, whose pods an [external Ceph](../howto/use-external-ceph.md) replaces.",
}


@dataclass(frozen=True)
class Container:
    """A container of a workload.

    name    by which `pod.resources` of the chart names it
    component  whose pods contain it
    nodes   label of the nodes
    pods    None: one on each of the nodes
    cpu, memory, limit  requests of CPU (cores) and memory (bytes), and the limit of memory (bytes)
    volume  size of the volume of each pod, or of the one that they share, as in Kubernetes; empty: none
    """

    name: str
    component: str
    nodes: str
    pods: int | None
    cpu: Decimal
    memory: Decimal
    limit: Decimal
    volume: str = ""
    chart: str = ""
    release: str = ""


@functools.cache
def chart_defaults(chart: str) -> Values:
    found: Values = yaml.load((CHARTS / chart / "values.yaml").read_bytes(), yaml.CSafeLoader)
    return found


def containers(values: Values) -> Iterator[Container]:
    """The permanent containers of a chart, by its complete values.

    A container without a workload of its own belongs to the workload with the longest matching prefix, otherwise to the
    chart's DaemonSet.
    """
    flags = {flag: on for flag, on in values["manifests"].items() if flag.partition("_")[0] in WORKLOADS}
    own = {flag.partition("_")[2]: on for flag, on in flags.items()}
    jobs = {flag.replace("cron_job_", "job_").removeprefix("job_") for flag in values["manifests"].keys() - flags}
    hosts = [flag.partition("_")[2].replace("_", "-") for flag in flags if flag.startswith("daemonset_")]
    for name, resources in values["pod"]["resources"].items():
        flag = name.replace("-", "_")
        if flag in jobs or not own.get(flag, True):
            continue
        named = [other for other in own if flag == other or flag.startswith(f"{other}_")]
        holder = max(named, key=len).replace("_", "-") if named else hosts[0]
        label = values["labels"][holder]
        requests = {**resources["limits"], **resources["requests"]}
        yield Container(
            name,
            holder,
            f"{label['node_selector_key']}={label['node_selector_value']}",
            None if holder in hosts else int(values["pod"].get("replicas", {}).get(holder, 1)),
            amount(str(values["pod"]["requests"].get("cpu") or requests["cpu"])),
            amount(str(requests["memory"])),
            amount(str(resources["limits"]["memory"])),
        )


def cloud(size: str, preset: str, services: Iterable[str] = (), backend: str = "ml2") -> list[Container]:
    """All permanent containers of a cloud."""
    spec = {
        "openstack_version": OPENSTACK_RELEASE,
        "preset": preset,
        "size": size,
        "public_domain_name": "cloud.example",
        "features": {"services": list(services), "neutron": {"backend": backend}},
    }
    kind = OpenStackDeployment.KIND
    obj = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": "cloud", "namespace": "openstack", "uid": "u"},
    }
    obj["spec"] = spec
    parsed, errors = parse(obj)
    if parsed is None:
        raise ValueError(str(errors))
    found = []
    for wanted in wanted_services(parsed):
        made = service_object(obj, parsed, wanted)
        declared = BY_KIND[made["kind"]]
        context = context_of(declared, made["spec"], wanted.name)
        assert context is not None
        for chart in declared.charts:
            if not chart.wanted(context.settings):
                continue
            values = merge(chart_defaults(chart.name), merged_values(declared, context, chart))
            with_volume = set[str]()
            for each in containers(values):
                volume = _volume(values, chart, each.component) if each.component not in with_volume else ""
                with_volume.add(each.component)
                found.append(replace(each, volume=volume, chart=chart.name, release=chart.release(wanted.name)))
    return found


def _volume(values: Values, chart: Chart, component: str) -> str:
    if component == "osd":  # of a trial Ceph, which has its own value for its disks
        return str(values["osd"]["size"])
    return str(values["volume"]["size"]) if component in chart.claims else ""


def page() -> str:
    """The text of docs/reference/sizing.md."""
    found = {name: {size: cloud(size, *args) for size in SIZES} for name, (_, *args) in CLOUDS.items()}
    text = PAGE.format(sizes=", ".join(f"`{size}`" for size in SIZES)) + TOTALS
    for name, (title, *_) in CLOUDS.items():
        text += f"{title}:\n\n{_totals(found[name])}\n"
    seen: set[str] = set()
    for name, (title, *_) in CLOUDS.items():
        rows = [row for row in _rows(found[name]) if row not in seen]
        seen |= {*rows}
        text += f"## {title}\n\n{NOTES[name]}\n\n{ROWS}" + "".join(f"{row}\n" for row in rows) + "\n"
    return text.rstrip("\n") + "\n"


def _totals(sizes: Mapping[str, list[Container]]) -> str:
    head = f"| pods | {' | '.join(f'`{size}`: CPU, memory, limit' for size in sizes)} |\n|---{'|---' * len(sizes)}|\n"
    groups = dict.fromkeys((each.nodes, each.pods is None) for one in sizes.values() for each in one)
    text = ""
    for nodes, daemon in sorted(groups, key=lambda group: group[1]):
        cells = []
        for one in sizes.values():
            mine = [(each, each.pods or 1) for each in one if (each.nodes, each.pods is None) == (nodes, daemon)]
            cpu = sum((each.cpu * pods for each, pods in mine), Decimal(0))
            memory = sum((each.memory * pods for each, pods in mine), Decimal(0))
            limit = sum((each.limit * pods for each, pods in mine), Decimal(0))
            cells.append(f"{cpu:.2f}, {_gib(memory)}, {_gib(limit)}")
        text += f"| `{nodes}`, {'each node' if daemon else 'once'} | {' | '.join(cells)} |\n"
    return head + text


def _rows(sizes: Mapping[str, list[Container]]) -> Iterator[str]:
    places = dict.fromkeys((each.release, each.name) for one in sizes.values() for each in one)
    for release, name in places:
        same = [each for one in sizes.values() for each in one if (each.release, each.name) == (release, name)]
        columns = (
            [each.nodes.removesuffix("=enabled") for each in same],
            ["each node" if each.pods is None else str(each.pods) for each in same],
            [f"{each.cpu * 1000:.0f}m" for each in same],
            [_mib(each.memory) for each in same],
            [_mib(each.limit) for each in same],
            [each.volume for each in same],
        )
        shown = (column[0] if len({*column}) == 1 else ", ".join(column) for column in columns)
        yield f"| `{release}` | `{name}` | {' | '.join(shown)} |"


def _mib(amount: Decimal) -> str:
    return f"{amount / (1 << 20):.0f}Mi"


def _gib(amount: Decimal) -> str:
    return _mib(amount) if amount < 1 << 30 else f"{amount / (1 << 30):.1f}Gi"
