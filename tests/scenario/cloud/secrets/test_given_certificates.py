"""Certificates as text in the spec of a cloud reach the ingress by a Secret, and no other object contains them."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from stackwright.admission.validate import errors_of
from stackwright.api.kinds import SECRET
from stackwright.api.secrecy import blanked
from stackwright.cli.manifests.load import BadManifest, load
from stackwright.cli.ui.steps import lines as lines_of
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.cloud.decide import decide
from stackwright.controllers.cloud.observe import Observed
from stackwright.core.objects import belongs, secret_data
from stackwright.core.secrets.writes import ExtractSecret
from stackwright.forecast.plan import forecast
from stackwright.forecast.simulate import Request
from stackwright.runtime import x509 as made
from stackwright.services.context import PUBLIC_TLS
from stackwright.services.ingress.features import GIVEN
from stackwright.services.ingress.kind import Ingress
from tests.scenario.world import NAMESPACE, SETTINGS, World, cloud_object, ready_world

pytestmark = pytest.mark.looptime
NOW = 1_700_000_000.0


def given(name: str = "it.just.works") -> dict[str, str]:
    """Certificates as in a manifest of an existing cloud."""
    issuer = made.authority(f"authority of {name}", NOW)
    issued, _ = made.issue(issuer, (f"*.{name}",), (), NOW)
    return {"ca_cert": issuer["ca.crt"], "api_cert": issued["tls.crt"] + issuer["ca.crt"], "api_key": issued["tls.key"]}


def spec(endpoints: Any) -> dict[str, Any]:
    return {"whole": True, "features": {"ssl": {"public_endpoints": endpoints}}}


def served(world: World) -> dict[str, str]:
    data = secret_data(world.get(SECRET, PUBLIC_TLS))
    return {"ca_cert": data["ca.crt"], "api_cert": data["tls.crt"], "api_key": data["tls.key"]}


def lines(*certificates: dict[str, str]) -> set[str]:
    """Lines of PEM, which identify a text in any form."""
    every = [line for each in certificates for text in each.values() for line in text.splitlines()]
    return {line for line in every if len(line) > 20 and not line.startswith("-----")}


def leaks(text: str, *certificates: dict[str, str]) -> list[str]:
    return [line for line in lines(*certificates) if line in text]


def everything(world: World) -> str:
    """Text of everything outside Secrets: objects without the spec that a user wrote, Events, and Helm's values."""
    kept = []
    for (kind, _), obj in world.cluster._objects.items():
        if kind == OpenStackDeployment.KIND:
            obj = {name: value for name, value in obj.items() if name != "spec"}
        if kind != SECRET or obj["metadata"].get("labels", {}).get("owner") == "helm":
            kept.append(json.dumps(obj, default=str))
    return "\n".join([*kept, str(world.cluster.events), str(vars(world.helm))])


async def test_a_certificate_in_the_spec_is_served_and_is_nowhere_but_in_secrets() -> None:
    first = given()
    with structlog.testing.capture_logs() as log:
        world = await ready_world(whole=True)
        world.cloud(**spec(first))
        await world.settle()
    assert world.ready()
    assert served(world) == first
    secret = world.get(SECRET, GIVEN)
    assert belongs(secret, world.osdpl["metadata"]["uid"])
    assert sorted(secret_data(secret).values()) == sorted(first.values())
    names = {each["value_from"]["secret_key_ref"]["name"] for each in endpoints(world).values()}
    assert names == {GIVEN}
    assert leaks(json.dumps(first), first)  # the search finds existing objects
    assert not leaks(everything(world), first)
    assert log and not leaks(str(log), first)


def endpoints(world: World) -> dict[str, Any]:
    return dict(world.get(Ingress.KIND, "ingress")["spec"]["settings"]["public_endpoints"])


