"""The mariadb-controller: labels the pods of a MariaDB as primary or backup; its Service selects only the primary."""

from __future__ import annotations

from stackwright.api.kinds import POD
from stackwright.controllers.primary.decide import decide
from stackwright.controllers.primary.observe import observe
from stackwright.core.controller import Controller, Watch, all_in_namespace
from stackwright.services.mariadb.kind import MariaDB


def controller() -> Controller:
    kind = MariaDB.KIND
    watch = Watch(POD, all_in_namespace(kind))
    return Controller(
        "primary", "health", kind, (watch,), observe, decide, urgent=True, owns_ready=False, forecast=False
    )
