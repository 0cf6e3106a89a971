"""Our values in OpenStack-Helm's charts: rendered by helm with test charts that read values like the published ones.

`UPDATE_GOLDEN=1 pytest tests/golden/test_openstack_helm_charts.py` rewrites golden files; read the difference first.
"""

import functools
import itertools
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from stackwright.services.openstack_helm import CHARTS, leaves, merged_layers, translate
from stackwright.services.openstack_helm.fixed import ADDED
from support.paths import ROOT
from tests.golden.test_charts import find_helm

HERE = ROOT / "tests/golden/openstack_helm"
PASSWORD = "made-up-password"  # in the defaults of the charts written here
RULES = [
    {"from": [{"podSelector": {"matchLabels": {"application": "nova"}}}], "ports": [{"port": 1, "protocol": "TCP"}]}
]
# Values that tests/golden/values does not use.
TUNED = {
    "both": {
        "release_group": "blue",
        "images": {"pull_secrets": [{"name": "registry"}]},
        "network": {"policies": {"api": RULES}},
        "pod": {
            "requests": {"cpu": "10m"},
            "annotations": {
                "default": {"example.org/all": "1"},
                "api": {"example.org/note": "x"},
                "db-sync": {"example.org/note": "z"},
            },
            "priorityClassName": {"api": "high", "db-sync": "low"},
            "probes": {"api": {"liveness": {"enabled": False}, "readiness": {"params": {"periodSeconds": 7}}}},
            "security_context": {"api": {"container": {"runAsNonRoot": True}}},
        },
    },
    "keystone": {
        "secrets": {"conf": {"keystone": {"name": "keystone-overrides", "digest": "abc"}}},
        "conf": {"keystone": {"auth": {"methods": ["password", "token"]}, "token": {"caching": None}}},
    },
    "glance": {
        "secrets": {"oslo_messaging": {"notifications": None}},
        "volume": {"class_name": None, "access_modes": ["ReadWriteMany"]},
        "conf": {"glance": {"DEFAULT": {"image_size_cap": 1099511627776}}},
        "pod": {"replicas": {"api": 2}},
    },
}
CASES = ("core-single", "all-features", "tuned")
each = pytest.mark.parametrize(("case", "chart"), list(itertools.product(CASES, CHARTS)))


@functools.cache
def ours(case: str, chart: str) -> dict:
    """Values as our chart gets them from the operator."""
    name = "core-small" if case == "tuned" else case
    found = yaml.safe_load((ROOT / f"tests/golden/values/{name}.yaml").read_text())[f"openstack-{chart}"]
    return merged_layers(found, TUNED["both"], TUNED[chart]) if case == "tuned" else found


@functools.cache
def defaults(chart: str) -> dict:
    return yaml.safe_load((ROOT / f"charts/{chart}/values.yaml").read_text())


@functools.cache
def translated(case: str, chart: str):
    return translate(chart, ours(case, chart), defaults(chart))


