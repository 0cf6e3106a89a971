"""The base of the clients of one API each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from openstack.connection import Connection


class Api:
    """service  its name in openstacksdk's connection"""

    service: ClassVar[str]

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def _api(self) -> Any:
        return getattr(self._connection, self.service)
