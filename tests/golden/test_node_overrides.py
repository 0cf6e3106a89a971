"""Values for single nodes, as the library chart renders them: with a temporary chart of one agent."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from support.paths import ROOT
from tests.golden.test_charts import BRIEF, find_helm

AGENT = """\
{{- define "probe.agent" -}}
name: probe-agent
component: agent
configmaps: [etc, bin]
containers:
  - name: agent
    image: agent
    command: [agent]
    volumeMounts:
      - {name: etc, mountPath: /etc/probe}
      - {name: bin, mountPath: /opt/probe}
{{- end }}
{{- define "probe.etc" -}}
probe.conf: |
  {{- include "lib.oslo_conf" .Values.conf.probe | nindent 2 }}
{{- end }}
"""
TEMPLATES = {
    "_agent.tpl": AGENT,
    "agent.yaml": '{{ include "lib.agent" (list . "probe.agent") }}\n',
    "configmap-bin.yaml": '{{ include "lib.configmap_bin" . }}\n',
    "configmap-etc.yaml": '{{ include "lib.configmap_etc" (list . "probe.etc") }}\n',
}
VALUES = {
    "images": {"tags": {"agent": "example.org/agent:1"}, "pull_policy": "IfNotPresent", "pull_secrets": []},
    "labels": {"agent": {"node_selector_key": "openvswitch", "node_selector_value": "enabled"}},
    "pod": {"resources": {"agent": {"limits": {"memory": "1Gi"}}}},
    "conf": {"probe": {"DEFAULT": {"speed": 1, "debug": False}}},
    "overrides": {},
    "manifests": {},
}


@pytest.fixture(scope="module")
def chart(tmp_path_factory):
    folder = tmp_path_factory.mktemp("charts") / "probe"
    (folder / "templates").mkdir(parents=True)
    (folder / "charts").mkdir()
    (folder / "charts/stackwright-lib").symlink_to(ROOT / "charts/lib")
    (folder / "Chart.yaml").write_text((ROOT / "charts/memcached/Chart.yaml").read_text().replace("memcached", "probe"))
    (folder / "bin").mkdir()
    (folder / "bin/agent.sh").write_text("#!/bin/bash\n")
    for name, text in TEMPLATES.items():
        (folder / "templates" / name).write_text(text)
    (folder / "values.yaml").write_text(yaml.safe_dump(VALUES))
    return folder


def render(chart: Path, labels: dict | None = None):
    """(kind, name) → object, with values for the nodes of some labels."""
    values = json.dumps({"overrides": {"agent": {"labels": labels or {}}}})
    done = subprocess.run(
        [find_helm(), "template", "probe", str(chart), "--values=-"],
        input=values, capture_output=True, text=True, timeout=60, env=BRIEF,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [obj for obj in yaml.load_all(done.stdout, yaml.CSafeLoader) if obj]
    named = {(obj["kind"], obj["metadata"]["name"]): obj for obj in found}
    assert len(named) == len(found), "two objects of one name"
    return named


def agents(found):
    return {name: obj for (kind, name), obj in found.items() if kind == "DaemonSet"}


def where(obj):
    """Required labels of a DaemonSet's nodes, beyond its nodeSelector."""
    affinity = obj["spec"]["template"]["spec"].get("affinity", {}).get("nodeAffinity")
    if affinity is None:
        return []
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return [(e["key"], e["operator"], *e["values"]) for e in term["matchExpressions"]]


def configuration(found, obj):
    volumes = {v["name"]: v for v in obj["spec"]["template"]["spec"]["volumes"]}
    return found["ConfigMap", volumes["etc"]["configMap"]["name"]]["data"]["probe.conf"]


RACKS = {
    "rack::r1": {"conf": {"probe": {"DEFAULT": {"speed": 2}}}},
    "example.org/role::fast::disk": {"pod": {"resources": {"agent": {"limits": {"memory": "2Gi"}}}}},
}


