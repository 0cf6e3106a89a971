"""`stackwright operator`: the program inside the operator's pod."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stackwright.core.controller import ROLES
from stackwright.core.settings import OPERATOR_NAMESPACE


def operator(
    controllers: Annotated[str, typer.Option(help=f"Roles to run, separated by commas: {', '.join(ROLES)}.")] = "all",
    images: Annotated[Path | None, typer.Option(help="JSON file that maps image names to references.")] = None,
    health_port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of /healthz, /readyz and /servingz.")
    ] = None,
    metrics_port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of /metrics.")] = None,
    webhook_port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of the admission server.")] = None,
    webhook_certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder with tls.crt, tls.key and ca.crt of another issuer; default: issue its own."
        ),
    ] = None,
    webhook_trust: Annotated[
        bool, typer.Option(help="Write the CA of the certificate into the ValidatingWebhookConfiguration.")
    ] = True,
    kubeconfig: Annotated[
        str | None, typer.Option(metavar="FILE", help="Kubeconfig; default: the service account of the pod.")
    ] = None,
    namespace: Annotated[
        str, typer.Option(envvar="POD_NAMESPACE", help="Namespace of the operator.")
    ] = OPERATOR_NAMESPACE,
    unrestricted_helmbundles: Annotated[
        bool,
        typer.Option(help="Allow HelmBundles to use any chart and any namespace, with the operator's permissions."),
    ] = False,
    pod: Annotated[str, typer.Option(envvar="POD_NAME", help="Name of the operator's pod, if it runs in one.")] = "",
    pod_uid: Annotated[
        str, typer.Option(envvar="POD_UID", help="UID of that pod, whose processes share the Lease of the operator.")
    ] = "",
    namespaces: Annotated[
        str, typer.Option(help="Namespaces that it manages, separated by commas; default: all of the cluster.")
    ] = "",
    lease_lock: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File that all processes of the pod share; the last one to end releases the Lease."
        ),
    ] = None,
    log_level: Annotated[str, typer.Option(help="Log level: DEBUG, INFO, WARNING or ERROR.")] = "INFO",
) -> None:
    """Run the operator's controllers.

    Example: stackwright operator --controllers=osdpl,helmbundle --kubeconfig=admin.conf
    """
    from stackwright.api.wording import unknown
    from stackwright.cli.failures import run
    from stackwright.main import Options, operate
    from stackwright.runtime.own_pod import end_process

    roles = ROLES if controllers == "all" else tuple(name.strip() for name in controllers.split(","))
    if wrong := set(roles) - set(ROLES):
        raise typer.BadParameter(unknown("role", sorted(wrong), (*ROLES, "all")), param_hint="--controllers")
    options = Options(
        roles,
        images,
        health_port,
        metrics_port,
        webhook_port,
        kubeconfig,
        namespace,
        log_level,
        unrestricted_helmbundles,
        pod,
        pod_uid,
        webhook_certificate,
        webhook_trust,
        _namespaces(namespaces),
        lease_lock,
    )
    run(operate(options, end_process))


def _namespaces(given: str) -> tuple[str, ...]:
    from stackwright.api.fields.naming import NAMESPACE

    names = tuple(dict.fromkeys(name.strip() for name in given.split(","))) if given else ()
    if wrong := [name for name in names if not NAMESPACE.matches(name)]:
        named = ", ".join(map(repr, wrong))
        raise typer.BadParameter(f"{named}: {NAMESPACE.problem}", param_hint="--namespaces")
    return names
