"""The connection to the registry of a prefix, with the user's credentials and CAs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from stackwright.adapters.registry import certificates, credentials
from stackwright.adapters.registry.errors import RegistryError
from stackwright.adapters.registry.reference import Prefix
from stackwright.adapters.registry.session import Session
from stackwright.local.commands import LocalError


@contextmanager
def connected(
    prefix: Prefix,
    *,
    ca: Path | None = None,
    plain_http: bool = False,
    writes: bool = True,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[Session]:
    """A session with the registry. Its errors become LocalErrors."""
    try:
        tls = certificates.context(prefix.host, ca, certificates.folders(environ))
        session = Session(prefix, credentials.find(prefix, environ), tls=tls, plain_http=plain_http, writes=writes)
        try:
            yield session
        finally:
            session.close()
    except RegistryError as error:
        raise LocalError(str(error)) from None
