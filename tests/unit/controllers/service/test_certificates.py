"""Certificates of a service: issued, renewed before they end, or the user's own, which is waited for by name."""

import base64

import pytest
from cryptography.x509 import ExtendedKeyUsage, load_pem_x509_certificate
from cryptography.x509.oid import ExtendedKeyUsageOID

from stackwright.api.kinds import NODE, SECRET
from stackwright.controllers.service.decide import CLOCK, POLL, REFRESH
from stackwright.core.digest import digest
from stackwright.core.objects import DIGEST, EXPIRES, secret_data
from stackwright.core.plan import Apply
from stackwright.core.secrets import certificate_validity
from stackwright.core.secrets.writes import EnsureCertificate, GatherSecret
from stackwright.runtime import x509
from stackwright.services import ingress, nova
from stackwright.services.context import PLACES
from tests.unit.controllers.builders import NAMESPACE, condition
from tests.unit.controllers.service.stage import Stage

DAY = 24 * 3600.0
TLS = (NAMESPACE, "openstack-public-tls")
FIELDS = {"ca_cert": "ca.pem", "api_cert": "cert.pem", "api_key": "key.pem"}


DOMAIN = {"publicDomain": "cloud.example"}


def own(name="mine"):
    keys = {field: {"value_from": {"secret_key_ref": {"name": name, "key": key}}} for field, key in FIELDS.items()}
    return {**DOMAIN, "settings": {"ingress": True, "public_endpoints": keys}}


def put(stage, name="mine", **data):
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
    before = stage.cluster.peek(SECRET, (NAMESPACE, name)) or {"metadata": {"namespace": NAMESPACE, "name": name}}
    stage.cluster.put(SECRET, {**before, "data": encoded})


def issues(plan):
    return [action for action in plan.actions if isinstance(action, EnsureCertificate | GatherSecret)]


def releases(plan):
    return [action for action in plan.actions if isinstance(action, Apply) and action.kind.kind == "HelmBundle"]


async def test_it_is_issued_before_the_release_and_kept_until_its_renewal():
    stage = Stage(ingress.SERVICE, spec=DOMAIN)
    first = await stage.do()
    assert [str(action) for action in issues(first)] == [
        "certificate openstack/openstack-public-tls for *.cloud.example"
    ]
    assert condition(first, "Certificates").status is False
    assert not releases(first)
    second = await stage.do()
    assert condition(second, "Certificates").status is True
    assert not issues(second) and releases(second)
    assert second.requeue == CLOCK


async def test_a_certificate_is_renewed_ninety_days_before_its_expiry_with_the_same_ca():
    stage = Stage(ingress.SERVICE, spec=DOMAIN)
    await stage.do()
    before = secret_data(stage.cluster.peek(SECRET, TLS))
    stage.clock.forward(365 * DAY - certificate_validity.BEFORE - 1)
    assert not issues(await stage.plan())
    stage.clock.forward(2)
    assert issues(await stage.do())
    after = secret_data(stage.cluster.peek(SECRET, TLS))
    assert after["tls.crt"] != before["tls.crt"]
    assert after["ca.crt"] == before["ca.crt"]
    assert not issues(await stage.plan())


async def test_a_certificate_from_a_clock_that_was_ahead_is_reissued():
    """It was not valid yet, and would have been renewed 90 days before its end."""
    stage = Stage(ingress.SERVICE, spec=DOMAIN)
    stage.clock.forward(2 * 3600)
    assert issues(await stage.do())
    assert not issues(await stage.plan())
    trusted = secret_data(stage.cluster.peek(SECRET, TLS))["ca.crt"]
    stage.clock.forward(-2 * 3600)
    assert not x509.serves(secret_data(stage.cluster.peek(SECRET, TLS)), "a.cloud.example", stage.clock.now())
    assert issues(await stage.do())
    assert x509.serves(secret_data(stage.cluster.peek(SECRET, TLS)), "a.cloud.example", stage.clock.now())
    assert secret_data(stage.cluster.peek(SECRET, TLS))["ca.crt"] == trusted
    assert not issues(await stage.plan())


async def test_a_clock_that_differs_by_less_than_certificates_allow_for_changes_nothing():
    stage = Stage(ingress.SERVICE, spec=DOMAIN)
    await stage.do()
    stage.clock.forward(-certificate_validity.EARLIER + 1)
    assert x509.serves(secret_data(stage.cluster.peek(SECRET, TLS)), "a.cloud.example", stage.clock.now())
    assert not issues(await stage.plan())


