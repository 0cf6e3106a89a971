"""KeystoneService: a service, its endpoints and its user in a Keystone."""

from __future__ import annotations

from stackwright.api.services.contracts import KeystoneService, KeystoneServiceSpec
from stackwright.controllers.contract.database import host
from stackwright.controllers.contract.objects import Contract, Raw
from stackwright.core.objects import mapping
from stackwright.core.plan.accounts import TRUSTEE_PASSWORD, EnsureIdentityAccount
from stackwright.core.secrets.filling import literal
from stackwright.services.keystone.kind import Keystone
from stackwright.services.keystone.values import ADMIN_SECRET, PORT

LOGIN = """\
auth_type = password
auth_url = {auth_url}
username = {username}
password = {password}
project_name = service
user_domain_name = Default
project_domain_name = Default
region_name = {region_name}
"""
# Each service encrypts its cached tokens in memcached with its own key, so no service can forge tokens for another.
CACHE = "memcache_security_strategy = ENCRYPT\nmemcache_secret_key = {cache_key}\n"
AUTHTOKEN = f"[keystone_authtoken]\nwww_authenticate_uri = {{auth_url}}\n{CACHE}{LOGIN}"
# Heat's names of the options. A login with a trust must not name a project, because the trust does.
TRUSTEE = """\
[DEFAULT]
stack_user_domain_name = {domain}
stack_domain_admin = {trustee}
stack_domain_admin_password = {trustee_password}

[trustee]
auth_type = password
auth_url = {auth_url}
username = {username}
password = {password}
user_domain_name = Default
"""


def _templates(spec: KeystoneServiceSpec) -> dict[str, str]:
    logins = "\n".join(f"[{literal(section)}]\n{LOGIN}" for section in spec.sections)
    trustee = {"trustee.conf": TRUSTEE} if spec.trustee else {}
    return {"keystone_authtoken.conf": AUTHTOKEN, "auth.conf": logins, **trustee}


def _fixed(spec: KeystoneServiceSpec, namespace: str) -> dict[str, str]:
    return {
        "username": spec.username,
        "auth_url": f"http://{host('keystone-api', namespace)}:{PORT}/v3",
        "region_name": spec.region,
        **({"domain": spec.trustee.domain, "trustee": spec.trustee.username} if spec.trustee else {}),
    }


def _generated(spec: KeystoneServiceSpec) -> tuple[str, ...]:
    return ("password", "cache_key", *([TRUSTEE_PASSWORD] if spec.trustee else []))


def _action(spec: KeystoneServiceSpec, namespace: str, absent: bool) -> EnsureIdentityAccount:
    return EnsureIdentityAccount(
        admin_secret=(namespace, ADMIN_SECRET),
        spec=spec.model_dump(by_alias=True),
        secret=(namespace, spec.secret_name),
        absent=absent,
    )


def _claims(spec: Raw) -> tuple[str, ...]:
    """Keystone stores names in MariaDB, which ignores case when it compares them."""
    where = f"of Keystone {spec.get('instance')}"
    trustee = mapping(spec.get("trustee"))
    return (
        *([f"domain {str(trustee.get('domain')).casefold()} {where}"] if trustee else []),
        f"user {str(spec.get('username')).casefold()} {where}",
        f"service {spec.get('serviceType')}/{str(spec.get('serviceName')).casefold()} {where}",
    )


IDENTITY = Contract(
    name="identity",
    kind=KeystoneService.KIND,
    instance_kind=Keystone.KIND,
    spec=KeystoneServiceSpec,
    fixed=_fixed,
    templates=_templates,
    action=_action,
    claims=_claims,
    generated=_generated,
    revision=("roles",),  # roles that the spec no longer names are revoked
)
