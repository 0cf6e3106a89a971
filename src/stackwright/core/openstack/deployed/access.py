"""Client configuration for a cloud, such as clouds.yaml and openrc, with public addresses over TLS. Pure.

The password and the CA certificate come from Secrets in the cloud's namespace. The returned values contain the
password, and this module never prints them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ADMIN_SECRET = "keystone-admin"  # noqa: S105 - names of Secrets
TLS_SECRET = "openstack-public-tls"  # noqa: S105
CA_KEY = "ca.crt"
BAD_CA = f"{CA_KEY} of Secret {TLS_SECRET} is not a certificate in PEM format"
NEEDED = ("username", "password", "project_name", "user_domain_name", "project_domain_name")


class NoAccess(Exception):
    """The cloud cannot be used from outside the cluster; the text gives the reason."""


@dataclass(frozen=True)
class Access:
    """domain    domain of the public endpoints: https://<service>.<domain>
    auth      credentials: username, password, project_name, user_domain_name, project_domain_name
    ca        CA certificate, PEM
    services  names of the cloud's services, as in an OpenStackDeployment
    """

    domain: str
    auth: Mapping[str, str] = field(repr=False)
    region: str
    ca: str = field(repr=False)
    services: frozenset[str] = frozenset()

    @property
    def auth_url(self) -> str:
        return f"{self.host('keystone')}/v3"

    def host(self, name: str) -> str:
        return f"https://{name}.{self.domain}"


def access(cloud: Mapping[str, Any], admin: Mapping[str, str], tls: Mapping[str, str]) -> Access:
    """Build Access from an OpenStackDeployment and the data of two Secrets. Raises NoAccess naming the missing data."""
    name = "/".join((cloud["metadata"]["namespace"], cloud["metadata"]["name"]))
    if missing := [key for key in NEEDED if not admin.get(key)]:
        lacks = (
            f"Secret {ADMIN_SECRET} lacks {', '.join(missing)}" if admin else f"Secret {ADMIN_SECRET} does not exist"
        )
        raise NoAccess(f"Cloud {name} has no administrator account yet: {lacks}")
    if not tls.get(CA_KEY):
        raise NoAccess(
            f"Cloud {name} has no public endpoints: Secret {TLS_SECRET} has no {CA_KEY}; service `ingress` creates them"
        )
    return Access(
        domain=cloud["spec"].get("public_domain_name") or "it.just.works",
        auth={key: admin[key] for key in NEEDED},
        region=admin.get("region_name") or cloud["spec"].get("region_name") or "RegionOne",
        ca=tls[CA_KEY],
        services=frozenset((cloud.get("status") or {}).get("services") or ()),
    )


def clouds_entry(access: Access, ca_file: str) -> dict[str, Any]:
    """One cloud of a clouds.yaml, with the public endpoints."""
    return {
        "auth": {"auth_url": access.auth_url, **access.auth},
        "region_name": access.region,
        "interface": "public",
        "identity_api_version": 3,
        "cacert": ca_file,
    }


def internal_entry(access: Access, namespace: str) -> dict[str, Any]:
    """One cloud of a clouds.yaml for clients in the cluster, with the addresses of the Services."""
    return {
        "auth": {"auth_url": f"http://keystone-api.{namespace}.svc:5000/v3", **access.auth},
        "region_name": access.region,
        "interface": "internal",
        "identity_api_version": 3,
    }


_INSIDE = re.compile(r"https?://keystone-api\.([a-z0-9-]+)\.svc(\.[a-z0-9.-]+)?(:\d+)?(/.*)?")


def namespace_of(entry: Mapping[str, Any]) -> str:
    """The namespace in the internal address of Keystone in a clouds.yaml entry; empty for any other address."""
    found = _INSIDE.fullmatch(str(entry["auth"].get("auth_url", "")))
    return found[1] if found else ""


def external_entry(entry: Mapping[str, Any], access: Access) -> dict[str, Any]:
    """The same credentials for clients outside the cluster, with the public endpoints."""
    kept = {name: value for name, value in entry.items() if name not in ("endpoint_type", "insecure", "verify")}
    return {**kept, "auth": {**entry["auth"], "auth_url": access.auth_url}, "interface": "public"}


def with_cloud(existing: Any, name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """A clouds.yaml with this cloud set and every other kept.

    Raises ValueError if `existing` is no clouds.yaml, or has another cloud or account under this name.
    """
    there = {} if existing is None else existing
    if not isinstance(there, dict) or not isinstance(clouds := there.get("clouds") or {}, dict):
        raise ValueError("it lacks the mapping `clouds`")
    if clouds.get(name) is not None and _identity(clouds[name]) != _identity(entry):
        raise ValueError(f"its cloud {name} has another address or account; choose another name, or remove that cloud")
    return {**there, "clouds": {**clouds, name: dict(entry)}}


def _identity(entry: Any) -> dict[str, Any] | None:
    """The endpoint and the account, without passwords and CAs, which are renewed."""
    auth = entry.get("auth") if isinstance(entry, Mapping) else None
    return {key: value for key, value in auth.items() if key != "password"} if isinstance(auth, Mapping) else None


def openrc(access: Access, ca_file: str) -> str:
    """Shell lines that export the OS_* variables."""
    variables = {
        "OS_AUTH_URL": access.auth_url,
        **{f"OS_{key.upper()}": value for key, value in access.auth.items()},
        "OS_REGION_NAME": access.region,
        "OS_INTERFACE": "public",
        "OS_IDENTITY_API_VERSION": "3",
        "OS_CACERT": ca_file,
    }
    # OS_CLOUD takes precedence over all of these variables.
    return "unset OS_CLOUD\n" + "".join(f"export {key}={shlex.quote(value)}\n" for key, value in variables.items())
