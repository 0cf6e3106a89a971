"""DatabaseAccount: a database and a user in a MariaDB."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from stackwright.api.services.contracts import DatabaseAccount, DatabaseAccountSpec
from stackwright.controllers.contract.objects import Contract, Raw
from stackwright.core.plan.accounts import EnsureDatabaseAccount
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.mariadb.values import PORT, ROOT_SECRET

CONNECTION = "mysql+pymysql://{username}:{password}@{host}:{port}/{database}?charset=utf8"


def host(instance: str, namespace: str) -> str:
    # Relative to the cluster's search domains, because the cluster domain is configurable.
    return f"{instance}.{namespace}.svc"


def _fixed(spec: DatabaseAccountSpec, namespace: str) -> dict[str, str]:
    return {
        "username": spec.username,
        "database": spec.database,
        "host": host(spec.instance, namespace),
        "port": str(PORT),
    }


def _templates(spec: DatabaseAccountSpec) -> dict[str, str]:
    return {"connection": CONNECTION, "database.conf": f"[{spec.section}]\nconnection = {CONNECTION}\n"}


def _action(spec: DatabaseAccountSpec, namespace: str, absent: bool) -> EnsureDatabaseAccount:
    return EnsureDatabaseAccount(
        host=host(spec.instance, namespace),
        admin_secret=(namespace, ROOT_SECRET),
        database=spec.database,
        username=spec.username,
        grants=tuple(spec.grants),
        secret=(namespace, spec.secret_name),
        absent=absent,
        dropped=(spec.database, *spec.additional_databases) if spec.drop_database else (),
        additional=tuple(spec.additional_databases),
    )


def _claims(spec: Raw) -> tuple[str, ...]:
    return (f"user {spec.get('username')} of MariaDB {spec.get('instance')}",)


def _databases(spec: Raw) -> set[str]:
    return {str(name) for name in (spec.get("database"), *(spec.get("additionalDatabases") or ()))}


def _uses(spec: Raw) -> tuple[str, ...]:
    return tuple(f"database {name} of MariaDB {spec.get('instance')}" for name in _databases(spec))


def _kept(action: EnsureDatabaseAccount, others: Iterable[Raw]) -> EnsureDatabaseAccount:
    """Databases that other accounts share are not dropped."""
    used = {name for spec in others for name in _databases(spec)}
    return replace(action, dropped=tuple(name for name in action.dropped if name not in used))


DATABASE = Contract(
    name="database",
    kind=DatabaseAccount.KIND,
    instance_kind=MariaDB.KIND,
    spec=DatabaseAccountSpec,
    fixed=_fixed,
    templates=_templates,
    action=_action,
    claims=_claims,
    uses=_uses,
    kept=_kept,
    # exact: grants on patterns are revoked; narrowed: grants that the spec no longer lists, and GRANT OPTION; named:
    # grants on databases that the spec no longer names; global: grants on all databases, and roles.
    revision=("exact", "narrowed", "named", "global"),
)