async def test_a_certificate_for_other_names_is_reissued():
    stage = Stage(ingress.SERVICE, spec=DOMAIN)
    await stage.do()
    live = stage.cluster.peek(ingress.SERVICE.kind, (NAMESPACE, "ingress"))
    stage.cluster.put(ingress.SERVICE.kind, {**live, "spec": {**live["spec"], "publicDomain": "other.example"}})
    assert [str(action) for action in issues(await stage.plan())] == [
        "certificate openstack/openstack-public-tls for *.other.example"
    ]


async def test_a_certificate_contains_its_purpose_and_an_older_one_is_reissued():
    for declared, name, subject, client in (
        (nova.SERVICE, "libvirt-tls", "CN=stackwright-libvirt", True),
        (nova.SERVICE, "libvirt-qemu-tls", "CN=stackwright-qemu", True),
        (ingress.SERVICE, "openstack-public-tls", "CN=*.cloud.example", False),
    ):
        stage = Stage(declared, spec=DOMAIN)
        await stage.do()
        own = load_pem_x509_certificate(secret_data(stage.cluster.peek(SECRET, (NAMESPACE, name)))["tls.crt"].encode())
        assert own.subject.rfc4514_string() == subject
        uses = own.extensions.get_extension_for_class(ExtendedKeyUsage).value
        assert (ExtendedKeyUsageOID.CLIENT_AUTH in uses) is client
        seen = await stage.look()
        (wanted,) = [each for each in declared.certificates(seen.context) if each.name == name]
        live = stage.cluster.peek(SECRET, (NAMESPACE, name))
        live["metadata"]["annotations"][DIGEST] = digest(wanted.names, wanted.addresses, seen.obj["metadata"]["uid"])
        stage.cluster.put(SECRET, live)
        assert [action.key[1] for action in issues(await stage.plan())] == [name]


@pytest.mark.parametrize("note", ["", "soon", "nan"])
async def test_an_unreadable_expiry_is_checked_again_and_does_not_stop_the_service(note):
    stage = Stage(ingress.SERVICE, spec=DOMAIN)
    await stage.do()
    live = stage.cluster.peek(SECRET, TLS)
    live["metadata"]["annotations"][EXPIRES] = note
    stage.cluster.put(SECRET, live)
    plan = await stage.plan()
    assert condition(plan, "Certificates").status is True
    assert plan.requeue == REFRESH


async def test_the_users_own_is_waited_for_with_each_missing_key_by_name():
    stage = Stage(ingress.SERVICE, spec=own())
    put(stage, **{"cert.pem": "CERT"})
    plan = await stage.do()
    stage_of = condition(plan, "Certificates")
    assert stage_of.reason == "BlockedMissingSecret"
    assert "key ca.pem of Secret openstack/mine, key key.pem of Secret openstack/mine" in stage_of.message
    assert "cert.pem" not in stage_of.message
    assert plan.requeue == POLL
    assert not issues(plan) and not releases(plan)


async def test_the_users_certificate_is_copied_and_a_new_one_replaces_it():
    stage = Stage(ingress.SERVICE, spec=own())
    put(stage, **{"ca.pem": "CA", "cert.pem": "CERT", "key.pem": "KEY"})
    await stage.do()
    assert secret_data(stage.cluster.peek(SECRET, TLS)) == {"ca.crt": "CA", "tls.crt": "CERT", "tls.key": "KEY"}
    assert stage.cluster.peek(SECRET, (NAMESPACE, "openstack-ca")) is None
    plan = await stage.do()
    assert releases(plan) and plan.requeue == REFRESH, "Secrets of users are not watched"
    put(stage, **{"ca.pem": "CA", "cert.pem": "NEW", "key.pem": "KEY"})
    await stage.do()
    assert secret_data(stage.cluster.peek(SECRET, TLS))["tls.crt"] == "NEW"
    assert not issues(await stage.plan())


async def test_all_hypervisors_share_two_certificates_and_without_them_none_is_issued():
    stage = Stage(nova.SERVICE)
    node = {"metadata": {"name": "m", "labels": dict(PLACES)}}
    stage.cluster.put(NODE, {**node, "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.7"}]}})
    assert [str(action) for action in issues(await stage.do())] == [
        "certificate openstack/libvirt-tls for m, n, 10.0.0.7",
        "certificate openstack/libvirt-qemu-tls for m, n, 10.0.0.7",
        "certificate openstack/nova-novncproxy-tls for nova-novncproxy",
    ]
    nowhere = await Stage(nova.SERVICE, node=False).plan()
    assert not issues(nowhere)
    assert "Certificates" not in [c.type for c in nowhere.conditions]
