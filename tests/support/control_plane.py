"""A control plane for one test: etcd and an API server as children of this process, on free loopback ports.

It has the certificates and flags of `up`, but needs no root, nodes, or network, and ends with the `with` block. etcd
does not sync to disk here, which halves the time; the data of a test need not survive.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from stackwright.local import tools
from stackwright.local.commands import LocalError, bound, tail
from stackwright.local.kubernetes import flags, identities, pki
from stackwright.local.kubernetes.api import Api
from stackwright.local.waiting import wait_for


@contextmanager
def control_plane(folder: Path, *more: str, limit: float = 60) -> Iterator[Path]:
    """Yield the path of an administrator's kubeconfig. `more` are further flags of the API server."""
    where = _free_endpoints()
    keys = folder / "pki"
    certificates(keys)
    with ExitStack() as stack:
        etcd = [*flags.etcd(keys, folder / "etcd", where), "--unsafe-no-fsync=true"]
        stack.enter_context(_child(etcd, folder))
        apiserver = stack.enter_context(_child([*flags.apiserver(keys, where), *more], folder))
        api = Api(keys, where.api_address, where.api_port)
        log = folder / "kube-apiserver.log"

        def unready() -> str | None:
            if apiserver.poll() is not None:
                raise LocalError(f"the test's apiserver ended:\n{tail(log)}")
            return api.unready()

        wait_for("the test's apiserver", unready, limit=limit, log=log)
        kubeconfig = folder / "kubeconfig"
        pki.write_private(kubeconfig, identities.portable_kubeconfig(keys, identities.ADMIN, where.api_url))
        yield kubeconfig


def certificates(keys: Path) -> None:
    for authority in identities.AUTHORITIES:
        pki.ensure_authority(keys, authority)
    pki.ensure_service_account_key(keys)
    pki.ensure_encryption_config(keys)
    for identity in identities.etcd_and_apiserver():
        pki.ensure_identity(keys, identity)


def _free_endpoints() -> flags.Endpoints:
    """Three free ports; their sockets are open at the same time, so that they differ."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(3)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        api, etcd, peer = (one.getsockname()[1] for one in sockets)
    return flags.Endpoints("127.0.0.1", api, etcd, peer)


@contextmanager
def _child(argv: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    program = tools.binary(argv[0])
    if not program.exists():
        raise LocalError(f"{argv[0]} is not built; run `stackwright up --bare` once")
    with (folder / f"{argv[0]}.log").open("wb") as log:
        process = subprocess.Popen(bound([program, *argv[1:]]), stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        # SIGKILL, because a graceful end of an API server takes long, and no data must be saved.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
