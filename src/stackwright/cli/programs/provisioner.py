"""`stackwright provisioner`: the program that makes local volumes, in a pod on each node."""

from __future__ import annotations

from typing import Annotated, Literal

import typer


def provisioner(
    node: Annotated[str, typer.Option(envvar="NODE_NAME", help="Name of this node.")],
    path: Annotated[
        str, typer.Option(envvar="VOLUMES_PATH", help="Directory of the volumes.")
    ] = "/var/lib/stackwright-volumes",
    health_port: Annotated[int | None, typer.Option(help="Port of /healthz.")] = None,
    kubeconfig: Annotated[str | None, typer.Option(help="Kubeconfig; without it the account of the pod.")] = None,
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"], typer.Option(envvar="LOG_LEVEL", help="What is logged.")
    ] = "INFO",
) -> None:
    """Make a directory and a PersistentVolume for each claim on this node, and remove them after it.

    Example: stackwright provisioner --node=node-1 --path=/srv/volumes --kubeconfig=admin.conf
    """
    from stackwright.cli.cluster import run
    from stackwright.main import ProvisionerOptions, provision

    if not path.startswith("/") or path.rstrip("/") == "":
        raise typer.BadParameter(f"{path} is not the absolute path of a directory below /", param_hint="--path")
    run(provision(ProvisionerOptions(node, path, health_port, kubeconfig, log_level)))
