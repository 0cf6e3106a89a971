"""`stackwright openrc`: settings and credentials with which OpenStack clients use a cloud's public endpoints."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common
from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, NamespaceOption

if TYPE_CHECKING:
    from stackwright.core.openstack.deployed.access import Access


class Form(StrEnum):
    OPENRC = "openrc"
    CLOUDS = "clouds.yaml"
    SECRET = "secret"  # noqa: S105 - a word on the command line


def openrc(
    form: Annotated[
        Form,
        typer.Option(
            "--format",
            help="openrc: shell variables; clouds.yaml: a file for clients; secret: a Secret for OpenStackServers.",
        ),
    ] = Form.OPENRC,
    name: Annotated[str, typer.Option("--cloud", help="Name of the cloud in clouds.yaml.")] = "stackwright",
    ca_file: Annotated[
        Path | None,
        typer.Option("--ca-file", metavar="FILE", dir_okay=False, help="Write the CA certificate to this file."),
    ] = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Add the cloud to ~/.config/openstack/clouds.yaml and keep the other clouds there."
        ),
    ] = False,
    namespace: NamespaceOption = NAMESPACE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Print the settings and credentials with which OpenStack clients use the cloud, over verified TLS.

    The output contains the administrator's password. The cloud's CA certificate is written to a file that
    the output names: beside the local cluster's data, or beside clouds.yaml.

    For example:

      source <(stackwright openrc)

      stackwright openrc --write; openstack --os-cloud stackwright server list

      stackwright openrc --format clouds.yaml --ca-file ./ca.crt > clouds.yaml

      stackwright openrc --format secret | kubectl apply -n demo -f -
    """
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.cluster.connection import kubeconfig as resolved
    from stackwright.cli.failures import CliError, fail, run
    from stackwright.cli.state.access import clouds_file, default_ca_file, read_access, replace

    async def work() -> tuple[Access, Path]:
        async with connected(kubeconfig) as cluster:
            found = await read_access(cluster, namespace)
        usual = default_ca_file(resolved(kubeconfig), namespace, name, found.ca)
        return found, (ca_file or usual).absolute()

    access, ca = run(work())
    try:
        path = clouds_file()
        text = merged(path, name, access, ca) if write else ""
        if write or ca_file or form is not Form.SECRET:  # which names no file
            replace(ca, access.ca, 0o644)
        if write:
            changed = replace(path, text, 0o600)
            common.echo(f"{path}: cloud {name} {'written' if changed else 'unchanged'}")
        else:
            common.data(printed(form, name, access, str(ca), namespace), nl=False)
    except (OSError, CliError) as error:
        fail(str(error))


def printed(form: Form, name: str, access: Access, ca: str, namespace: str) -> str:
    from stackwright.cli.ui.output import as_yaml
    from stackwright.core.openstack.deployed.access import clouds_entry, internal_entry, openrc, with_cloud

    match form:
        case Form.OPENRC:
            return openrc(access, ca)
        case Form.CLOUDS:
            return as_yaml(with_cloud(None, name, clouds_entry(access, ca)))
    data = {"clouds.yaml": as_yaml(with_cloud(None, name, internal_entry(access, namespace)))}
    return as_yaml({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}-clouds"}, "stringData": data})


def merged(path: Path, name: str, access: Access, ca: Path) -> str:
    """The new content of the file. Raises CliError for a file that is not a clouds.yaml: it is not replaced."""
    import yaml

    from stackwright.cli.failures import CliError
    from stackwright.cli.ui.output import as_yaml
    from stackwright.core.openstack.deployed.access import clouds_entry, with_cloud

    try:
        existing = yaml.safe_load(path.read_text()) if path.exists() else None
        return as_yaml(with_cloud(existing, name, clouds_entry(access, str(ca))))
    except UnicodeDecodeError as error:
        raise CliError(f"{path} was not changed: it is not UTF-8 text") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CliError(f"{path} was not changed: {error}") from error
