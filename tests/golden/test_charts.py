"""The charts: rendered by the real helm, compared with golden files, and checked against common rules.

`UPDATE_GOLDEN=1 pytest tests/golden/test_charts.py` rewrites the golden files; read the difference first.
"""

import functools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from stackwright.cloud.registry import RESOURCES
from stackwright.core.kubernetes.versions import IMAGE_VOLUMES
from support.paths import ROOT

CHARTS = sorted(path.parent for path in (ROOT / "charts").glob("*/Chart.yaml") if path.parent.name != "lib")
CASES = sorted((ROOT / "tests/golden/charts").glob("*/*/values.yaml"))
# Labels that a pod gets only after its creation: from our operator, and from its StatefulSet.
LATER = ("mariadb-role", "statefulset.kubernetes.io/pod-name")
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job")
# Components that rule the node they run on, and why no smaller right would do.
RULE_THEIR_NODE = {
    "libvirt": "makes virtual machines: /dev/kvm, cgroups and namespaces of the node",
    "nova-compute": "plugs interfaces of virtual machines into the node's switch",
    "openvswitch": "is the node's switch: network devices, kernel modules and netdev datapaths",
    "ovn-controller": "programs the node's switch over the socket that root has there",
    "neutron-ovs-agent": "programs the node's switch and its firewall",
    "neutron-dhcp-agent": "makes network namespaces on the node, in which DHCP servers run",
    "neutron-l3-agent": "makes network namespaces on the node, which are routers",
    "neutron-metadata-agent": "makes sockets in namespaces of routers",
    "neutron-ovn-metadata-agent": "makes network namespaces on the node, in which metadata is served",
}
# Components that mount file systems, depending on values.
MOUNT = {"cinder-volume", "cinder-backup"}
NEEDS_TOKEN = {"stackwright", "local-volume-provisioner", "ingress"}


@functools.cache
def find_helm() -> str:
    try:
        from stackwright.local.tools import binary

        path = binary("helm")
    except Exception:  # the tool may not be built yet; any helm will do
        path = None
    found = str(path) if path and Path(path).exists() else shutil.which("helm") or shutil.which("/usr/local/bin/helm")
    assert found, "these tests need helm: build the tools, or put helm into PATH"
    return found


# A helm lives for a tenth of a second: to collect its garbage costs a fifth of that and gains nothing.
BRIEF = {**os.environ, "GOGC": "off"}


# Without a cluster, a Helm that was not built by its Makefile assumes 1.20.
KUBERNETES = ("--kube-version", ".".join(map(str, (*IMAGE_VOLUMES, 0))))


@functools.cache
def helm(*args: str) -> subprocess.CompletedProcess[str]:
    more = KUBERNETES if args[0] == "template" else ()
    return subprocess.run([find_helm(), *args, *more], capture_output=True, text=True, timeout=60, env=BRIEF)


def render(case: Path) -> str:
    chart = case.parents[1].name
    done = helm("template", chart, str(ROOT / "charts" / chart), "--namespace=openstack", f"--values={case}")
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def objects(case: Path) -> list[dict]:
    return [item for item in yaml.load_all(render(case), yaml.CSafeLoader) if item]


def name_of(case: Path) -> str:
    return f"{case.parents[1].name}/{case.parent.name}"


each_case = pytest.mark.parametrize("case", CASES, ids=name_of)
each_chart = pytest.mark.parametrize("chart", CHARTS, ids=lambda path: path.name)


@each_case
def test_renders_as_the_golden_file(case: Path) -> None:
    golden = case.with_name("rendered.yaml")
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(render(case))
    assert render(case) == golden.read_text()


@each_chart
def test_a_numeric_namespace_stays_a_text(chart: Path) -> None:
    """In every place: Kubernetes refuses a number there."""

    def namespaces(value: object) -> Iterator[object]:
        if isinstance(value, dict):
            yield from (item for key, item in value.items() if key == "namespace")
            yield from (found for item in value.values() for found in namespaces(item))
        elif isinstance(value, list):
            yield from (found for item in value for found in namespaces(item))

    case = next(case for case in CASES if case.parents[1].name == chart.name)
    done = helm("template", chart.name, str(chart), "--namespace=123", f"--values={case}")
    assert done.returncode == 0, done.stderr
    assert {each for each in namespaces(list(yaml.safe_load_all(done.stdout))) if isinstance(each, int)} == set()


@each_chart
def test_every_chart_has_a_golden_case(chart: Path) -> None:
    assert any(case.parents[1].name == chart.name for case in CASES)


