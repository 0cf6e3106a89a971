"""`stackwright shell`: the openstack command line, in the cloud's own client pod.

The pod has the administrator's clouds.yaml mounted from a Secret, so no credential leaves the cluster or appears on a
command line. kubectl connects the terminal; its exit code is ours.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common
from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, NamespaceOption

if TYPE_CHECKING:
    from stackwright.core.ports import Reader

LABELS = {"application": "keystoneclient", "component": "client"}
# A shell looks up the command, so a missing one ends with 127 and its name, not with an error of the runtime.
FOUND_BY_SHELL = ("sh", "-c", 'exec "$0" "$@"')
INTERACTIVE = ("sh", "-c", "command -v bash >/dev/null && exec bash || exec sh")

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command("shell", context_settings={"allow_interspersed_args": False, "help_option_names": ["-h", "--help"]})
def shell(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMAND]...", help="Command to run in the pod; default: a shell.")
    ] = None,
    namespace: NamespaceOption = NAMESPACE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Run a command with the cloud's credentials and clients, or open a shell.

    The exit code is that of the command; 127 if the pod does not have the command.

    For example:

      stackwright shell -- openstack token issue

      stackwright shell
    """
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.cluster.connection import kubeconfig as resolved
    from stackwright.cli.failures import CliError, fail, run

    async def work() -> str:
        async with connected(kubeconfig) as cluster:
            return await client_pod(cluster, namespace)

    pod = run(work())
    try:
        path, kubectl = resolved(kubeconfig), find_kubectl()
    except CliError as error:
        fail(str(error))
    argv = [kubectl, *(["--kubeconfig", str(path)] if path else []), "--namespace", namespace]
    argv += ["--context", common.given.context] if common.given.context else []
    argv += ["exec", "--stdin", *(["--tty"] if _terminal() else []), pod, "--"]
    argv += [*FOUND_BY_SHELL, *command] if command else INTERACTIVE
    sys.stdout.flush()
    os.execv(argv[0], argv)  # noqa: S606 - replaces this process, so signals and the exit code need no care


def _terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


async def client_pod(reader: Reader, namespace: str) -> str:
    """The name of a ready client pod. Raises CliError with the cause if none exists."""
    from stackwright.api.kinds import POD
    from stackwright.api.services.helmbundle import HelmBundle
    from stackwright.cli.failures import CliError
    from stackwright.core.conditions import is_ready, why_not_ready
    from stackwright.core.kubernetes.workload_health import pod_cause, pod_ready

    pods = sorted(await reader.list(POD, namespace, LABELS), key=lambda pod: str(pod["metadata"]["name"]))
    for pod in pods:
        if pod_ready(pod):
            return str(pod["metadata"]["name"])
    causes = [pod_cause(pod) or f"Pod {pod['metadata']['name']} is starting" for pod in pods]
    if not pods:
        bundle = await reader.get(HelmBundle.KIND, (namespace, "openstack-keystone"))
        why = "" if is_ready(bundle) else f"; HelmBundle {namespace}/openstack-keystone: {why_not_ready(bundle)}"
        causes = [f"No client pod found in namespace {namespace}{why}"]
    raise CliError("\n".join([*causes, "`stackwright status` shows the state of all parts."]))


def find_kubectl() -> str:
    """The built kubectl, which fits the local cluster's version, else that in $PATH. Raises CliError."""
    from stackwright.cli.failures import CliError
    from stackwright.local.tools import binary

    built: Path = binary("kubectl")
    found = str(built) if built.exists() else shutil.which("kubectl")
    if found is None:
        raise CliError("kubectl was not found in $PATH or among the built tools; `stackwright up` builds it")
    return found
