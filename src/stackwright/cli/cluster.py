"""How a command finds its cluster, and how it ends when the cluster does not answer.

The kubeconfig is the first there is of: `--kubeconfig`, `$KUBECONFIG`, the local cluster's, `~/.kube/config`, the
account of the pod we run in. A file that somebody named and that cannot be read is an error. Whatever is wrong is told
in a sentence; a traceback would explain nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from stackwright.cli import common, completion

if TYPE_CHECKING:
    from stackwright.adapters.kubernetes.client import KubernetesCluster
    from stackwright.api.meta import Resource
    from stackwright.core.plan import Key, Object
    from stackwright.core.ports import Reader

T = TypeVar("T")
NAMESPACE = "openstack"
OPERATOR_NAMESPACE = "stackwright"
MISSING = "there is no such file"
CLUSTER_API = "cluster.x-k8s.io"  # the group of its own kinds, and the end of those of its providers
OUR_PROVIDER = f"infrastructure.{CLUSTER_API}"
POD_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

KubeconfigOption = Annotated[
    Path | None, typer.Option("--kubeconfig", metavar="FILE", help="The cluster to use, if not the usual one.")
]
NamespaceOption = Annotated[
    str,
    typer.Option("--namespace", "-n", help="Namespace of the cloud.", autocompletion=completion.namespaces),
]
# Of commands that read manifests: None is not the same as the default, for a manifest may name another one.
OnlyNamespaceOption = Annotated[
    str | None,
    typer.Option("--namespace", "-n", help=f"Namespace of all manifests; {NAMESPACE} where a manifest names none."),
]


class CliError(Exception):
    """Ends the command with exit code 1; the text is all the user sees."""


def fail(message: str, code: int = 1) -> NoReturn:
    common.echo(message, err=True)
    raise typer.Exit(code)


def kubeconfig(given: Path | None) -> Path | None:
    """The file to use; None for the account of our pod. Raises CliError that names what was tried."""
    from stackwright.local.config import LocalCluster

    if given is not None:
        if problem := _problem(given):
            raise CliError(f"--kubeconfig {given}: {problem}")
        return given
    if (there := named()) is not None:
        return there
    tried = [(LocalCluster.discover().kubeconfig, "the local cluster"), (Path.home() / ".kube/config", "the default")]
    for path, _ in tried:
        if not _problem(path):
            return path
    if POD_ACCOUNT.is_dir():
        return None
    places = "".join(f"\n  {path} ({what}): {_problem(path)}" for path, what in tried)
    raise CliError(f"No Kubernetes cluster is known. Tried:{places}\n`stackwright up` makes one on this machine.")


def named() -> Path | None:
    """The first file of $KUBECONFIG that is there; None where it names none. The others are not merged with it."""
    there = _named()
    return there[0] if there else None


def _named() -> list[Path]:
    """The files of $KUBECONFIG that are there.

    Raises CliError for what cannot be read, as kubectl does, and where none is there: no other cluster is meant then.
    """
    names = (name for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name)
    problems = {path: _problem(path) for path in map(Path, names)}
    there = [path for path, problem in problems.items() if not problem]
    if wrong := [f"{path}: {why}" for path, why in problems.items() if why and not (there and why == MISSING)]:
        raise CliError(f"$KUBECONFIG: {'; '.join(wrong)}")
    return there


def _not_merged(given: Path | None) -> str:
    """Where kubectl would also look for what a kubeconfig lacks."""
    others = [] if given else _named()[1:]
    told = f"Only the first file of $KUBECONFIG is used, not {', '.join(map(str, others))}."
    return (
        f"\n{told}\nMerge them with `kubectl config view --raw --flatten`, or name one by --kubeconfig."
        if others
        else ""
    )


def _problem(path: Path) -> str:
    """Why a file cannot be read; empty where it can."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except OSError as error:
        return error.strerror or str(error)
    return "is not a file" if not path.is_file() else "" if os.access(path, os.R_OK) else "you may not read it"


def is_local(path: Path | None) -> bool:
    """Whether this is the cluster that `stackwright up` made on this machine."""
    from stackwright.local.config import LocalCluster

    return path is not None and path.resolve() == LocalCluster.discover().kubeconfig.resolve()


def is_stopped() -> bool:
    """Whether the local cluster's network is not there, as after `stackwright down` or a reboot."""
    from stackwright.local.config import MACHINE_LINK

    return not Path("/sys/class/net", MACHINE_LINK).exists()


@asynccontextmanager
async def connected(
    given: Path | None, tell: Callable[[str], None] | None = common.tell
) -> AsyncIterator[KubernetesCluster]:
    """The cluster; nothing is sent to it yet. `tell` is told what a command says by which somebody logs in."""
    from stackwright.adapters.kubernetes.client import KubernetesCluster
    from stackwright.adapters.kubernetes.login import wrong_with

    path = kubeconfig(given)
    if is_local(path) and is_stopped():
        # Without its link the cluster's address is somebody else's: nothing must be sent there.
        raise CliError("The local cluster is stopped; `stackwright up` starts it again, with its data.")
    context, told = common.given.context, common.on_call()
    try:
        cluster = KubernetesCluster.from_file(str(path) if path else None, context, told, tell)
    except Exception as error:  # lightkube, YAML, TLS and file errors alike: the file is not usable
        common.trace()
        raise CliError(f"{path} is not a usable kubeconfig: {wrong_with(error)}{_not_merged(given)}") from error
    try:
        yield cluster
    finally:
        await cluster.close()


def run(work: Coroutine[Any, Any, T], interrupted: int = 130) -> T:
    """Run a command's coroutine; failures become a sentence and an exit code."""
    from stackwright.core.ports import Conflict, NotYet, Refused

    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        raise typer.Exit(interrupted) from None
    except CliError as error:
        fail(str(error))
    except (NotYet, Refused, Conflict) as error:
        common.trace()
        fail(_explained(error))


def _explained(error: Exception) -> str:
    from stackwright.core.ports import NotServed, Unreachable

    text = str(error)
    if isinstance(error, Unreachable):
        return f"{text}\nIs it running? `stackwright up` starts the local one, `stackwright doctor` examines it."
    if isinstance(error, NotServed) and error.group.endswith(CLUSTER_API) and error.group != OUR_PROVIDER:
        return f"{text}\nCluster API, or this provider of it, is not installed here; `clusterctl init` installs it."
    if isinstance(error, NotServed):
        return f"{text}\nStackwright is not installed on this cluster; `stackwright up` installs it."
    return text


async def the_cloud(
    reader: Reader, namespace: str, name: str | None, kinds: Collection[type[Resource]] | None = None
) -> Object | None:
    """The cloud of that name, with its kind, or the first by name; an OpenStackDeployment where no kinds are given.

    Raises CliError when the name does not fit.
    """
    from stackwright.cloud.deployment import OpenStackDeployment

    asked = [each.KIND for each in kinds or (OpenStackDeployment,)]
    clouds = [{**cloud, "kind": kind.kind} for kind in asked for cloud in await reader.list(kind, namespace)]
    names = sorted(cloud["metadata"]["name"] for cloud in clouds)
    if name is None:
        return min(clouds, key=lambda cloud: str(cloud["metadata"]["name"]), default=None)
    found = next((cloud for cloud in clouds if cloud["metadata"]["name"] == name), None)
    if found is None and names:
        raise CliError(
            f"There is no {' or '.join(each.kind for each in asked)} {namespace}/{name}; there is {', '.join(names)}"
        )
    return found


def shown(key: Key) -> str:
    return "/".join(part for part in key if part)