@each_chart
def test_lint(chart: Path) -> None:
    every = helm("lint", "--strict", "--quiet", *map(str, CHARTS))  # one start for all while none is wrong
    if every.returncode != 0:
        done = helm("lint", "--strict", "--quiet", str(chart))
        assert done.returncode == 0, done.stdout + done.stderr


@each_chart
def test_the_library_is_a_relative_link(chart: Path) -> None:
    assert str((chart / "charts/stackwright-lib").readlink()) == "../../lib"


@each_chart
def test_unknown_values_are_refused_by_name(chart: Path) -> None:
    done = helm("template", "x", str(chart), "--set=replicaCount=3,images.pull_policy=Sometimes")
    assert done.returncode != 0
    assert "additional properties 'replicaCount' not allowed" in done.stderr
    assert "/images/pull_policy" in done.stderr


def test_the_operator_is_not_installed_in_an_older_kubernetes() -> None:
    chart = ROOT / "charts/stackwright"
    argv = [find_helm(), "template", "x", str(chart), "--set=images.tags.stackwright=x", "--kube-version"]
    for version, fits in {"v1.31.9": False, "v1.32.0-eks-1": True, "1.36.1": True}.items():
        done = subprocess.run([*argv, version], capture_output=True, text=True, timeout=60, env=BRIEF)
        assert (done.returncode == 0) == fits, done.stderr
        assert fits or "chart requires kubeVersion: >=1.32.0-0" in done.stderr


@pytest.mark.parametrize(
    ("version", "value", "expected"),
    [
        ("1.32.0", "true", "init"),
        ("1.34.9-gke.1", "true", "init"),
        ("1.35.0-eks-1", "true", ""),
        ("1.36.1", "false", "init"),
    ],
)
def test_images_are_pulled_by_init_containers_where_kubernetes_has_no_image_volumes(
    version: str, value: str, expected: str
) -> None:
    words = ["template", "x", str(ROOT / "charts/stackwright"), "--set=images.tags.stackwright=x"]
    words += [f"--set=images.volumes={value}", "--show-only=templates/configmap-images.yaml", "--kube-version", version]
    done = subprocess.run([find_helm(), *words], capture_output=True, text=True, timeout=60, env=BRIEF)
    assert done.returncode == 0, done.stderr
    files = yaml.safe_load(done.stdout)["data"]
    assert json.loads(files.get("pulls.json", "{}")).get("precaching", "") == expected


@each_chart
def test_a_missing_image_is_an_error_that_names_its_value(chart: Path) -> None:
    done = helm("template", "x", str(chart))
    assert done.returncode != 0
    assert re.search(r"images\.tags\.\w+ is needed", done.stderr)


@each_chart
def test_every_value_is_explained(chart: Path) -> None:
    """A comment `# --` precedes each value, or the group that contains it."""
    unexplained, explained_at = [], None
    comment = False
    for line in (chart / "values.yaml").read_text().splitlines():
        indent = len(line) - len(line.lstrip())
        if explained_at is not None and line.strip() and indent <= explained_at and not line.lstrip().startswith("#"):
            explained_at = None
        if line.lstrip().startswith("# --"):
            comment = True
        elif line.strip() and not line.lstrip().startswith("#"):
            if comment:
                explained_at = indent if explained_at is None else explained_at
            elif explained_at is None and not line.rstrip().endswith(":"):
                unexplained.append(line.strip())
            comment = False
    assert not unexplained


@each_case
def test_objects_have_the_labels_and_no_hooks(case: Path) -> None:
    for item in objects(case):
        assert {"application", "component", "release_group"} <= item["metadata"]["labels"].keys()
        assert not any(key.startswith("helm.sh/hook") for key in item["metadata"].get("annotations", {}))
    meta = [(item["kind"], item["metadata"]) for item in objects(case)]
    assert len({(kind, each.get("namespace"), each["name"]) for kind, each in meta}) == len(meta)


