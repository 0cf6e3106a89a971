"""Writes docs/bad-input.md: runs every case for real, on the local cluster with the example cloud.

Run it as root after `make cloud`:  .venv/bin/python tools/bad_input.py The cloud is in its original state at the end.
The cases about the machine stop and restart the cluster.

With titles of rejected cases as arguments, only these are run, and the other sections of the page are kept. Outputs
that need no cluster are also written by  UPDATE_GOLDEN=1 .venv/bin/pytest tests/unit/docs/test_bad_input_page.py
"""

from __future__ import annotations

import copy
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from stackwright.local import tools
from stackwright.local.config import LocalCluster

ROOT = Path(__file__).resolve().parents[1]
CLI = Path(sys.executable).with_name("stackwright")
PAGE = ROOT / "docs/bad-input.md"
FILE = Path("/tmp/FILE")  # noqa: S108 - shows as FILE in the page
CLUSTER = LocalCluster.discover()
INTRO = """\
# Bad input

Messages for invalid input and unsuitable machines. A message names the field, the error and what is allowed. All errors
of a file are reported at once, and nothing of it is applied. `tools/bad_input.py` runs the commands on a local cluster
and writes this page; a unit test compares the outputs that need no cluster with the code.
"""


def run(*words: str | Path) -> str:
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, cwd=ROOT, timeout=300)
    return (done.stdout + done.stderr).strip() + f"\n[exit code {done.returncode}]"


def stackwright(*words: str | Path) -> str:
    return run(CLI, *words)


def kubectl(*words: str | Path) -> str:
    return run(tools.binary("kubectl"), "--kubeconfig", CLUSTER.kubeconfig, *words)


def without_none(spec: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if value is not None}


def manifest(**spec: Any) -> dict[str, Any]:
    """The example cloud with other fields; None removes one."""
    body = copy.deepcopy(list(yaml.safe_load_all((ROOT / "examples/cloud.yaml").read_text()))[1])
    return {**body, "spec": without_none(body["spec"] | spec)}


def refused(**spec: Any) -> dict[str, Any]:
    """A shorter manifest for cases that are never applied."""
    return manifest(**{"features": None, **spec})


def keystone(**values: Any) -> dict[str, Any]:
    return refused(services={"identity": {"keystone": {"values": values}}})


def infrastructure(kind: str, **spec: Any) -> dict[str, Any]:
    """An object with OpenStack resources; its Secret does not exist, so nothing is created."""
    version = "v1alpha1" if kind == "OpenStackServer" else "v1beta1"
    return {
        "apiVersion": f"infrastructure.cluster.x-k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "openstack"},
        "spec": {"identityRef": {"name": "nobodys", "cloudName": "stackwright"}, **spec},
    }


def server(**spec: Any) -> dict[str, Any]:
    ports = [{"network": {"filter": {"name": "demo"}}}]
    usual = {"flavor": "m1.small", "image": {"filter": {"name": "guest"}}, "sshKeyName": "", "ports": ports}
    return infrastructure("OpenStackServer", **without_none(usual | spec))


SEVERAL = refused(replicas=3, size="huge", openstack_version="yoga", features={"telemetry": {}})
SERVERS = server(flavor=None, replicas=2, image={"id": "guest", "filter": {"name": "guest"}}, ports=[])
INVALID_NAME = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: My_Cloud\n  labels: {team: true}\n"
MISSING = {"value_from": {"secret_key_ref": {"name": "directory", "key": "password"}}}
LDAP = {"services": {"identity": {"keystone": {"values": {"conf": {"keystone": {"ldap": {"password": MISSING}}}}}}}}

