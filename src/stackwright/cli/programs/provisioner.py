"""`stackwright provisioner`: the program that creates local volumes, in a pod on each node."""

from __future__ import annotations

from typing import Annotated, Literal

import typer


def provisioner(
    node: Annotated[str, typer.Option(envvar="NODE_NAME", help="Name of this node.")],
    path: Annotated[
        str, typer.Option(envvar="VOLUMES_PATH", help="Directory of the volumes.")
    ] = "/var/lib/stackwright-volumes",
    health_port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of /healthz.")] = None,
    kubeconfig: Annotated[
        str | None, typer.Option(metavar="FILE", help="Kubeconfig; default: the service account of the pod.")
    ] = None,
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"], typer.Option(envvar="LOG_LEVEL", help="Log level.")
    ] = "INFO",
) -> None:
    """Create a directory and a PersistentVolume for each claim on this node, and remove them with the claim.

    Example: stackwright provisioner --node=node-1 --path=/srv/volumes --kubeconfig=admin.conf
    """
    from stackwright.cli.failures import run
    from stackwright.main import ProvisionerOptions, provision

    if not path.startswith("/") or path.rstrip("/") == "":
        raise typer.BadParameter(f"{path} is not an absolute path of a directory below /", param_hint="--path")
    run(provision(ProvisionerOptions(node, path, health_port, kubeconfig, log_level)))
