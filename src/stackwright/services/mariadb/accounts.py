"""The contract by which a service gets a database."""

from __future__ import annotations

from typing import Any

from stackwright.api.services.contracts import DatabaseAccount
from stackwright.services.declaration import Contract
from stackwright.services.mariadb.kind import MariaDB


def database(name: str, **more: Any) -> Contract:
    """A database and a user with the name of the service; `more` are fields of a DatabaseAccountSpec."""
    spec = {"instance": "mariadb", "database": name.replace("-", "_"), "username": name.replace("-", "_")}
    spec |= {"secretName": f"{name}-database", **more}
    return Contract("Database", DatabaseAccount.KIND, "mariadb", MariaDB.KIND, spec, name=name)