async def test_another_certificate_is_served_at_once_and_the_old_one_is_deleted() -> None:
    world = await ready_world(whole=True)
    first, second = given(), given()
    world.cloud(**spec(first))
    await world.settle()
    world.cloud(**spec(second))
    await world.run(20)
    assert served(world) == second
    assert sorted(secret_data(world.get(SECRET, GIVEN)).values()) == sorted(second.values())
    await world.settle()
    assert world.ready()
    assert not leaks(everything(world), first, second)


async def test_a_certificate_of_a_rejected_update_is_not_used_either() -> None:
    """No service applies a part of the update, which would cost the database its majority."""

    def with_servers(count: int, certificate: dict[str, str]) -> dict[str, Any]:
        servers = {"database": {"mariadb": {"values": {"pod": {"replicas": {"server": count}}}}}}
        return {**spec(certificate), "services": servers}

    world, first, second = World(), given(), given("another")
    world.cloud(**with_servers(3, first))
    await world.settle()
    before = world.get(SECRET, GIVEN)
    for update in (with_servers(1, second), {**with_servers(1, first), "features": {}}):
        world.cloud(**update)
        await world.settle()
        assert world.condition()[1] == "BlockedWouldLoseMajority"
        assert world.get(SECRET, GIVEN) == before and served(world) == first
    world.cloud(**with_servers(3, second))
    await world.settle()
    assert world.ready() and served(world) == second


async def test_a_certificate_that_leaves_the_spec_leaves_the_cluster() -> None:
    world = await ready_world(whole=True)
    first = given()
    world.cloud(**spec(first))
    await world.settle()
    world.secret("mine", **first)
    keys = {field: {"value_from": {"secret_key_ref": {"name": "mine", "key": field}}} for field in first}
    world.cloud(**spec({**first, "ca_cert": keys["ca_cert"]}))  # one of each kind
    await world.settle()
    assert served(world) == first
    assert len(secret_data(world.get(SECRET, GIVEN))) == 2
    world.cloud(**spec(keys))
    await world.settle()
    assert world.ready() and served(world) == first
    assert world.get(SECRET, GIVEN) is None


async def test_a_deleted_or_edited_secret_is_restored() -> None:
    world = await ready_world(whole=True)
    first = given()
    world.cloud(**spec(first))
    await world.settle()
    world.cluster.remove(SECRET, (NAMESPACE, GIVEN))
    await world.run(20)
    assert sorted(secret_data(world.get(SECRET, GIVEN)).values()) == sorted(first.values())


def test_a_support_bundle_contains_no_certificate_text() -> None:
    assert not leaks(json.dumps(blanked(cloud_object(**spec(GOOD)))), GOOD)


RSA = rsa.generate_private_key(65537, 2048)


def pem(key: Any, passphrase: bytes | None = None) -> str:
    how = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    text: bytes = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, how)
    return text.decode()


def self_signed(key: Any) -> str:
    from cryptography.hazmat.primitives import hashes

    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "*.it.just.works")])
    start = datetime.datetime(2026, 1, 1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, start, start + datetime.timedelta(days=9))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


GOOD = given()
OTHER = given()
WRONG = [
    ({"api_key": OTHER["api_key"]}, ["api_key: does not match api_cert"]),
    ({"api_key": pem(RSA)}, ["api_key: does not match api_cert"]),
    ({"api_key": pem(RSA, b"word")}, ["api_key: must be a private key"]),
    ({"api_key": GOOD["api_cert"]}, ["api_key: must be a private key"]),
    ({"api_key": "s3cret-word"}, ["api_key: must be a private key"]),
    ({"api_key": ""}, ["api_key: must be a private key"]),
    ({"api_cert": "s3cret-word", "ca_cert": "s3cret-word"}, ["ca_cert: must be one or more", "api_cert: must be"]),
    ({"api_cert": GOOD["api_cert"].replace("M", "N", 3)}, ["api_cert: must be one or more certificates"]),
    ({"ca_cert": GOOD["ca_cert"] + GOOD["api_key"]}, ["ca_cert: must be one or more certificates"]),
    ({"ca_cert": GOOD["ca_cert"] * 200}, ["ca_cert: must be one or more certificates"]),
    ({"ca_cert": "\ud800"}, ["ca_cert: must be one or more certificates"]),
    ({"ca_cert": None}, ["ca_cert: is required"]),
    ({"api_key": 5}, ["api_key: "]),
]


