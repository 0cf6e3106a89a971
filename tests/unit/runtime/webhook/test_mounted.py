"""A certificate of another issuer: served as it is mounted, and trusted before it is served."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509 as library
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from structlog.testing import capture_logs

from stackwright.runtime import x509
from stackwright.runtime.webhook import mounted
from stackwright.runtime.webhook.certificate import CONFIGURATION, EVERY, FOLLOW, NAME, SETTLE, Certificate
from tests.unit.runtime.webhook.test_certificate import DAY, HOST, LATENCY, NAMESPACE, World, issued, served

pytestmark = pytest.mark.looptime


class Mounted(World):
    """The operator's files are in `folder`, the Secret is mounted in `given`."""

    trusts = True

    def start(self) -> Certificate:
        self.given = self.folder / "mounted"
        self.given.mkdir(exist_ok=True)
        (own := self.folder / "own").mkdir(exist_ok=True)
        return Certificate(self.cluster, NAMESPACE, own, self.clock, self.given, self.trusts)

    def mount(self, data: dict[str, str]) -> dict[str, str]:
        for path in self.given.iterdir():
            path.unlink()
        for name, text in data.items():
            (self.given / name).write_text(text)
        return data

    def shows(self, data: dict[str, str]) -> bool:
        return served(self.own.context) == library.load_pem_x509_certificate(data["tls.crt"].encode())


class Foreign(Mounted):
    trusts = False


@pytest.fixture
def world(tmp_path: Path) -> Mounted:
    return Mounted(tmp_path)


async def test_the_mounted_certificate_is_served_and_its_authority_trusted(world: Mounted) -> None:
    data = world.mount(issued(world.clock.now()))
    await world.own.ensure()
    assert world.own.served and world.shows(data)
    assert world.trusted() == {data["ca.crt"]}
    assert [write.kind for write in world.cluster.writes] == [CONFIGURATION], "no Secret is written"


async def test_a_new_one_is_trusted_before_it_is_served(world: Mounted) -> None:
    """Also by API servers that notice the configuration late."""
    world.mount(issued(world.clock.now()))
    await world.own.ensure()
    keeping = asyncio.create_task(world.own.keep())
    await asyncio.sleep(1)
    new = world.mount(issued(world.clock.now()))
    read, both = [world.trusted()], False
    for _ in range(int(2 * FOLLOW + SETTLE)):
        await asyncio.sleep(1)
        read = [*read, world.trusted()][-int(LATENCY) :]
        assert all(world.accepts(trusted) for trusted in read)
        both = both or any(bundle.count("BEGIN") == 2 for bundle in read[-1])
    keeping.cancel()
    assert both and world.shows(new)
    assert world.trusted() == {new["ca.crt"]}


async def test_files_without_a_line_break_at_their_end_make_a_bundle(world: Mounted) -> None:
    for _ in range(2):
        world.mount({name: text.strip() for name, text in issued(world.clock.now()).items()})
        await world.own.ensure()
        assert all(world.accepts({bundle}) for bundle in world.trusted())


async def test_intermediate_certificates_are_accepted(world: Mounted) -> None:
    now = world.clock.now()
    root, data = chained(now)
    world.mount(data)
    await world.own.ensure()
    assert world.own.served
    assert world.trusted() == {root}


def chained(now: float) -> tuple[str, dict[str, str]]:
    """A root, and a certificate which an intermediate CA has issued."""
    root, middle = (x509.authority(name, now) for name in ("root", "middle"))
    key = serialization.load_pem_private_key(root["ca.key"].encode(), None)
    of = library.load_pem_x509_certificate(root["ca.crt"].encode())
    own = library.load_pem_x509_certificate(middle["ca.crt"].encode())
    builder = library.CertificateBuilder(of.subject, own.subject, own.public_key(), own.serial_number)
    builder = builder.not_valid_before(own.not_valid_before_utc).not_valid_after(own.not_valid_after_utc)
    constraints = library.BasicConstraints(True, 0)
    builder = builder.add_extension(constraints, critical=True)
    usage = own.extensions.get_extension_for_class(library.KeyUsage).value
    builder = builder.add_extension(usage, critical=True)
    identifier = library.AuthorityKeyIdentifier.from_issuer_public_key(of.public_key())
    builder = builder.add_extension(identifier, critical=False)
    builder = builder.add_extension(library.SubjectKeyIdentifier.from_public_key(own.public_key()), critical=False)
    signed = builder.sign(key, hashes.SHA256())  # type: ignore[arg-type]
    text = signed.public_bytes(serialization.Encoding.PEM).decode()
    # the root may have one CA below it
    anchor = library.CertificateBuilder(of.subject, of.subject, of.public_key(), of.serial_number)
    anchor = anchor.not_valid_before(of.not_valid_before_utc).not_valid_after(of.not_valid_after_utc)
    anchor = anchor.add_extension(library.BasicConstraints(True, 1), critical=True).add_extension(usage, critical=True)
    anchor = anchor.add_extension(library.SubjectKeyIdentifier.from_public_key(of.public_key()), critical=False)
    signed = anchor.sign(key, hashes.SHA256())  # type: ignore[arg-type]
    top = signed.public_bytes(serialization.Encoding.PEM).decode()
    leaf, _ = x509.issue({**middle, "ca.crt": text}, [HOST], [], now)
    return top, {**leaf, "tls.crt": leaf["tls.crt"] + text, "ca.crt": top}