def helm(chart: str, folder: Path, values: dict) -> str:
    done = subprocess.run(
        [find_helm(), "template", chart, str(folder), "--namespace=openstack", "--values=-"],
        input=yaml.safe_dump(values),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def theirs_text(case: str, chart: str) -> str:
    return helm(chart, HERE / "charts" / chart, translated(case, chart).values)


def objects(text: str) -> dict:
    return {(item["kind"], item["metadata"]["name"]): item for item in yaml.safe_load_all(text) if item}


@functools.cache
def theirs(case: str, chart: str) -> dict:
    return objects(theirs_text(case, chart))


@functools.cache
def mine(case: str, chart: str) -> dict:
    return objects(helm(chart, ROOT / "charts" / chart, ours(case, chart)))


def options(text: str) -> dict:
    """(section, option) → its values, of an INI file."""
    found: dict = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            option, _, value = line.partition(" = ")
            found.setdefault((section, option), []).append(value)
    return found


def files(case: str, chart: str) -> tuple[dict, dict]:
    return mine(case, chart)["ConfigMap", f"{chart}-etc"]["data"], theirs(case, chart)["Secret", f"{chart}-etc"][
        "stringData"
    ]


def api(found: dict, chart: str) -> dict:
    return found["Deployment", f"{chart}-api"]["spec"]


def container(found: dict, chart: str) -> dict:
    return next(c for c in api(found, chart)["template"]["spec"]["containers"] if c["name"] == f"{chart}-api")


@each
def test_renders_as_the_golden_file(case, chart, golden):
    golden(f"openstack_helm/{case}/{chart}-values.yaml", yaml.safe_dump(translated(case, chart).values, width=120))
    golden(f"openstack_helm/{case}/{chart}-rendered.yaml", theirs_text(case, chart))


@each
def test_the_service_gets_the_options_that_our_chart_gives_it(case, chart):
    name = {"keystone": "keystone.conf", "glance": "glance-api.conf"}[chart]
    before, after = (options(data[name]) for data in files(case, chart))
    left = {
        tuple(path.split(".")[2:]) for path, _ in translated(case, chart).left_out if path.startswith(f"conf.{chart}.")
    }
    assert left <= before.keys()
    known = ADDED[chart]
    added = {key for key in after if key in known or (key[0], "*") in known}
    assert {key: value for key, value in after.items() if key not in added} == {
        key: value for key, value in before.items() if key not in left
    }


@each
def test_every_documented_addition_exists(case, chart):
    _, data = files(case, chart)
    after = options(data[{"keystone": "keystone.conf", "glance": "glance-api.conf"}[chart]])
    sections = {section for section, _ in after}
    assert not [key for key in ADDED[chart] if key not in after and not (key[1] == "*" and key[0] in sections)]


@each
def test_uwsgi_and_logs_are_as_with_our_chart(case, chart):
    before, after = files(case, chart)
    ini = {"keystone": "wsgi-keystone.conf", "glance": "glance-api-uwsgi.ini"}[chart]
    ours = options(before[f"{chart}-api-uwsgi.ini"])
    # The scripts that it names are in our chart.
    ours = {option: lines for option, lines in ours.items() if option[1] not in ("preload", "shared-import")}
    ours["uwsgi", "wsgi-file"] = [
        {"keystone": "/usr/bin/keystone-wsgi-public", "glance": "/usr/bin/glance-wsgi-api"}[chart]
    ]
    assert options(after[ini]) == ours
    logs, logged = options(before["logging.conf"]), options(after["logging.conf"])
    sections = {section for section, _ in logs}
    assert {key: value for key, value in logged.items() if key[0] in sections} == logs


@each
def test_pods_are_as_those_of_our_chart(case, chart):
    old, new = mine(case, chart), theirs(case, chart)
    assert api(new, chart)["replicas"] == api(old, chart)["replicas"]
    assert api(new, chart)["strategy"] == api(old, chart)["strategy"]
    before, after = (api(found, chart)["template"]["spec"] for found in (old, new))
    for field in ("nodeSelector", "priorityClassName"):
        assert after.get(field) == before.get(field)
    drain = container(old, chart)["lifecycle"]["preStop"]["sleep"]["seconds"]  # which their charts do not know
    assert after["terminationGracePeriodSeconds"] == before["terminationGracePeriodSeconds"] - drain
    assert (after["imagePullSecrets"] or None) == before.get("imagePullSecrets")
    for field in ("image", "imagePullPolicy", "resources"):
        assert container(new, chart)[field] == container(old, chart)[field]
    for name in ("runAsUser", "runAsGroup", "fsGroup"):
        assert after["securityContext"][name] == before["securityContext"][name]


@each
def test_passwords_come_from_the_same_secrets_at_the_same_place(case, chart):
    def snippets(found):
        volumes = api(found, chart)["template"]["spec"]["volumes"]
        mounts = {m["mountPath"].rstrip("/"): m["name"] for m in container(found, chart)["volumeMounts"]}
        named = {volume["name"]: volume for volume in volumes}
        return named[mounts[f"/etc/{chart}/{chart}.conf.d"]]["projected"]["sources"]

    assert snippets(theirs(case, chart)) == snippets(mine(case, chart))
    for (kind, _), item in theirs(case, chart).items():
        if kind == "Job":
            sources = [
                v["projected"]["sources"] for v in item["spec"]["template"]["spec"]["volumes"] if "projected" in v
            ]
            assert sources == [snippets(mine(case, chart))]


@pytest.mark.parametrize("case", CASES)
def test_keystone_reads_the_keys_that_the_operator_rotates(case):
    def keys(found):
        named = {v["name"]: v for v in api(found, "keystone")["template"]["spec"]["volumes"]}
        mounts = container(found, "keystone")["volumeMounts"]
        return {
            m["mountPath"]: named[m["name"]]["secret"]["secretName"] for m in mounts if m["mountPath"].endswith("-keys")
        }

    assert keys(theirs(case, "keystone")).keys() == {"/etc/keystone/fernet-keys", "/etc/keystone/credential-keys"}
    assert keys(theirs(case, "keystone")) == keys(mine(case, "keystone"))


@each
def test_no_path_is_mounted_twice(case, chart):
    paths = [mount["mountPath"].rstrip("/") for mount in container(theirs(case, chart), chart)["volumeMounts"]]
    assert len(paths) == len(set(paths))


@each
def test_others_find_it_where_they_found_our_chart(case, chart):
    def service(found):
        spec = found["Service", f"{chart}-api"]["spec"]
        return [port["port"] for port in spec["ports"]]

    def ingress(found):
        item = found.get(("Ingress", f"{chart}-api"))
        if item is None:
            return None
        backend = item["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
        spec = item["spec"]
        annotations = item["metadata"]["annotations"]
        return annotations, spec["ingressClassName"], spec["tls"], spec["rules"][0]["host"], backend["name"]

    old, new = mine(case, chart), theirs(case, chart)
    assert service(new) == service(old)
    assert ingress(new) == ingress(old)
    policy = old.get(("NetworkPolicy", f"{chart}-api"))
    if policy:
        assert new["NetworkPolicy", f"{chart}-netpol"]["spec"]["ingress"] == policy["spec"]["ingress"]


@pytest.mark.parametrize("case", CASES)
def test_keystone_enters_the_same_urls_into_its_catalog(case):
    def urls(found):
        jobs = [item for (kind, _), item in found.items() if kind == "Job"]
        every = [c for job in jobs for c in job["spec"]["template"]["spec"]["containers"]]
        return {
            env["name"]: env.get("value") for c in every for env in c.get("env", ()) if env["name"].endswith("_URL")
        }

    assert urls(theirs(case, "keystone")) == urls(mine(case, "keystone"))


def test_images_are_files_on_a_volume_as_with_our_chart():
    for case in CASES:
        old, new = (
            found[("PersistentVolumeClaim", "glance-images")]["spec"]
            for found in (mine(case, "glance"), theirs(case, "glance"))
        )
        assert new["accessModes"] == old["accessModes"]
        assert new["resources"] == old["resources"]
        assert new["storageClassName"] == old.get("storageClassName")


@each
def test_no_job_repeats_work_of_the_operator(case, chart):
    jobs = {name for kind, name in theirs(case, chart) if kind in {"Job", "CronJob"}}
    assert jobs == {"keystone": {"keystone-db-sync"}, "glance": {"glance-db-sync", "glance-metadefs-load"}}[chart]
    assert {name for kind, name in theirs(case, chart) if kind == "Secret"} == {f"{chart}-etc"}


@each
def test_no_pod_waits_for_a_disabled_job(case, chart):
    there = {name for kind, name in theirs(case, chart) if kind == "Job"}
    awaited = set()
    for kind, name in theirs(case, chart):
        if kind in {"Deployment", "Job"}:
            for init in theirs(case, chart)[kind, name]["spec"]["template"]["spec"]["initContainers"]:
                env = {each["name"]: each["value"] for each in init.get("env", ())}
                awaited |= set(filter(None, env.get("DEPENDENCY_JOBS", "").split(",")))
    assert awaited <= there


@each
def test_no_password_is_shown(case, chart):
    assert PASSWORD not in theirs_text(case, chart)
    assert not [path for path, value in leaves(translated(case, chart).values) if path[-1] == "password" and value]


@pytest.mark.parametrize("chart", CHARTS)
def test_the_charts_written_here_would_show_a_password(chart):
    assert PASSWORD in helm(chart, HERE / "charts" / chart, {})


def patterns(chart: str) -> list[re.Pattern]:
    known = yaml.safe_load((HERE / "known-paths.yaml").read_text())
    return [pattern(line) for line in [*known["every"], *known[chart]]]


def pattern(line: str) -> re.Pattern:
    text = re.escape(line).replace(r"\{", "(?:").replace(r"\}", ")").replace(",", "|")
    return re.compile(text.replace(r"\*\*", ".+").replace(r"\*", "[^.]+"))


@each
def test_every_value_is_one_that_the_published_charts_know(case, chart):
    known = patterns(chart)
    paths = [".".join(path) for path, _ in leaves(translated(case, chart).values)]
    assert not [path for path in paths if not any(each.fullmatch(path) for each in known)]


@pytest.mark.parametrize("chart", CHARTS)
def test_the_test_charts_use_only_values_of_the_published_ones(chart):
    written = yaml.safe_load((HERE / "charts" / chart / "values.yaml").read_text())
    # Read only outside of this mapping: accounts, and values of disabled manifests.
    aside = re.compile(r"endpoints\..*|secrets\..*|keep_pvc|conf\..*|manifests\..*|dependencies\..*")
    known = [*patterns(chart), aside]
    paths = [".".join(path) for path, _ in leaves(written)]
    assert not [path for path in paths if not any(each.fullmatch(path) for each in known)]
