"""Finds the cluster of a command.

The kubeconfig is the first that exists of: `--kubeconfig`, `$KUBECONFIG`, the local cluster's, `~/.kube/config`, the
service account of the pod. A file that a user named and that cannot be read is an error.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from stackwright.cli import common
from stackwright.cli.failures import CliError

if TYPE_CHECKING:
    from stackwright.adapters.kubernetes.client import KubernetesCluster
    from stackwright.api.meta import Resource
    from stackwright.core.plan import Key, Object
    from stackwright.core.ports import Reader

NAMESPACE = "openstack"
MISSING = "the file does not exist"
POD_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def kubeconfig(given: Path | None) -> Path | None:
    """The file to use; None for the service account of the pod. Raises CliError that lists the tried files."""
    from stackwright.local.config import LocalCluster

    if given is not None:
        if problem := _problem(given):
            raise CliError(f"--kubeconfig {given}: {problem}")
        return given
    if (there := environment_kubeconfig()) is not None:
        return there
    tried = [(LocalCluster.discover().kubeconfig, "the local cluster"), (Path.home() / ".kube/config", "the default")]
    for path, _ in tried:
        if not _problem(path):
            return path
    if POD_ACCOUNT.is_dir():
        return None
    places = "".join(f"\n  {path} ({what}): {_problem(path)}" for path, what in tried)
    raise CliError(f"No Kubernetes cluster found. Tried:{places}\n`stackwright up` creates one on this machine.")


def environment_kubeconfig() -> Path | None:
    """The first existing file of $KUBECONFIG; None if it is not set. The other files are not merged with it."""
    there = _named()
    return there[0] if there else None


def _named() -> list[Path]:
    """The existing files of $KUBECONFIG.

    Raises CliError for an unreadable file, as kubectl does, and if no file exists: the user means no other cluster.
    """
    names = (name for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name)
    problems = {path: _problem(path) for path in map(Path, names)}
    there = [path for path, problem in problems.items() if not problem]
    if wrong := [f"{path}: {why}" for path, why in problems.items() if why and not (there and why == MISSING)]:
        raise CliError(f"$KUBECONFIG: {'; '.join(wrong)}")
    return there


def _not_merged(given: Path | None) -> str:
    """A note that the other files of $KUBECONFIG are not merged; empty if only one exists."""
    others = [] if given else _named()[1:]
    note = f"Only the first file of $KUBECONFIG is used, not {', '.join(map(str, others))}."
    return (
        f"\n{note}\nMerge them with `kubectl config view --raw --flatten`, or name one by --kubeconfig."
        if others
        else ""
    )


def _problem(path: Path) -> str:
    """Reason why a file cannot be read; empty if it can."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except OSError as error:
        return error.strerror or str(error)
    return "is not a file" if not path.is_file() else "" if os.access(path, os.R_OK) else "permission denied"


def is_local(path: Path | None) -> bool:
    """Whether this is the cluster that `stackwright up` created on this machine."""
    from stackwright.local.config import LocalCluster

    return path is not None and path.resolve() == LocalCluster.discover().kubeconfig.resolve()


def is_stopped() -> bool:
    """Whether the local cluster's network does not exist, as after `stackwright down` or a reboot."""
    from stackwright.local.config import MACHINE_LINK

    return not Path("/sys/class/net", MACHINE_LINK).exists()


@asynccontextmanager
async def connected(
    given: Path | None, tell: Callable[[str], None] | None = common.tell
) -> AsyncIterator[KubernetesCluster]:
    """A client of the cluster, before any request. `tell` receives the stderr of a credential plugin."""
    from stackwright.adapters.kubernetes.client import KubernetesCluster
    from stackwright.adapters.kubernetes.login import wrong_with
    from stackwright.core.errors import Unreachable

    path = kubeconfig(given)
    if is_local(path) and is_stopped():
        # Without its link, the cluster's address may belong to another host: send no request there.
        raise CliError("The local cluster is stopped; `stackwright up` starts it again, with its data.")
    context, told = common.given.context, common.on_call()
    try:
        cluster = KubernetesCluster.from_file(str(path) if path else None, context, told, tell, confirm=0.0)
    except Exception as error:  # lightkube, YAML, TLS and file errors alike: the file is not usable
        common.trace()
        raise CliError(f"{path} is not a usable kubeconfig: {wrong_with(error)}{_not_merged(given)}") from error
    try:
        yield cluster
    except Unreachable as error:
        if is_local(path):
            error.add_note("Does it run? `stackwright up` starts it, `stackwright doctor` examines it.")
        raise
    finally:
        await cluster.close()


async def the_cloud(
    reader: Reader, namespace: str, name: str | None, kinds: Collection[type[Resource]] | None = None
) -> Object | None:
    """The cloud of that name, with its kind, or the first by name; an OpenStackDeployment if no kinds are given.

    Raises CliError if only clouds of other names exist, or one of each kind has the name.
    """
    from stackwright.cloud.deployment import OpenStackDeployment

    asked = [each.KIND for each in kinds or (OpenStackDeployment,)]
    clouds = [{**cloud, "kind": kind.kind} for kind in asked for cloud in await reader.list(kind, namespace)]
    names = sorted(cloud["metadata"]["name"] for cloud in clouds)
    if name is None:
        return min(clouds, key=lambda cloud: str(cloud["metadata"]["name"]), default=None)
    named = [cloud for cloud in clouds if cloud["metadata"]["name"] == name]
    if len(named) > 1:
        both = " and ".join(f"{cloud['kind']} {namespace}/{name}" for cloud in named)
        raise CliError(f"There are {both}, of which one can be the cloud; delete the other one with kubectl")
    if names and not named:
        raise CliError(
            f"There is no {' or '.join(each.kind for each in asked)} {namespace}/{name}; there is {', '.join(names)}"
        )
    return named[0] if named else None


def shown(key: Key) -> str:
    return "/".join(part for part in key if part)
