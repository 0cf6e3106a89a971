"""Reports of nodes: a pod's termination message → a report within bounds → findings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stackwright.core.findings import Finding
from stackwright.core.kubernetes.workload_health import pod_cause
from stackwright.core.plan import Object
from stackwright.examine.demand import Demand
from stackwright.examine.nodes import has_label
from stackwright.examine.probe.pod import PROBE
from stackwright.examine.server import domains

SHOWN = 100  # characters of the names of fields
LONGEST = 4096  # bytes; a kubelet truncates longer termination messages
LEAST_DISK = 10 << 30  # bytes: the images of a cloud need about half of it
MOST_SKEW = 5.0  # seconds; tokens of other nodes are not valid yet if the clock is behind
SWITCH = "openvswitch"

Text = Annotated[str, Field(max_length=300)]
Bytes = Annotated[int, Field(ge=0, le=1 << 60)]


class Report(BaseModel):
    """The output of `script.py`. A field without a value has an entry in `errors`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    disk: Bytes | None = None
    cgroup: Annotated[int, Field(ge=1, le=2)] | None = None
    kernel: Annotated[list[Text], Field(max_length=10)] = []
    hugepages: Bytes = 0
    domain: Text = ""
    address: Text = ""
    skew: Annotated[float, Field(allow_inf_nan=False)] | None = None
    errors: Annotated[dict[Text, Text], Field(max_length=10)] = {}


def reported(pods: Iterable[Object]) -> dict[str, Report | str]:
    """Node → its report, or the error if it has no valid one. Nodes whose pod has not ended are missing."""
    found: dict[str, Report | str] = {}
    for pod in pods:
        statuses = (pod.get("status") or {}).get("initContainerStatuses") or ()
        probe: Object = next((each for each in statuses if each.get("name") == PROBE), {})
        ended = (probe.get("state") or {}).get("terminated")
        if ended and (node := (pod.get("spec") or {}).get("nodeName")):
            found[node] = _parsed(str(ended.get("message") or ""))
    return found


def _parsed(message: str) -> Report | str:
    if len(message) > LONGEST:
        return f"The report has more than {LONGEST} characters."
    try:
        return Report.model_validate_json(message)
    except ValidationError as error:
        fields = sorted({".".join(map(str, each["loc"])) for each in error.errors()} - {""})
        return f"The report is not valid: {', '.join(fields)[:SHOWN] or 'it is no JSON object'}."


def findings(nodes: Iterable[Object], pods: Iterable[Object], demand: Demand) -> list[Finding]:
    """The findings for each node of the examination.

    pods  pods of the DaemonSet, with reports, or with the reason why they have none
    """
    pods = list(pods)
    reports = reported(pods)
    found: list[Finding] = []
    by_node = {(pod.get("spec") or {}).get("nodeName"): pod for pod in pods}
    for node in nodes:
        name = node["metadata"]["name"]
        subject, report = f"node {name}", reports.get(name)
        if isinstance(report, Report):
            found += _of(subject, node, report, demand)
            continue
        pod = by_node.get(name)
        why = report or (pod_cause(pod) if pod else "") or "Its pod did not run within the time limit."
        remedy = f"`kubectl describe node {name}` shows the state of the node."
        found.append(Finding(subject, "problem", f"No report: {why}", remedy))
    return [*found, *_domains(reports, demand)]


def _of(subject: str, node: Object, report: Report, demand: Demand) -> list[Finding]:
    found = [*_kernel(subject, node, report, demand)]
    if report.disk is not None and report.disk < LEAST_DISK:
        text = f"{_gib(report.disk)} are free on the disk of the kubelet; images and volumes need {_gib(LEAST_DISK)}."
        found.append(
            Finding(subject, "note", text, "Remove unused images with `crictl rmi --prune`, or add disk space.")
        )
    if report.cgroup == 1:
        text = "The node uses cgroup v1; Stackwright is tested with v2 only."
        found.append(Finding(subject, "note", text, "Boot it with systemd.unified_cgroup_hierarchy=1."))
    if report.skew is not None and abs(report.skew) > MOST_SKEW:
        side = "ahead of" if report.skew > 0 else "behind"
        text = f"Its clock is {abs(report.skew):.0f} s {side} that of the API server."
        found.append(
            Finding(subject, "problem", text, "Synchronize the clocks, such as with chrony: `chronyc makestep`.")
        )
    if why := report.errors.get("address"):
        text = f"Pods cannot resolve names of the cluster: {why}"
        remedy = "`kubectl -n kube-system logs -l k8s-app=kube-dns` shows the errors of the DNS."
        found.append(Finding(subject, "problem", text, remedy))
    for what, why in report.errors.items():
        if what != "address":
            found.append(Finding(subject, "note", f"The value of {what} is not known: {why}"))
    return found or [Finding(subject, "ok", _facts(report))]


def _kernel(subject: str, node: Object, report: Report, demand: Demand) -> Iterable[Finding]:
    wanted = sorted({one for label, names in demand.modules.items() if has_label(node, label) for one in names})
    for name in wanted:
        if name in report.kernel:
            continue
        if name == SWITCH and "tun" not in report.kernel:
            text = "The node has neither the kernel module openvswitch nor /dev/net/tun; its switch needs one of them."
            yield Finding(subject, "problem", text, "Run `modprobe openvswitch` on the node.")
            continue
        text = f"The kernel does not provide {name}; services that use it are slower."
        remedy = f"Run `modprobe {name}` on the node, and add it to /etc/modules-load.d."
        if name == "kvm":
            remedy = "Enable virtualization in the firmware or on the host, and run `modprobe kvm_intel` or `kvm_amd`."
        yield Finding(subject, "note", text, remedy)


def _domains(reports: Mapping[str, Report | str], demand: Demand) -> list[Finding]:
    served = {report.domain for report in reports.values() if isinstance(report, Report) and report.domain}
    return [each for name in sorted(served) for each in domains("DNS of pods", name, demand)]


def _facts(report: Report) -> str:
    disk = f"{_gib(report.disk)} free, " if report.disk is not None else ""
    clock = f", clock {report.skew:+.1f} s" if report.skew is not None else ""
    kernel = f", {', '.join(report.kernel)}" if report.kernel else ""
    return f"{disk}cgroup v{report.cgroup}{clock}{kernel}, {_gib(report.hugepages)} of huge pages"


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"