def test_without_overrides_one_daemonset_serves_all_nodes(chart):
    found = render(chart)
    assert list(agents(found)) == ["probe-agent"]
    assert where(agents(found)["probe-agent"]) == []


def test_each_label_has_its_own_daemonset_and_each_node_exactly_one(chart):
    found = agents(render(chart, RACKS))
    assert len(found) == 3
    assert sorted(where(obj) for obj in found.values()) == [
        [("example.org/role", "In", "fast::disk")],
        [("example.org/role", "NotIn", "fast::disk"), ("rack", "In", "r1")],
        [("example.org/role", "NotIn", "fast::disk"), ("rack", "NotIn", "r1")],
    ]
    for obj in found.values():
        assert obj["spec"]["template"]["spec"]["nodeSelector"] == {"openvswitch": "enabled"}


def test_the_values_of_a_label_reach_configuration_and_pods_of_its_nodes_and_no_others(chart):
    found = render(chart, RACKS)
    told = {}
    for obj in agents(found).values():
        (container,) = obj["spec"]["template"]["spec"]["containers"]
        speed = "speed = 2" in configuration(found, obj)
        told[where(obj)[-1][1:]] = (speed, container["resources"]["limits"]["memory"])
        assert "debug = false" in configuration(found, obj), "the rest is as everywhere"
    assert told == {
        ("In", "r1"): (True, "1Gi"), ("NotIn", "r1"): (False, "1Gi"), ("In", "fast::disk"): (False, "2Gi")
    }  # fmt: skip


def test_every_configmap_that_a_pod_mounts_is_made_and_scripts_are_the_same_for_all(chart):
    found = render(chart, RACKS)
    mounted = [
        volume["configMap"]["name"]
        for obj in agents(found).values()
        for volume in obj["spec"]["template"]["spec"]["volumes"]
        if "configMap" in volume
    ]
    made = [name for kind, name in found if kind == "ConfigMap"]
    assert sorted(set(mounted)) == sorted(made)
    assert len(made) == 4 and mounted.count("probe-bin") == 3


def test_pods_of_single_nodes_are_found_by_a_label_of_their_own(chart):
    found = agents(render(chart, RACKS))
    own = [obj for name, obj in found.items() if name != "probe-agent"]
    selectors = [obj["spec"]["selector"]["matchLabels"] for obj in own]
    assert len({selector["stackwright.dev/override"] for selector in selectors}) == 2
    for obj, selector in zip(own, selectors, strict=True):
        assert selector.items() <= obj["spec"]["template"]["metadata"]["labels"].items()
        assert obj["spec"]["template"]["spec"]["serviceAccountName"] == "probe-agent"


def test_a_changed_value_of_a_label_restarts_the_pods_of_its_nodes_only(chart):
    slow, fast = ({"rack::r1": {"conf": {"probe": {"DEFAULT": {"speed": speed}}}}} for speed in (2, 3))
    before, after = agents(render(chart, slow)), agents(render(chart, fast))
    changed = [name for name in before if before[name]["spec"]["template"] != after[name]["spec"]["template"]]
    assert before.keys() == after.keys()
    assert len(changed) == 1 and changed != ["probe-agent"]


def test_a_new_label_changes_other_daemonsets_only_by_excluding_its_nodes(chart):
    before, after = agents(render(chart))["probe-agent"], agents(render(chart, RACKS))["probe-agent"]
    del after["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    affinity = after["spec"]["template"]["spec"]["affinity"]
    after["spec"]["template"]["spec"] = {
        k: v for k, v in after["spec"]["template"]["spec"].items() if k != "affinity" or affinity
    }
    assert after == before


def test_another_label_leaves_the_name_of_the_first_alone(chart):
    alone = set(agents(render(chart, {"rack::r1": RACKS["rack::r1"]})))
    assert alone < set(agents(render(chart, RACKS)))
