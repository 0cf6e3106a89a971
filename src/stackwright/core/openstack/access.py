"""How somebody outside the cluster uses a cloud: public addresses over TLS, in the forms that clients read. Pure.

The password and the authority's certificate come from Secrets of the cloud's namespace. Whoever prints what is made
here prints the password; nothing here does.
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
NEEDED = ("username", "password", "project_name", "user_domain_name", "project_domain_name")

# The word for a service in an OpenStackDeployment → its public host, and what answers there without a token.
PUBLIC = {
    "identity": ("keystone", "/v3"),
    "image": ("glance", "/"),
    "placement": ("placement", "/"),
    "compute": ("nova", "/"),
    "networking": ("neutron", "/"),
    "block-storage": ("cinder", "/"),
    "object-storage": ("object-store", "/"),
    "dashboard": ("horizon", "/"),
}


class NoAccess(Exception):
    """The cloud cannot be used from outside; the text says why."""


@dataclass(frozen=True)
class Access:
    """domain    of the public endpoints: https://<service>.<domain>
    auth      what Keystone asks for: username, password, project_name, user_domain_name, project_domain_name
    ca        certificate of the authority, PEM
    services  the cloud's services, by their words
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
    """From an OpenStackDeployment and the data of two Secrets. Raises NoAccess that names what is not there."""
    name = "/".join((cloud["metadata"]["namespace"], cloud["metadata"]["name"]))
    if missing := [key for key in NEEDED if not admin.get(key)]:
        lacks = f"Secret {ADMIN_SECRET} lacks {', '.join(missing)}" if admin else f"there is no Secret {ADMIN_SECRET}"
        raise NoAccess(f"Cloud {name} has no administrator yet: {lacks}")
    if not tls.get(CA_KEY):
        raise NoAccess(
            f"Cloud {name} has no public endpoints: Secret {TLS_SECRET} has no {CA_KEY}; service `ingress` makes them"
        )
    return Access(
        domain=cloud["spec"].get("public_domain_name") or "it.just.works",
        auth={key: admin[key] for key in NEEDED},
        region=admin.get("region_name") or cloud["spec"].get("region_name") or "RegionOne",
        ca=tls[CA_KEY],
        services=frozenset((cloud.get("status") or {}).get("services") or ()),
    )


def clouds_entry(access: Access, ca_file: str) -> dict[str, Any]:
    """One cloud of a clouds.yaml."""
    return {
        "auth": {"auth_url": access.auth_url, **access.auth},
        "region_name": access.region,
        "interface": "public",
        "identity_api_version": 3,
        "cacert": ca_file,
    }


def inside(access: Access, namespace: str) -> dict[str, Any]:
    """The same for whoever is in the cluster, by the services' own addresses."""
    return {
        "auth": {"auth_url": f"http://keystone-api.{namespace}.svc:5000/v3", **access.auth},
        "region_name": access.region,
        "interface": "internal",
        "identity_api_version": 3,
    }


_INSIDE = re.compile(r"https?://keystone-api\.([a-z0-9-]+)\.svc(\.[a-z0-9.-]+)?(:\d+)?(/.*)?")


def namespace_of(entry: Mapping[str, Any]) -> str:
    """Of the cloud whose address in the cluster an entry of a clouds.yaml has; empty if it is another address."""
    found = _INSIDE.fullmatch(str(entry["auth"].get("auth_url", "")))
    return found[1] if found else ""


def outward(entry: Mapping[str, Any], access: Access) -> dict[str, Any]:
    """The same credentials for whoever is outside of the cluster, by the public endpoints."""
    kept = {name: value for name, value in entry.items() if name not in ("endpoint_type", "insecure", "verify")}
    return {**kept, "auth": {**entry["auth"], "auth_url": access.auth_url}, "interface": "public"}


def with_cloud(existing: Any, name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """A clouds.yaml with this cloud set and every other kept.

    Raises ValueError for what is no clouds.yaml, and for one where the name is that of another cloud or account.
    """
    there = {} if existing is None else existing
    if not isinstance(there, dict) or not isinstance(clouds := there.get("clouds") or {}, dict):
        raise ValueError("it has no mapping `clouds`")
    if clouds.get(name) is not None and _identity(clouds[name]) != _identity(entry):
        raise ValueError(f"cloud {name} in it has another address or account; choose another name, or take it out")
    return {**there, "clouds": {**clouds, name: dict(entry)}}


def _identity(entry: Any) -> dict[str, Any] | None:
    """Where it is, and who: what stays when a password or an authority is renewed."""
    auth = entry.get("auth") if isinstance(entry, Mapping) else None
    return {key: value for key, value in auth.items() if key != "password"} if isinstance(auth, Mapping) else None


def openrc(access: Access, ca_file: str) -> str:
    """Lines for a shell."""
    variables = {
        "OS_AUTH_URL": access.auth_url,
        **{f"OS_{key.upper()}": value for key, value in access.auth.items()},
        "OS_REGION_NAME": access.region,
        "OS_INTERFACE": "public",
        "OS_IDENTITY_API_VERSION": "3",
        "OS_CACERT": ca_file,
    }
    # A cloud that was chosen before by its name would win over all of these.
    return "unset OS_CLOUD\n" + "".join(f"export {key}={shlex.quote(value)}\n" for key, value in variables.items())
