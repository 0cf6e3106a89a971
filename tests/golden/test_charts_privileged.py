"""Charts with rights on nodes or in the cluster declare it in Chart.yaml: only service objects may install them."""

import re
from pathlib import Path
from typing import Any

from stackwright.adapters.helm.command import privileged_charts
from support.paths import ROOT
from tests.golden.test_charts import CASES, each_chart, objects

CLUSTER = {"ClusterRole", "ClusterRoleBinding", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy"}


def pod_of(item: dict[str, Any]) -> dict[str, Any]:
    spec = item.get("spec") or {}
    if item["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    return (spec.get("template") or {}).get("spec") or {}


def rights(item: dict[str, Any]) -> set[str]:
    """What an object may do outside of its namespace, in words."""
    pod = pod_of(item)
    found = {name for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name)}
    found |= {"hostPath" for volume in pod.get("volumes") or () if "hostPath" in volume}
    for container in [*(pod.get("containers") or ()), *(pod.get("initContainers") or ())]:
        context = {**(pod.get("securityContext") or {}), **(container.get("securityContext") or {})}
        found |= {name for name in ("privileged", "allowPrivilegeEscalation") if context.get(name)}
        found |= {"capabilities"} if (context.get("capabilities") or {}).get("add") else set()
        found |= {"hostPort" for port in container.get("ports") or () if port.get("hostPort")}
        found |= {"root"} if context.get("runAsUser") == 0 else set()
    for rule in item.get("rules") or () if item["kind"] == "Role" else ():
        found |= {"Secrets"} if "secrets" in rule["resources"] and not rule.get("resourceNames") else set()
    return found | ({item["kind"]} & CLUSTER)


@each_chart
def test_a_chart_declares_its_rights_on_nodes(chart: Path) -> None:
    cases = [case for case in CASES if case.parents[1].name == chart.name]
    assert cases
    found = {
        f"{item['kind']} {item['metadata']['name']}": each
        for case in cases
        for item in objects(case)
        if (each := rights(item))
    }
    assert (chart.name in privileged_charts()) == bool(found), found


def exceptions(pod: dict[str, Any], container: dict[str, Any]) -> frozenset[str]:
    """Rights of a container beyond the safe default, in the words of the table."""
    context = {**(pod.get("securityContext") or {}), **(container.get("securityContext") or {})}
    privileged, capabilities = context.get("privileged"), context.get("capabilities") or {}
    assert privileged or capabilities["drop"] == ["ALL"]
    assert context["readOnlyRootFilesystem"] and context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert bool(context["allowPrivilegeEscalation"]) == bool(privileged)
    found = {"privileged"} if privileged else {"root"} if context.get("runAsUser") == 0 else set()
    found |= {*capabilities.get("add", ())}
    found |= {word for word, field in (("network", "hostNetwork"), ("processes", "hostPID")) if pod.get(field)}
    return frozenset(found | {"ports" for port in container.get("ports") or () if port.get("hostPort")})


def test_the_table_lists_all_unconfined_containers_with_their_rights() -> None:
    rendered: dict[str, frozenset[str]] = {}
    for case in CASES:
        for item in objects(case):
            pod, name = pod_of(item), re.sub("-[0-9a-f]{8}$", "", item["metadata"]["name"])  # of some nodes
            for container in [*(pod.get("containers") or ()), *(pod.get("initContainers") or ())]:
                if found := exceptions(pod, container):
                    key = name if name == container["name"] else f"{name}/{container['name']}"
                    assert rendered.setdefault(key, found) == found
    text = (ROOT / "docs/explanation/security.md").read_text()
    (table,) = re.findall(r"\| container \| exception \| reason \|\n(.*?)\n\n", text, re.DOTALL)
    told: dict[str, frozenset[str]] = {}
    for row in table.splitlines()[1:]:
        names, exception, _ = row.strip("| ").split(" | ", 2)
        words = frozenset(re.findall(r"privileged|root|network|processes|ports|\b[A-Z_]{5,}\b", exception))
        told |= dict.fromkeys(re.findall("`(.+?)`", names), words)
    assert told == rendered