@each_case
def test_pods_run_with_few_rights(case: Path) -> None:
    chart = case.parents[1].name
    for item in objects(case):
        if item["kind"] not in WORKLOADS:
            continue
        pod = item["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is (chart in NEEDS_TOKEN)
        rules = without_suffix(item["metadata"]["name"]) in RULE_THEIR_NODE
        mounts = item["metadata"]["name"] in MOUNT and any("hostPath" in volume for volume in pod["volumes"])
        assert pod["securityContext"]["runAsNonRoot"] is not (rules or mounts or chart == "local-volume-provisioner")
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod.get("hostNetwork", False) is rules
        for container in pod.get("initContainers", []) + pod["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            if not ((rules or mounts) and context.get("privileged")):
                assert context["allowPrivilegeEscalation"] is False
                assert context["capabilities"]["drop"] == ["ALL"]
            assert container["resources"].keys() >= {"requests", "limits"}
            assert not any("tcpSocket" in container.get(f"{kind}Probe", {}) for kind in ("readiness", "liveness"))


@pytest.mark.parametrize("chart", ["cinder", "glance", "keystone", "neutron", "nova", "placement"])
def test_an_api_that_is_only_busy_is_not_restarted(chart: str) -> None:
    """Requests of a minute or two may wait in its queue, and the probe's behind them."""
    for case in (case for case in CASES if case.parents[1].name == chart):
        for item in yaml.load_all(case.with_name("rendered.yaml").read_text(), yaml.CSafeLoader):
            if not item or item["kind"] != "Deployment":
                continue
            for container in item["spec"]["template"]["spec"]["containers"]:
                probe = container.get("livenessProbe", {})
                if "httpGet" in probe and container["ports"] and case.parent.name != "tuned":
                    assert probe["timeoutSeconds"] >= 30, (case, container["name"])
                    assert probe["periodSeconds"] * probe["failureThreshold"] >= 300, (case, container["name"])


def without_suffix(name: str) -> str:
    """A DaemonSet with values for single nodes has a digest at the end of its name."""
    return re.sub(r"-[0-9a-f]{8}$", "", name)


def test_each_component_with_rights_on_its_node_exists_and_has_a_reason() -> None:
    made = {item["metadata"]["name"] for case in CASES for item in objects(case) if item["kind"] == "DaemonSet"}
    assert RULE_THEIR_NODE.keys() <= made
    assert all(RULE_THEIR_NODE.values())


@each_case
def test_rights_are_listed_one_by_one(case: Path) -> None:
    for item in objects(case):
        for rule in item.get("rules", []) if item["kind"].endswith("Role") else []:
            assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"]
            assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"])


def test_cluster_api_may_manage_the_kinds_that_it_reads_and_no_others() -> None:
    [role] = [
        item
        for item in objects(ROOT / "tests/golden/charts/stackwright/single/values.yaml")
        if item["metadata"]["labels"].get("cluster.x-k8s.io/aggregate-to-manager") == "true"
    ]
    [rule] = role["rules"]
    kinds = {(resource.KIND.group, resource.KIND.plural) for resource in RESOURCES if resource.KIND.contract}
    assert {(group, name) for group in rule["apiGroups"] for name in rule["resources"]} == kinds
    assert sorted(rule["verbs"]) == ["create", "delete", "get", "list", "patch", "update", "watch"]


@pytest.mark.parametrize("mode", ["single", "split"])
def test_the_operator_leaves_a_node_that_is_lost_after_half_a_minute(mode: str) -> None:
    """Without tolerations of its own a pod gets those of Kubernetes, of 300 s. Without it nobody moves the primary."""
    [pod] = [
        item["spec"]["template"]["spec"]
        for item in objects(ROOT / f"tests/golden/charts/stackwright/{mode}/values.yaml")
        if item["kind"] == "Deployment"
    ]
    assert {each["key"]: each.get("tolerationSeconds") for each in pod["tolerations"]} == {
        "node.kubernetes.io/not-ready": 30,
        "node.kubernetes.io/unreachable": 30,
    }
    assert {(each["operator"], each["effect"]) for each in pod["tolerations"]} == {("Exists", "NoExecute")}


@each_case
def test_services_reach_a_named_port_of_their_pods(case: Path) -> None:
    found = objects(case)
    pods = [item["spec"]["template"] for item in found if item["kind"] in WORKLOADS]
    for service in (item for item in found if item["kind"] == "Service"):
        selector = {k: v for k, v in service["spec"]["selector"].items() if k not in LATER}
        template = next(pod for pod in pods if selector.items() <= pod["metadata"]["labels"].items())
        ports = {port["name"] for container in template["spec"]["containers"] for port in container.get("ports", ())}
        assert {port["targetPort"] for port in service["spec"].get("ports", ())} <= ports


@each_case
def test_each_container_mounts_existing_volumes_at_different_paths(case: Path) -> None:
    """The API server rejects a pod that mounts two volumes at one path, or an unknown one."""
    for item in objects(case):
        if item["kind"] not in WORKLOADS:
            continue
        spec = item["spec"]["template"]["spec"]
        volumes = {each["name"] for each in spec.get("volumes", ())}
        volumes |= {each["metadata"]["name"] for each in item["spec"].get("volumeClaimTemplates", ())}
        for container in [*spec.get("initContainers", ()), *spec["containers"]]:
            mounts = container.get("volumeMounts", ())
            paths = [each["mountPath"] for each in mounts]
            assert len(paths) == len(set(paths)), f"{item['metadata']['name']}/{container['name']}: {paths}"
            assert {each["name"] for each in mounts} <= volumes, f"{item['metadata']['name']}/{container['name']}"


def pods_behind_services() -> dict[str, dict]:
    """Name → spec of each Deployment whose pods a Service with its own address selects."""
    behind: dict[str, dict] = {}
    for case in CASES:
        found = objects(case)
        selectors = [
            item["spec"]["selector"]
            for item in found
            if item["kind"] == "Service" and item["spec"].get("clusterIP") != "None"
        ]
        for item in found:
            labels = item.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {})
            if item["kind"] == "Deployment" and any(selector.items() <= labels.items() for selector in selectors):
                behind[f"{name_of(case)}/{item['metadata']['name']}"] = item["spec"]
    return behind


def test_a_pod_behind_a_service_drains_before_it_stops() -> None:
    """Nodes that have not yet seen the deletion still send requests, and requests that are being served end."""
    behind = {name: spec for name, spec in pods_behind_services().items() if not name.startswith("stackwright/")}
    assert {name.split("/")[-1] for name in behind} >= {"keystone-api", "nova-api-osapi", "nova-novncproxy", "horizon"}
    for name, spec in behind.items():
        pod = spec["template"]["spec"]
        serving = [container for container in pod["containers"] if container.get("ports")]
        assert serving, name
        for container in serving:
            drain = container["lifecycle"]["preStop"]["sleep"]["seconds"]
            assert drain >= 5, name
            assert pod["terminationGracePeriodSeconds"] >= drain + mercy(name, container) + 5, name
            assert "readinessProbe" in container, name
        on_port_of_node = any("hostPort" in port for container in serving for port in container["ports"])
        if spec["strategy"]["type"] != "Recreate" and not on_port_of_node:  # two cannot have one port of a node
            assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0, name


def mercy(name: str, container: dict) -> int:
    """Seconds that uWSGI gives the requests of a container to end; 0 for another server."""
    command = container.get("command", [])
    if "uwsgi" not in command:
        return 0
    text = conf_file(name.rpartition("/")[0], Path(command[-1]).name)
    return int(re.findall(r"^worker-reload-mercy = (\d+)$", text, re.M)[0])


def job_name(*settings: str) -> str:
    images = "images.tags.keystone_api=a,images.tags.keystone_db_sync=a"
    done = helm("template", "keystone", str(ROOT / "charts/keystone"), f"--set={','.join([images, *settings])}")
    found = [item for item in yaml.safe_load_all(done.stdout) if item and item["kind"] == "Job"]
    return str(found[0]["metadata"]["name"])


def test_a_job_is_another_when_its_image_or_configuration_is() -> None:
    names = {
        job_name(),
        job_name("images.tags.keystone_db_sync=b"),
        job_name("conf.keystone.token.expiration=60"),
        job_name("pod.annotations.default.database-losses=once"),
        job_name("pod.annotations.db-sync.database-losses=twice"),
    }
    assert len(names) == 5
    assert job_name("pod.replicas.api=3", "release_group=null") == job_name()
    assert all(re.fullmatch(r"keystone-db-sync-[0-9a-f]{8}", name) for name in names)


def conf_file(case: str, name: str) -> str:
    found = objects(ROOT / "tests/golden/charts" / case / "values.yaml")
    return next(item["data"][name] for item in found if item["kind"] == "ConfigMap" and name in item["data"])


def test_oslo_conf() -> None:
    text = conf_file("keystone/public-endpoint", "keystone.conf")
    assert text.startswith("[DEFAULT]\n")
    for result in ("success", "pending"):
        assert f"\nnotification_opt_out = identity.authenticate.{result}\n" in text
    assert "memcache_servers = memcached-0.memcached:11211,memcached-1.memcached:11211\n" in text
    assert "max_active_keys = 1000000\n" in text  # not 1e+06
    assert "enabled = true\n" in text
    assert "ignored_lockout" not in text


def test_scripts_are_valid_bash() -> None:
    scripts = sorted((ROOT / "charts").glob("*/bin/*.sh"))
    assert scripts
    for script in scripts:
        done = subprocess.run(["bash", "-n", script], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
