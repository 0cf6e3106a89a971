"""Access to a cloud from outside the cluster: from its object and two Secrets beside it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackwright.adapters.openstack.transport.login import Login
    from stackwright.core.openstack.deployed.access import Access
    from stackwright.core.ports import Reader


async def read_access(reader: Reader, namespace: str) -> Access:
    """Reads the access data. Raises CliError with the missing object."""
    from stackwright.api.kinds import SECRET
    from stackwright.cli.cluster.connection import the_cloud
    from stackwright.cli.failures import CliError
    from stackwright.core.objects import secret_data
    from stackwright.core.openstack.deployed.access import ADMIN_SECRET, TLS_SECRET, NoAccess, access

    cloud, admin, tls = await asyncio.gather(
        the_cloud(reader, namespace, None),
        reader.get(SECRET, (namespace, ADMIN_SECRET)),
        reader.get(SECRET, (namespace, TLS_SECRET)),
    )
    if cloud is None:
        raise CliError(f"No OpenStackDeployment found in namespace {namespace}")
    try:
        return access(cloud, secret_data(admin), secret_data(tls))
    except NoAccess as error:
        raise CliError(f"{error}\n`stackwright status` shows the state of all parts.") from error


async def reachable_login(reader: Reader, login: Login) -> Login:
    """Replace an address that only pods can use by the public endpoints of that cloud, if it has any."""
    from stackwright.adapters.openstack.transport.login import login_by
    from stackwright.cli.cluster.connection import POD_ACCOUNT
    from stackwright.cli.failures import CliError
    from stackwright.core.errors import TerminalError
    from stackwright.core.openstack.deployed.access import external_entry, namespace_of

    namespace = namespace_of(login.entry)
    if not namespace or POD_ACCOUNT.is_dir():
        return login
    try:
        found = await read_access(reader, namespace)
    except (CliError, TerminalError):  # the given address is used, and its failure reported
        return login
    return login_by(external_entry(login.entry, found), found.ca)


def default_ca_file(kubeconfig: Path | None, namespace: str, name: str, ca: str) -> Path:
    """The file of the local cloud, otherwise one next to clouds.yaml, whose name is unique because it contains a
    digest.
    """
    from hashlib import sha256

    from stackwright.cli.cluster.connection import NAMESPACE, is_local
    from stackwright.local.config import LocalCluster
    from stackwright.local.steps.openstack.demo import ca_file

    if is_local(kubeconfig) and namespace == NAMESPACE:
        return ca_file(LocalCluster.discover())
    return clouds_file().parent / f"{name}-ca-{sha256(ca.encode()).hexdigest()[:8]}.crt"


def clouds_file() -> Path:
    """The path where OpenStack clients look for clouds.yaml."""
    return Path.home() / ".config/openstack/clouds.yaml"


def replace(path: Path, content: str | bytes, mode: int) -> bool:
    """Writes a file atomically; returns whether it changed. A link stays a link."""
    import os
    import tempfile

    target, data = path.resolve(), content.encode() if isinstance(content, str) else content
    if target.is_file() and target.read_bytes() == data and target.stat().st_mode & 0o777 == mode:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # readable only by its owner
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(aside).chmod(mode)
        Path(aside).replace(target)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
    return True
