"""The cloud as a user meets it: through `stackwright` and `kubectl`, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackwright.local import tools
from stackwright.local.config import LocalCluster

ROOT = Path(__file__).parents[2]
CLI = Path(sys.executable).with_name("stackwright")


@dataclass(frozen=True)
class Done:
    code: int
    out: str


def run(*command: str | Path, stdin: str | None = None, limit: float = 300) -> Done:
    """Run a program; standard output and error together."""
    done = subprocess.run(
        [str(word) for word in command],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit,
        cwd=ROOT,
    )
    return Done(done.returncode, done.stdout)


class Cloud:
    """The default cloud, as a user meets it: through `stackwright` and `kubectl`."""

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

    def token(self) -> dict[str, str]:
        out = self.stackwright("shell", "--", "openstack", "token", "issue", "-f", "json", limit=60)
        return dict(json.loads(out[out.index("{") : out.rindex("}") + 1]))

    def left(self, namespace: str) -> list[str]:
        """What is in a namespace beside what Kubernetes itself puts there."""
        kinds = "all,secrets,configmaps,pvc,serviceaccounts,pdb,openstackdeployments,helmbundles,keystones,mariadbs"
        kinds += ",rabbitmqs,memcacheds,databaseaccounts,messagingaccounts,keystoneservices"
        names = self.kubectl("get", kinds, "-n", namespace, "--output", "name", "--ignore-not-found").split()
        return [name for name in names if name not in ("configmap/kube-root-ca.crt", "serviceaccount/default")]


def eventually(check: Callable[[], Any], limit: float = 120, pause: float = 0.3) -> float:
    """Seconds until a check gives something true or stops failing; the last failure is raised at the limit."""
    start = time.monotonic()
    while True:
        try:
            if check() is not False:
                return time.monotonic() - start
        except (AssertionError, StopIteration, KeyError, ValueError) as error:
            if time.monotonic() - start > limit:
                raise AssertionError(f"not within {limit:.0f} s") from error
        else:
            assert time.monotonic() - start < limit, f"not within {limit:.0f} s"
        time.sleep(pause)
