"""Requests through the addresses of Services, from a pod of the cloud, while the pods behind them restart."""

from __future__ import annotations

import json
import subprocess
import threading
from dataclasses import dataclass
from typing import Any

from full import FullCloud, Workload

from stackwright.local import tools

# A new connection for each request, as from many clients. The program ends with its standard input.
PROGRAM = """
import collections, http.client, json, sys, threading, time

targets = json.loads(sys.argv[1])
stop = threading.Event()
counts, failures, longest = collections.Counter(), [], collections.Counter()

def work(name, host, port, path):
    while not stop.is_set():
        start = time.monotonic()
        try:
            connection = http.client.HTTPConnection(host, port, timeout=30)
            connection.request("GET", path, headers={"Host": "localhost"})
            answer = connection.getresponse()
            answer.read()
            wrong = "" if answer.status < 500 else f"HTTP {answer.status}"
            connection.close()
        except Exception as error:
            wrong = repr(error)
        took = time.monotonic() - start
        counts[name] += 1
        longest[name] = max(longest[name], took)
        if wrong:
            failures.append(f"{name} after {took:.2f} s: {wrong}")
        stop.wait(0.1)

threads = [threading.Thread(target=work, args=target) for target in targets for _ in range(2)]
for thread in threads:
    thread.start()
print("started", flush=True)
sys.stdin.read()
stop.set()
for thread in threads:
    thread.join()
print(json.dumps({"counts": counts, "failures": failures, "longest": longest}))
"""


@dataclass(frozen=True)
class Target:
    """A Service with an address of its own, and the Deployment behind it."""

    workload: Workload
    address: str
    port: int
    path: str


def targets(cloud: FullCloud) -> list[Target]:
    """All Services of the cloud with a Deployment."""
    services = [s for s in cloud.get("services", "-n", cloud.namespace)["items"] if s["spec"]["clusterIP"] != "None"]
    found = []
    for deployment in cloud.get("deployments", "-n", cloud.namespace)["items"]:
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        for service in services:
            if service["spec"]["selector"].items() <= labels.items():
                name = deployment["metadata"]["name"]
                selector = ",".join(f"{key}={value}" for key, value in service["spec"]["selector"].items())
                (port, *_) = service["spec"]["ports"]
                container = deployment["spec"]["template"]["spec"]["containers"][0]
                path = container["readinessProbe"].get("httpGet", {}).get("path", "/")
                workload = Workload("deployment", name, selector)
                found.append(Target(workload, service["spec"]["clusterIP"], port["port"], path))
    return found


class Load:
    """Requests to all targets until the block ends; then `result` has their outcomes."""

    def __init__(self, cloud: FullCloud, targets: list[Target]) -> None:
        words = json.dumps([(target.workload.name, target.address, target.port, target.path) for target in targets])
        self._command = [
            *(str(tools.binary("kubectl")), "--kubeconfig", str(cloud.cluster.kubeconfig), "-n", cloud.namespace),
            *("exec", "--stdin", "deploy/keystone-client", "--", "python3", "-c", PROGRAM, words),
        ]
        self.result: dict[str, Any] = {}

    def __enter__(self) -> Load:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout and self._process.stdout.readline() == "started\n"
        return self

    def __exit__(self, *_: object) -> None:
        watchdog = threading.Timer(120, self._process.kill)
        watchdog.start()
        out, _unused = self._process.communicate()
        watchdog.cancel()
        self.result = json.loads(out)
