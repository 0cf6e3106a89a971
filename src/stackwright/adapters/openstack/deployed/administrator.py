"""The log-in of a cloud's administrator, by the fields of its Secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from stackwright.adapters.openstack.transport.client import AUTH, connect
from stackwright.core.errors import TerminalError
from stackwright.core.plan import Key

if TYPE_CHECKING:
    from openstack.connection import Connection


def require_credentials(admin: Mapping[str, str], secret: Key) -> None:
    """Raise TerminalError with the required keys that the administrator's Secret lacks."""
    if missing := [key for key in AUTH if not admin.get(key)]:
        raise TerminalError(f"Secret {'/'.join(secret)} lacks {', '.join(missing)}")


def connect_as(
    admin: Mapping[str, str], *, ca_file: str = "", identity_url: str = "", interface: str = ""
) -> Connection:
    """Create a client with limits; no request is sent yet. For the other parameters, see `connect`."""
    region = admin.get("region_name") or "RegionOne"
    return connect(admin, region, ca_file=ca_file, identity_url=identity_url, interface=interface, bounded=True)