# (title, content of FILE, command)
FILES: list[tuple[str, Any, str]] = [
    ("Unknown field", refused(replicas=3), "stackwright apply -f FILE"),
    ("Unknown field, with kubectl", refused(replicas=3), "kubectl apply --server-side -f FILE"),
    ("Field that is not supported yet", refused(features={"telemetry": {}}), "kubectl apply --server-side -f FILE"),
    ("Wrong type", refused(draft="perhaps"), "kubectl apply --server-side -f FILE"),
    ("Unknown release", refused(openstack_version="yoga"), "stackwright apply -f FILE"),
    ("Required field missing", refused(preset=None), "stackwright apply -f FILE"),
    ("Several errors at once", SEVERAL, "stackwright apply -f FILE"),
    ("Unknown service in overrides", refused(services={"computer": {}}), "stackwright apply -f FILE"),
    (
        "Unknown chart in overrides",
        refused(services={"identity": {"keystne": {}}}),
        "kubectl apply --server-side -f FILE",
    ),
    ("Override of the wrong type", keystone(pod={"replicas": {"api": "many"}}), "stackwright apply -f FILE"),
    ("Override of another shape", keystone(conf={"keystone": ["x"]}), "stackwright apply -f FILE"),
    ("Unknown kind", {**refused(), "kind": "OpenStackDeploymnet"}, "stackwright apply -f FILE"),
    ("Server without a flavor", server(flavor=None), "stackwright apply -f FILE"),
    ("Server without a flavor, with kubectl", server(flavor=None), "kubectl apply --server-side -f FILE"),
    ("Several errors of a server at once", SERVERS, "stackwright apply -f FILE"),
    (
        "Two fields for one setting",
        infrastructure(
            "OpenStackCluster", disablePortSecurity=True, managedNetwork={"mtu": 1400, "enablePortSecurity": True}
        ),
        "stackwright apply -f FILE",
    ),
    (
        "Field of a cluster that is not supported yet",
        infrastructure("OpenStackCluster", apiServer={"managedLoadBalancer": {"enabled": True}}),
        "stackwright apply -f FILE",
    ),
    ("A key twice", "apiVersion: v1\nkind: Secret\nkind: Secret\n", "stackwright apply -f FILE"),
    ("Template that was not rendered", "metadata:\n  name: {{ name }}\n", "stackwright apply -f FILE"),
    ("Key that is not text", "spec:\n  on: true\n", "stackwright apply -f FILE"),
    ("Anchor that contains itself", "spec: &all\n  nodes: *all\n", "stackwright apply -f FILE"),
    ("Text where true or false belongs", refused(draft="true"), "stackwright apply -f FILE"),
    ("Line break in a text", refused(region_name="RegionOne\n[DEFAULT]\ndebug = true"), "stackwright apply -f FILE"),
    (
        "Invalid certificate",
        refused(features={"ssl": {"public_endpoints": dict.fromkeys(("ca_cert", "api_cert", "api_key"), "s3cret")}}),
        "stackwright apply -f FILE",
    ),
    ("Invalid name", INVALID_NAME, "stackwright apply -f FILE"),
    ("Not YAML", "spec: [\n", "stackwright apply -f FILE"),
    ("Missing file", None, "stackwright apply -f nothing.yaml"),
    ("Missing kubeconfig", None, "stackwright status --kubeconfig nothing"),
    ("Unknown service of logs", None, "stackwright logs nova"),
    ("Unknown role of the operator", None, "stackwright operator --controllers=all,none"),
]

# (title, command), for an existing server; FILE has a changed one
CHANGES = [
    ("Immutable fields of a server", "stackwright plan -f FILE"),
    ("Immutable fields of a server, with kubectl", "kubectl apply --server-side -f FILE"),
]

# (title, the change, text that the message of condition Ready must contain)
WAITS: list[tuple[str, Any, str]] = [
    ("Missing Secret", manifest(**LDAP), "directory"),
    (
        "Missing image",
        manifest(
            services={
                "identity": {
                    "keystoneclient": {
                        "values": {"images": {"tags": {"keystone_client": "stackwright.local/nothing:1"}}}
                    }
                }
            }
        ),
        "stackwright.local/nothing:1",
    ),
    (
        "Second OpenStackDeployment in a namespace",
        {**manifest(), "metadata": {"name": "other", "namespace": "openstack"}},
        "",
    ),
]


def command(text: str) -> str:
    words = [str(FILE) if word == "FILE" else word for word in text.split()[1:]]
    return (stackwright if text.startswith("stackwright") else kubectl)(*words)


def ready(name: str = "cloud") -> dict[str, str]:
    out = kubectl("get", "openstackdeployment", name, "-n", "openstack", "-o", "json").rsplit("\n", 1)[0]
    conditions = json.loads(out).get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == "Ready"), {"status": "", "message": "", "reason": ""})


