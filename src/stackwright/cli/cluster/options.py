"""Options of commands that name a cluster, and a namespace in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stackwright.cli.cluster import completion
from stackwright.cli.cluster.connection import NAMESPACE

KubeconfigOption = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig of the cluster; default: $KUBECONFIG, the local cluster, ~/.kube/config.",
    ),
]
NamespaceOption = Annotated[
    str,
    typer.Option("--namespace", "-n", help="Namespace of the cloud.", autocompletion=completion.namespaces),
]
# For commands that read manifests: None differs from the default, because a manifest may name another namespace.
OnlyNamespaceOption = Annotated[
    str | None,
    typer.Option(
        "--namespace", "-n", help=f"Namespace of all manifests; default: that of each manifest, or {NAMESPACE}."
    ),
]
