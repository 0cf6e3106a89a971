"""The cloud as a user operates it: only through `stackwright` and `kubectl`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from polling import eventually as eventually

from stackwright.local import tools
from stackwright.local.config import LocalCluster
from stackwright.local.steps.openstack import demo

ROOT = Path(__file__).parents[2]
CLI = Path(sys.executable).with_name("stackwright")
SMALL = "examples/identity.yaml"
FORGET_LIMIT = 420  # seconds until the operator has deleted the agents of a removed node
AUTHORITY = "secret/openstack-ca"  # kept after the deletion of a cloud, because clients trust it longer
KINDS = (
    "all,secrets,configmaps,pvc,serviceaccounts,pdb,networkpolicies,ingresses.networking.k8s.io"
    ",openstackdeployments,helmbundles,databaseaccounts,messagingaccounts,keystoneservices"
    ",mariadbs,rabbitmqs,memcacheds,keystones,glances,placements,novas,neutrons,horizons,ingresses.stackwright.dev"
    ",cephclients,cephs,cephrgws,cinders,etcds"
)


@dataclass(frozen=True)
class Done:
    code: int
    out: str


def run(
    *command: str | Path, stdin: str | None = None, limit: float = 300, env: Mapping[str, str] | None = None
) -> Done:
    """Run a program; standard output and error together. `env` is added to ours."""
    done = subprocess.run(
        [str(word) for word in command],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
    )
    return Done(done.returncode, done.stdout)


def openstack(clouds: str | Path, *words: str) -> Done:
    """The command of OpenStack's own client, with a clouds.yaml of `stackwright openrc`."""
    env = {"OS_CLIENT_CONFIG_FILE": str(clouds), "OS_CLOUD": "stackwright"}
    env |= {"no_proxy": "*", "NO_PROXY": "*"}  # no request to the cloud uses a proxy to the internet
    return run(CLI.with_name("openstack"), *words, env=env, limit=120)


def changed(example: str, **spec: Any) -> list[dict[str, Any]]:
    """An example's documents, with changes of the cloud's spec; features are added to existing ones."""
    documents: list[dict[str, Any]] = list(yaml.safe_load_all((ROOT / example).read_text()))
    there = documents[-1]["spec"]
    if "features" in spec:
        spec["features"] = {**there.get("features", {}), **spec["features"]}
    there.update(spec)
    return documents