def until(check: Callable[[], bool], limit: float = 120) -> None:
    start = time.monotonic()
    while not check() and time.monotonic() - start < limit:
        time.sleep(0.5)


def restored() -> None:
    kubectl("apply", "--server-side", "--force-conflicts", "-f", ROOT / "examples/cloud.yaml")
    time.sleep(2)
    until(lambda: ready()["status"] == "True")


def section(title: str, shown: str, out: str, given: Any = None) -> str:
    text = f"\n## {title}\n\n"
    if given is not None:
        body = given if isinstance(given, str) else yaml.safe_dump(given.get("spec"), sort_keys=False)
        text += f"FILE{'' if isinstance(given, str) else ', its spec'}:\n\n```yaml\n{body.strip()}\n```\n\n"
    out = out.replace(str(ROOT) + "/", "").replace(str(FILE), "FILE").replace(str(CLI), "stackwright")
    out = re.sub(r"/\S*/tools/\S*/|[ ]+$", "", out, flags=re.MULTILINE)
    return text + f"```console\n$ {shown}\n{out}\n```\n"


def files(titles: list[str]) -> Iterator[str]:
    for title, given, shown in FILES:
        if titles and title not in titles:
            continue
        if given is not None:
            FILE.write_text(given if isinstance(given, str) else yaml.safe_dump(given))
        yield section(title, shown, command(shown), given)


def changes() -> Iterator[str]:
    FILE.write_text(yaml.safe_dump(server()))
    kubectl("apply", "--server-side", "-f", FILE)
    other = server(flavor="m1.large", image={"filter": {"name": "other"}}, recreatePolicy="Always")
    FILE.write_text(yaml.safe_dump(other))
    for title, shown in CHANGES:
        yield section(title, shown, command(shown), other)
    kubectl("delete", "openstackserver", "web", "-n", "openstack")


def waits() -> Iterator[str]:
    for title, given, named in WAITS:
        name = given["metadata"]["name"]
        FILE.write_text(yaml.safe_dump(given))
        kubectl("apply", "--server-side", "--force-conflicts", "-f", FILE)
        until(lambda name=name, named=named: ready(name)["status"] == "False" and named in ready(name)["message"])
        shown = f"kubectl get osdpl {name} -n openstack"
        yield section(title, f"kubectl apply --server-side -f FILE; {shown}", command(shown), given)
        if name == "other":
            kubectl("delete", "osdpl", "other", "-n", "openstack")
        restored()


def labels() -> Iterator[str]:
    kubectl("label", "node", "--all", "openstack-control-plane-")
    until(lambda: "NoNode" in ready()["reason"])
    shown = "kubectl get osdpl cloud -n openstack"
    yield section(
        "No node with the label", f"kubectl label node --all openstack-control-plane-; {shown}", command(shown)
    )
    kubectl("label", "node", "node1", "openstack-control-plane=enabled")
    restored()


@contextmanager
def occupied(port: int) -> Iterator[None]:
    with socket.create_server(("127.0.0.1", port)):
        yield


def machine() -> Iterator[str]:
    stackwright("down")
    yield section("Cluster that is stopped", "stackwright status", stackwright("status"))
    with occupied(2379):
        yield section("Port in use", "stackwright up", stackwright("up"))
    shown = "taskset --cpu-list 0 stackwright up"
    yield section("Too small a machine", shown, run("taskset", "--cpu-list", "0", CLI, "up"))
    stackwright("up")


def replaced(page: str, parts: Iterable[str]) -> str:
    """The page with these sections replaced in place."""
    intro, *old = re.split(r"(?m)^(?=\n## )", page)
    known = {part.splitlines()[1].removeprefix("## "): part for part in (*old, *parts)}
    first = [known.pop(title) for title, *_ in (*FILES, *CHANGES) if title in known]
    return "".join([intro, *first, *known.values()])


def main(titles: list[str]) -> None:
    if titles:
        changed = changes() if any(title in titles for title, _ in CHANGES) else ()
        PAGE.write_text(replaced(PAGE.read_text(), (*files(titles), *changed)))
    else:
        PAGE.write_text("".join([INTRO, *files([]), *changes(), *waits(), *labels(), *machine()]))
    FILE.unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1:])
