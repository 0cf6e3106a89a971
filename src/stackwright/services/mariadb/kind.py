"""The kind MariaDB."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.rules import Change
from stackwright.api.services.kinds import ServiceResource, service_kind
from stackwright.api.services.voters import SIZE_KEEPS_VOTERS


class MariaDB(ServiceResource):
    DESCRIPTION = "The database: a MariaDB Galera cluster."
    KIND: ClassVar[Kind] = service_kind("MariaDB", "mariadbs", "mdb")
    CHANGES: ClassVar[tuple[Change, ...]] = (SIZE_KEEPS_VOTERS,)