@pytest.mark.parametrize(("changed", "told"), WRONG)
async def test_an_invalid_certificate_is_rejected_by_field_without_its_text(
    changed: dict[str, Any], told: list[str]
) -> None:
    obj = {"kind": "OpenStackDeployment", **cloud_object(**spec({**GOOD, **changed}))}
    found = errors_of(obj)
    assert len(found) == len(told), found
    for line, start in zip(found, told, strict=True):
        assert line.startswith(f"spec.features.ssl.public_endpoints.{start}")
    assert not leaks("".join(found), GOOD, OTHER) and "s3cret" not in "".join(found)


async def test_an_existing_invalid_certificate_is_reported_without_its_text() -> None:
    world = await ready_world(whole=True)
    wrong = cloud_object(**spec({**GOOD, "api_key": OTHER["api_key"]}))["spec"]
    plan = decide(Observed(SETTINGS, {**world.osdpl, "spec": wrong}))
    (ready, *_) = plan.conditions
    assert (ready.reason, plan.actions) == ("BlockedInvalidSpec", ())
    assert "api_key: does not match api_cert" in ready.message
    assert not leaks(str(plan), GOOD, OTHER)


async def test_no_action_contains_a_certificate_text() -> None:
    world = await ready_world(whole=True)
    plan = decide(Observed(SETTINGS, {**world.osdpl, "spec": cloud_object(**spec(GOOD))["spec"]}))
    assert any(isinstance(action, ExtractSecret) for action in plan.actions)
    assert not leaks(str(plan) + "".join(map(repr, plan.actions)), GOOD)


def test_the_command_line_reads_and_checks_such_a_manifest(tmp_path: Path) -> None:
    manifest = {"apiVersion": "lcm.mirantis.com/v1alpha1", "kind": "OpenStackDeployment", **cloud_object(**spec(GOOD))}
    path = tmp_path / "cloud.yaml"
    path.write_text(yaml.safe_dump(manifest))
    (found,) = load(path, NAMESPACE)
    assert found.obj["spec"] == manifest["spec"]
    path.write_text(yaml.safe_dump({**manifest, "spec": cloud_object(**spec({**GOOD, "api_key": "word"}))["spec"]}))
    with pytest.raises(BadManifest, match="api_key: must be a private key") as told:
        load(path, NAMESPACE)
    assert not leaks(str(told.value), GOOD)


async def test_a_plan_names_the_secret_and_shows_no_text() -> None:
    world = await ready_world(whole=True)
    for before, after in ((None, GOOD), (GOOD, OTHER)):
        if before:
            world.cloud(**spec(before))
            await world.settle()
        request = Request(NAMESPACE, ((OpenStackDeployment.KIND, cloud_object(**spec(after))),))
        found, stuck = await forecast(world.cluster, SETTINGS, request, world.clock.now())
        assert not stuck
        told = json.dumps([entry.as_dict() for entry in found])
        assert f"Secret {NAMESPACE}/{GIVEN}" in told and "features.ssl.public_endpoints.api_key" in told
        assert not leaks(told + str(lines_of(found, full=True)), GOOD, OTHER)


@pytest.mark.parametrize("key", [RSA, ec.generate_private_key(ec.SECP384R1())])
def test_certificates_of_others_are_accepted_as_they_are(key: Any) -> None:
    text = self_signed(key)
    endpoints = {"ca_cert": f"# ours\n{text}\n", "api_cert": text.strip(), "api_key": pem(key)}
    assert errors_of({"kind": "OpenStackDeployment", **cloud_object(**spec(endpoints))}) == []


def test_an_ingress_without_a_cloud_accepts_only_references() -> None:
    from stackwright.services.ingress.features import IngressSettings

    with pytest.raises(ValueError, match="api_key"):
        IngressSettings.model_validate({"public_endpoints": GOOD})
