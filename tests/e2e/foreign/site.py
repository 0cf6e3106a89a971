"""An existing Kubernetes cluster with a registry: the steps of its administrator, with helm and kubectl."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from full import FULL
from harness import CLI, ROOT, Cloud, run

from stackwright.local import tools
from stackwright.local.config import MACHINE_ADDRESS
from stackwright.local.steps.context import Context
from stackwright.local.steps.openstack import demo, hosts
from support.registry.debian import Server, auth_file, docker_registry
from support.registry.helm import environment
from support.registry.memory import PASSWORD, USER

TRUSTED = Path("/etc/containerd/certs.d")  # of the nodes, which share /etc with the machine
OPERATOR = "stackwright"
PROVISIONER = "local-volume-provisioner"
PLACE = ("--namespace", OPERATOR, "--wait", "--timeout", "4m")
VALUES = {"images": {"pull_secrets": [{"name": "registry"}]}, "pod": {"replicas": {"operator": 2}}}
VERSION = yaml.safe_load((ROOT / "charts/stackwright/Chart.yaml").read_text())["version"]
CLUSTER_KINDS = (
    "crds,clusterroles,clusterrolebindings,validatingwebhookconfigurations,mutatingwebhookconfigurations"
    ",validatingadmissionpolicies,validatingadmissionpolicybindings,storageclasses,csidrivers,pv,namespaces"
    ",ingressclasses,priorityclasses,nodes"
)
NAMESPACED_KINDS = "all,secrets,configmaps,serviceaccounts,roles,rolebindings,networkpolicies,pvc,pdb"


@dataclass
class Site:
    """prefix  of the images in the registry. chart  of the operator, in the registry"""

    cloud: Cloud
    registry: Server
    folder: Path

    @property
    def prefix(self) -> str:
        return f"{self.registry.host}/sw"

    @property
    def chart(self) -> str:
        return f"oci://{self.prefix}/charts/stackwright"

    @property
    def ca_option(self) -> tuple[str, ...]:
        """Helm's options for this registry."""
        return ("--ca-file", str(self.registry.ca))

    @property
    def _auth(self) -> Path:
        return auth_file(self.folder / "auth.json", self.registry.host)

    def log_in(self) -> None:
        """Helm has a login of its own."""
        words = ("registry", "login", self.registry.host, "--username", USER, "--password-stdin", *self.ca_option)
        self.helm(*words, stdin=PASSWORD)

    def stackwright(self, *words: str, code: int = 0, limit: float = 300) -> str:
        """Run a command with the registry's credentials and CA, and the kubeconfig as on any machine."""
        env = {"REGISTRY_AUTH_FILE": str(self._auth), "KUBECONFIG": str(self.cloud.cluster.kubeconfig)}
        done = run(CLI, *words, "--ca", self.registry.ca, env=env, limit=limit)
        assert done.code == code, f"stackwright {' '.join(words)} exited with {done.code}:\n{done.out}"
        return done.out

    def push(self, *names: str, tree: Path = ROOT) -> str:
        """Push all images and charts, or the named ones, of a source tree by its own code."""
        env = {"REGISTRY_AUTH_FILE": str(self._auth), "PYTHONPATH": str(tree / "src")}
        done = run(CLI, "images", "push", self.prefix, *names, "--ca", self.registry.ca, env=env, limit=900)
        assert done.code == 0, done.out
        return done.out

    def helm(self, *words: str, limit: float = 300, code: int = 0, stdin: str | None = None) -> str:
        env = environment(self.folder, self.cloud.cluster.kubeconfig)
        done = run(tools.binary("helm"), *words, env=env, limit=limit, stdin=stdin)
        assert done.code == code, f"helm {' '.join(words)} exited with {done.code}:\n{done.out}"
        return done.out

    def install(self, version: str = VERSION) -> None:
        """Install the provisioner of volumes, and the operator with only a values file."""
        values = self.folder / "values.yaml"
        values.write_text(yaml.safe_dump(VALUES))
        self.cloud.kubectl("create", "namespace", OPERATOR)
        for namespace in (OPERATOR, "kube-system"):
            self.pull_secret(namespace)
        volumes = f"oci://{self.prefix}/charts/{PROVISIONER}"
        secret = "images.pull_secrets[0].name=registry"
        words = ("--version", VERSION, *self.ca_option, "-n", "kube-system", "--set", secret, "--wait")
        self.helm("install", PROVISIONER, volumes, *words)
        words = ("--version", version, *self.ca_option, *PLACE, "--values", str(values))
        self.helm("install", OPERATOR, self.chart, *words)

    def create(self, tree: Path = ROOT) -> None:
        """Create the full cloud of a source tree, with images of the registry only, up to a login on its machine."""
        cloud = self.cloud
        cloud.kubectl("apply", "--server-side", "--filename", str(tree / FULL))
        cloud.stackwright("wait", "cloud", "--timeout", "900", limit=930)
        running = cloud.get("pods", "-n", cloud.namespace)["items"]
        used = {each["image"] for pod in running for each in pod["spec"]["containers"]}
        assert used and all(image.startswith(f"{self.prefix}/") for image in used), used
        hosts.run(Context(cloud.cluster), print)  # replaces the administrator's DNS
        demo.run(Context(cloud.cluster), print)  # until it logs in

    def rename_chart(self, version: str, other: str) -> None:
        """Push the operator's chart of this version under another one, too."""
        made = self.folder / other
        self.helm("pull", self.chart, "--version", version, *self.ca_option, "--untar", "-d", str(made))
        self.helm("package", str(made / "stackwright"), "--version", other, "-d", str(made))
        self.helm("push", str(made / f"stackwright-{other}.tgz"), f"oci://{self.prefix}/charts", *self.ca_option)

    def pull_secret(self, namespace: str, password: str = PASSWORD) -> None:
        """Like `kubectl create secret docker-registry`, but without a password among the arguments."""
        words = ("create", "secret", "generic", "registry", "-n", namespace, "--type=kubernetes.io/dockerconfigjson")
        path = auth_file(self.folder / "pull.json", self.registry.host, password)
        self.cloud.kubectl(*words, f"--from-file=.dockerconfigjson={path}")

    def objects(self) -> set[str]:
        """Namespace and name of all objects that an installation could leave, and the labels of nodes."""
        found = set(self.cloud.kubectl("get", CLUSTER_KINDS, "--output", "name").split())
        words = (
            "--output",
            "go-template={{range .items}}{{.metadata.namespace}} {{.kind}} {{.metadata.name}}\n{{end}}",
        )
        found |= set(self.cloud.kubectl("get", NAMESPACED_KINDS, "--all-namespaces", *words).splitlines())
        labels = {
            f"{node['metadata']['name']} {key}"
            for node in self.cloud.get("nodes")["items"]
            for key in node["metadata"]["labels"]
        }
        return found | labels


@contextmanager
def site(cloud: Cloud, folder: Path) -> Iterator[Site]:
    """A registry that the cluster's nodes reach and trust."""
    with docker_registry(folder, MACHINE_ADDRESS) as registry:
        trusted = TRUSTED / registry.host
        trusted.mkdir(parents=True)
        try:
            shutil.copy(registry.ca, trusted / "ca.crt")
            made = Site(cloud, registry, folder)
            made.log_in()
            yield made
        finally:
            shutil.rmtree(trusted)
