"""The full cloud of `stackwright up`: tests change and restore its spec, and read its workloads and pods."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import yaml
from harness import Cloud, changed

from stackwright.local.config import Node
from stackwright.local.steps.context import remembered_nodes

FULL = "examples/cloud.yaml"
STORAGE = "examples/storage.yaml"
OVN = "examples/ovn.yaml"
STACKS = "examples/orchestration.yaml"
HOLDER = "image-precaching"  # its pods serve no client, and are replaced with each set of images


@dataclass(frozen=True)
class Workload:
    """An owner of pods: `kind` is deployment, statefulset or daemonset."""

    kind: str
    name: str
    selector: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class FullCloud(Cloud):
    """The cloud of `stackwright up`, from an example; `said` is the output of that command."""

    def __init__(self, said: str, example: str = FULL) -> None:
        super().__init__()
        self.said, self.example = said, example

    def wait_ready(self, name: str = "cloud", namespace: str = "openstack", limit: int = 600) -> None:
        super().wait_ready(name, namespace, limit)

    def change(self, **spec: Any) -> None:
        """Change the cloud to its example with these changes; without changes, to the example."""
        self.ask("--wait", "--timeout", "600", **spec)

    @contextmanager
    def changed_to(self, example: str) -> Iterator[FullCloud]:
        """The same cloud from another example; afterwards it is changed back."""
        made = FullCloud(self.said, example)
        made.change()
        yield made
        self.change()

    def ask(self, *options: str, **spec: Any) -> None:
        """Apply the change without waiting for the result."""
        text = yaml.safe_dump_all(changed(self.example, **spec))
        self.stackwright("apply", "--file", "-", "--yes", *options, stdin=text, limit=660)

    def plan(self, **spec: Any) -> str:
        """The plan of such a change."""
        return self.stackwright("plan", "--file", "-", stdin=yaml.safe_dump_all(changed(self.example, **spec)), code=2)

    @property
    def nodes(self) -> list[Node]:
        """Nodes of the local cluster."""
        return self.cluster.nodes(remembered_nodes(self.cluster))

    def workloads(self) -> Iterator[Workload]:
        for found in self.get("deployments,statefulsets,daemonsets", "-n", self.namespace)["items"]:
            labels = found["spec"]["selector"]["matchLabels"]
            selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
            if found["metadata"]["name"] != HOLDER:
                yield Workload(found["kind"].lower(), found["metadata"]["name"], selector)

    def pods(self, *words: str) -> dict[str, Any]:
        """uid → pod, of the serving pods: without pods of Jobs and pods in deletion."""
        return {
            pod["metadata"]["uid"]: pod
            for pod in self.get("pods", "-n", self.namespace, *words)["items"]
            if pod["metadata"].get("ownerReferences", [{"kind": "Job"}])[0]["kind"] != "Job"
            and pod["metadata"]["labels"].get("application") != HOLDER
            and "deletionTimestamp" not in pod["metadata"]
        }

    def applications(self, pods: dict[str, Any], without: dict[str, Any]) -> set[str]:
        """Applications of the pods that `without` does not contain."""
        return {pod["metadata"]["labels"]["application"] for uid, pod in pods.items() if uid not in without}

    def read(self, pod: str, container: str, option: str, path: str) -> str:
        """Lines of a file in a pod that set an option."""
        script = f"grep -h '^{option} *=' {path} || true"
        words = ("exec", "-n", self.namespace, pod, "-c", container, "--", "sh", "-c", script)
        return self.kubectl(*words).strip()
