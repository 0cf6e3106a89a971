"""Reads the public side of a cloud for `status`: responses of its endpoints, and the agents that they list."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackwright.adapters.openstack.deployed.public_api import Live
    from stackwright.core.ports import Reader


async def read_live(reader: Reader, namespace: str) -> Live | None:
    """The public side; None for a cloud without public endpoints."""
    from stackwright.adapters.openstack.deployed.public_api import Live, check_endpoints
    from stackwright.cli.failures import CliError
    from stackwright.cli.state.access import read_access
    from stackwright.core.errors import TerminalError

    try:
        access = await read_access(reader, namespace)
    except CliError:
        return None
    except TerminalError as error:  # a user who may read the cloud may lack permission to read its Secrets
        return Live(problem=str(error))
    return await check_endpoints(access)