def short(now: float) -> dict[str, str]:
    """A key that OpenSSL refuses to serve."""
    key = rsa.generate_private_key(65537, 1024)
    name = library.Name([])
    builder = library.CertificateBuilder(name, name, key.public_key(), 1)
    template = library.load_pem_x509_certificate(issued(now)["tls.crt"].encode())
    builder = builder.not_valid_before(template.not_valid_before_utc).not_valid_after(template.not_valid_after_utc)
    made = builder.sign(key, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    text = made.public_bytes(serialization.Encoding.PEM).decode()
    return {"tls.crt": text, "tls.key": private.decode(), "ca.crt": text}


BAD: dict[str, tuple[Any, str]] = {
    "nothing": (lambda now: {}, "tls.crt, tls.key, ca.crt is missing"),
    "without a CA": (lambda now: {**issued(now), "ca.crt": ""}, "ca.crt is missing"),
    "the key of another": (lambda now: {**issued(now), "tls.key": issued(now)["tls.key"]}, "not a certificate and its"),
    "of another server": (lambda now: issued(now, name="example.org"), f"for a server named {HOST}"),
    "ended": (lambda now: issued(now - 400 * DAY), f"for a server named {HOST}"),
    "of another CA": (lambda now: {**issued(now), "ca.crt": issued(now)["ca.crt"]}, "no client that trusts ca.crt"),
    "a short key": (short, "OpenSSL refuses tls.crt or tls.key: EE_KEY_TOO_SMALL"),
    "no text": (lambda now: {**issued(now), "tls.crt": "ä"}, "tls.crt is missing or no text"),
}


@pytest.mark.parametrize("bad", BAD)
async def test_an_unusable_one_is_named_and_replaces_nothing(world: Mounted, bad: str) -> None:
    """The operator reconciles nevertheless, and serves the next usable one within seconds."""
    make, problem = BAD[bad]
    world.mount(make(world.clock.now()))
    with capture_logs() as logs:
        await world.own.ensure()
        keeping = asyncio.create_task(world.own.keep())
        await asyncio.sleep(60)
    assert not world.own.served and not world.cluster.writes
    assert len(logs) == 1 and problem in logs[0]["problem"]
    good = world.mount(issued(world.clock.now()))
    await asyncio.sleep(2 * FOLLOW)
    assert world.shows(good)
    world.mount(make(world.clock.now()))
    await asyncio.sleep(EVERY + FOLLOW)
    assert world.shows(good) and world.accepts(world.trusted())
    keeping.cancel()


async def test_an_operator_that_waits_serves_it_when_it_is_trusted(world: Mounted) -> None:
    data = world.mount(issued(world.clock.now()))
    following = asyncio.create_task(world.own.keep())
    await asyncio.sleep(60)
    assert not world.own.served and not world.cluster.writes
    (folder := world.folder / "holder").mkdir()
    await Certificate(world.cluster, NAMESPACE, folder, world.clock, world.given).ensure()
    await asyncio.sleep(2 * FOLLOW)
    assert world.shows(data)
    following.cancel()


async def test_where_others_write_the_bundle_the_configuration_is_neither_read_nor_written(tmp_path: Path) -> None:
    """And the certificate needs no ca.crt."""
    world = Foreign(tmp_path)
    before = world.cluster.peek(CONFIGURATION, ("", NAME))
    world.mount({})
    await world.own.ensure()
    assert not world.own.served
    keeping = asyncio.create_task(world.own.keep())
    for _ in range(2):
        first = world.mount({k: v for k, v in issued(world.clock.now()).items() if k != "ca.crt"})
        await asyncio.sleep(2 * FOLLOW)
        assert world.shows(first)
    keeping.cancel()
    assert world.cluster.peek(CONFIGURATION, ("", NAME)) == before and not world.cluster.writes


async def test_a_waiting_operator_follows_what_others_write(tmp_path: Path) -> None:
    world = Foreign(tmp_path)
    following = asyncio.create_task(world.own.keep())
    for _ in range(2):
        data = world.mount(issued(world.clock.now()))
        await asyncio.sleep(3 * FOLLOW)
        assert world.shows(data)
    following.cancel()


def test_a_large_file_is_read_in_part(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_text("x" * (mounted.LARGEST + 5))
    assert len(mounted.read(tmp_path)["tls.crt"]) == mounted.LARGEST + 1
