"""Types for addresses and names of networks and interfaces."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import AfterValidator, Field

from stackwright.api.fields.lines import Line


def _address(value: str) -> str:
    ipaddress.ip_address(value)
    return value


def _network(value: str) -> str:
    ipaddress.ip_network(value)
    return value


Address = Annotated[Line, AfterValidator(_address)]
Network = Annotated[Line, AfterValidator(_network)]
InterfaceName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]{0,14}$")]
PhysnetName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$")]
