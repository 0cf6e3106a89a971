"""Charts with rights on nodes or in the cluster declare it in Chart.yaml: only service objects may install them."""

import re
from pathlib import Path
from typing import Any

from stackwright.adapters.helm.command import chart_schemas, privileged_charts
from stackwright.core.helm.chart_schema import value_errors
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


def test_profiles_of_a_pod_do_not_confine_its_privileged_containers() -> None:
    """With SELinux or AppArmor of the pod they could not use the node; without the values nothing is set."""
    case = ROOT / "tests/golden/charts/openvswitch/confined/values.yaml"
    [pod] = [pod_of(item) for item in objects(case) if item["kind"] == "DaemonSet"]
    assert pod["securityContext"]["seLinuxOptions"] == {"type": "site_t", "level": "s0:c1,c2"}
    contexts = [each["securityContext"] for each in pod["containers"] + pod.get("initContainers", [])]
    own = {bool(each.get("privileged")): (each.get("seLinuxOptions"), each.get("appArmorProfile")) for each in contexts}
    assert own == {False: (None, None), True: ({"type": "spc_t", "level": "s0:c1,c2"}, {"type": "Unconfined"})}
    for item in objects(case.parents[1] / "default/values.yaml"):
        assert not re.search("seLinux|appArmor", str(pod_of(item)))


@each_chart
def test_fields_of_profiles_are_known_for_all_components(chart: Path) -> None:
    components = chart_schemas()[chart.name]["properties"]["pod"]["properties"]["security_context"]["properties"]
    assert components
    for schema in components.values():
        for place in ("pod", "container"):
            good = {"seLinuxOptions": {"type": "a_t"}, "appArmorProfile": {"type": "RuntimeDefault"}}
            assert list(value_errors(schema, {place: good}, "x")) == []
            bad = {"seLinuxOptions": {"kind": "a_t"}, "appArmorProfile": {"type": "Other"}}
            assert len(list(value_errors(schema, {place: bad}, "x"))) == 2