class Cloud:
    """The default cloud, as a user operates it: through `stackwright` and `kubectl`."""

    namespace = "openstack"

    def __init__(self) -> None:
        self.cluster = LocalCluster.discover()

    def stackwright(self, *words: str, limit: float = 300, code: int | None = 0, stdin: str | None = None) -> str:
        done = run(CLI, *words, limit=limit, stdin=stdin)
        assert code is None or done.code == code, f"stackwright {' '.join(words)} exited with {done.code}:\n{done.out}"
        return done.out

    def kubectl(self, *words: str, code: int | None = 0, stdin: str | None = None, limit: float = 120) -> str:
        program = tools.binary("kubectl")
        done = run(program, "--kubeconfig", self.cluster.kubeconfig, *words, stdin=stdin, limit=limit)
        assert code is None or done.code == code, f"kubectl {' '.join(words)} exited with {done.code}:\n{done.out}"
        return done.out

    def get(self, *words: str) -> Any:
        return json.loads(self.kubectl("get", *words, "--output", "json"))

    def osdpl(self, name: str = "cloud", namespace: str = "openstack") -> Any:
        return self.get("openstackdeployment", name, "--namespace", namespace)

    def condition(self, type_: str = "Ready", kind: str = "openstackdeployment/cloud") -> dict[str, str]:
        conditions = self.get(kind, "--namespace", self.namespace).get("status", {}).get("conditions", [])
        return next((c for c in conditions if c["type"] == type_), {"status": "Unknown", "reason": "", "message": ""})

    @property
    def demo_address(self) -> str:
        """The floating IP of the virtual machine of `up`."""
        return str(json.loads(demo.marker(self.cluster).read_text())["address"])

    def wait_ready(self, name: str = "cloud", namespace: str = "openstack", limit: int = 240) -> None:
        self.stackwright("wait", name, "--namespace", namespace, "--timeout", str(limit), limit=limit + 30)

    def apply(self, manifest: dict[str, Any] | str, code: int | None = 0) -> str:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        return self.kubectl("apply", "--server-side", "--force-conflicts", "--filename", "-", stdin=text, code=code)

    def patch_spec(self, spec: dict[str, Any]) -> None:
        body = json.dumps({"spec": spec})
        self.kubectl("patch", "openstackdeployment", "cloud", "-n", self.namespace, "--type=merge", "-p", body)

    def revisions(self) -> dict[str, int]:
        """Helm release → newest revision."""
        found: dict[str, int] = {}
        for record in self.get("secrets", "-n", self.namespace, "-l", "owner=helm")["items"]:
            labels = record["metadata"]["labels"]
            found[labels["name"]] = max(found.get(labels["name"], 0), int(labels["version"]))
        return found

    def wait_for_releases(self, count: int) -> None:
        """Waits until this many releases of the cloud were started."""
        eventually(lambda: len(self.revisions()) >= count, limit=240)

    def token(self) -> dict[str, str]:
        out = self.stackwright("shell", "--", "openstack", "token", "issue", "-f", "json", limit=60)
        return dict(json.loads(out[out.index("{") : out.rindex("}") + 1]))

    def keystone_option(self, name: str) -> str:
        """Lines of keystone.conf in the running pod that set an option."""
        script = f"grep -h '^{name} ' /etc/keystone/keystone.conf /etc/keystone/keystone.conf.d/*"
        words = ("-n", self.namespace, "deployment/keystone-api", "-c", "keystone-api", "--", "sh", "-c", script)
        return self.kubectl("exec", *words, code=None)

    def left(self, namespace: str) -> list[str]:
        """The objects in a namespace, without those that Kubernetes itself creates."""
        names = self.kubectl("get", KINDS, "-n", namespace, "--output", "name", "--ignore-not-found").split()
        return [name for name in names if name not in ("configmap/kube-root-ca.crt", "serviceaccount/default")]

    def wait_gone(self, namespace: str, *but: str, limit: float = 180) -> None:
        """Waits until no other object remains, or fails with their names. The CA remains."""

        def check() -> bool:
            assert [name for name in self.left(namespace) if name not in (AUTHORITY, *but)] == []
            return True

        eventually(check, limit=limit, pause=1)

    def traces(self, namespace: str, *words: str) -> list[str]:
        """Remaining objects whose name contains one of these words."""
        return [name for name in self.left(namespace) if any(word in name.partition("/")[2] for word in words)]

    def spec(self) -> dict[str, Any]:
        """The spec of the default cloud; empty without a cloud."""
        words = ("get", "osdpl", "cloud", "-n", self.namespace, "-o", "json", "--ignore-not-found")
        found = self.kubectl(*words, code=None)
        return dict(json.loads(found)["spec"]) if found.startswith("{") else {}

    def is_full(self) -> bool:
        """Whether a cloud with virtual machines exists."""
        spec = self.spec()
        return bool(spec) and "~compute" not in spec.get("features", {}).get("services", [])

    def has(self, service: str) -> bool:
        """Whether the default cloud's spec names a service."""
        return service in self.spec().get("features", {}).get("services", [])

    def driver(self) -> str:
        """The back end of the default cloud's networks."""
        return str(self.spec().get("features", {}).get("neutron", {}).get("backend", "ml2"))

    def renew(self, *nodes: str) -> None:
        """Recreates Kubernetes without a cloud, because virtual machines would outlive the cloud on their nodes."""
        self.stackwright("down", "--purge", "--yes", limit=300)
        self.stackwright("up", *nodes, "--no-cloud", limit=600)

    def keeps_images(self) -> bool:
        """Whether the change of stores in the cloud's spec loses no image."""
        return self.condition("Backends", "glances.stackwright.dev/glance")["status"] != "False"

    def computes(self) -> dict[str, str]:
        """Host of each compute service → its state."""
        words = ("compute", "service", "list", "--service", "nova-compute", "-f", "json", "-c", "Host", "-c", "State")
        return {each["Host"]: each["State"] for each in json.loads(self._openstack(*words))}

    def hosts(self) -> set[str]:
        """Hosts of all compute services and network agents."""
        agents = json.loads(self._openstack("network", "agent", "list", "-f", "json", "-c", "Host"))
        return {*self.computes(), *(each["Host"] for each in agents)}

    def forgets_removed_nodes(self) -> bool:
        """Whether agents of removed nodes are deleted. Nova's service of a node with machines is kept."""

        def done() -> bool:
            nodes = {name.removeprefix("node/") for name in self.kubectl("get", "nodes", "-o", "name").split()}
            return self.hosts() <= nodes

        try:
            eventually(done, limit=FORGET_LIMIT, pause=3)
        except AssertionError:
            return False
        return True

    def empty(self) -> None:
        """Delete all virtual machines and images."""
        # Without a service for a node, Nova deletes a machine only from its database.
        eventually(lambda: set(self.computes().values()) == {"up"}, limit=300, pause=2)
        for thing, *more in (("server", "--all-projects"), ("image",)):
            found = self._openstack(thing, "list", *more, "-f", "value", "-c", "ID").split()
            wait = ["--wait"] if thing == "server" else []
            if found:
                self._openstack(thing, "delete", *more, *wait, *found, limit=300)

    def _openstack(self, *words: str, **more: Any) -> str:
        """Run the command in the client's pod, as the administrator."""
        return self.kubectl("exec", "-n", self.namespace, "deploy/keystone-client", "--", "openstack", *words, **more)

    def remove(self) -> None:
        """Deletes the default cloud with all its objects."""
        self.kubectl("delete", "openstackdeployment", "cloud", "-n", self.namespace, limit=300)
        # The CA remains: clients trust it longer than a cloud lives.
        self.wait_gone(self.namespace, limit=300)

    def sql(self, query: str) -> str:
        return self.kubectl("exec", *self._mariadb(), "-Ne", query)

    @contextmanager
    def sql_session(self) -> Iterator[Callable[[str], str]]:
        """Yield a function: statements on one connection, the last with one row, → that row. Errors fail the test."""
        command = (tools.binary("kubectl"), "--kubeconfig", self.cluster.kubeconfig, "exec", "--stdin")
        words = [str(word) for word in (*command, *self._mariadb(), "-Nn")]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin and process.stdout
            out, into = process.stdout, process.stdin
            watchdog = threading.Timer(120, process.kill)
            watchdog.start()

            def ask(statements: str) -> str:
                into.write(f"{statements};\n")
                into.flush()
                return out.readline().rstrip("\n")

            try:
                yield ask
                into.close()
                assert process.wait() == 0, "an SQL statement failed, or took longer than 120 s"
            finally:
                process.kill()
                watchdog.cancel()

    def _mariadb(self) -> tuple[str, ...]:
        """Arguments of kubectl exec."""
        words = ("-n", self.namespace, "mariadb-server-0", "-c", "mariadb", "--", "mariadb", "-umysql")
        return (*words, "-S", "/run/mysqld/mysqld.sock")

    def secret(self, name: str, key: str = "password") -> str:
        template = f'go-template={{{{index .data "{key}" | base64decode}}}}'
        return self.kubectl("get", "secret", name, "-n", self.namespace, "-o", template)
