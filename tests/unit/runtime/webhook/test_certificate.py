"""The admission webhook's certificate: an API server that knows only the configuration accepts it at any time."""

from __future__ import annotations

import asyncio
import base64
import datetime
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509 as library
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from stackwright import main
from stackwright.api.kinds import LEASE, SECRET
from stackwright.core.errors import TransientError
from stackwright.core.objects import secret_data
from stackwright.core.plan import Object
from stackwright.core.secrets.certificate_validity import BEFORE, EARLIER, LIFE
from stackwright.runtime import x509
from stackwright.runtime.memory import MemoryCluster
from stackwright.runtime.webhook.admission import Admission
from stackwright.runtime.webhook.certificate import CONFIGURATION, EVERY, FOLLOW, NAME, SECRET_NAME, SETTLE, Certificate
from support.webhook.reviewer import ThreadReviewer

DAY = 24 * 3600.0
NAMESPACE = "stackwright"
HOST = f"stackwright-webhook.{NAMESPACE}.svc"
LATENCY = 3.0  # seconds until the API server has read a configuration that was changed


class Clock:
    """The time of day, which the loop moves on and a test may step."""

    def __init__(self) -> None:
        self.offset = 1_750_000_000.0

    def now(self) -> float:
        return self.offset + asyncio.get_running_loop().time()


class World:
    """A cluster with our configuration of two webhooks, and the operator's part of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock, self.cluster = folder, Clock(), MemoryCluster()
        hooks = [{"name": name, "clientConfig": {"service": {"name": "stackwright-webhook"}}} for name in ("a", "b")]
        self.cluster.put(CONFIGURATION, {"metadata": {"name": NAME}, "webhooks": hooks})
        self.own = self.start()

    def start(self) -> Certificate:
        return Certificate(self.cluster, NAMESPACE, self.folder, self.clock)

    def trusted(self) -> set[str]:
        """Of each webhook."""
        hooks = (self.cluster.peek(CONFIGURATION, ("", NAME)) or {})["webhooks"]
        return {base64.b64decode(hook["clientConfig"].get("caBundle", "")).decode() for hook in hooks}

    def accepts(self, trusted: set[str]) -> bool:
        """Whether the API server now accepts the current server."""
        return all(accepted(served(self.own.context), bundle, self.clock.now()) for bundle in trusted)

    def keep(self, data: dict[str, str]) -> None:
        encoded = {field: base64.b64encode(value.encode()).decode() for field, value in data.items()}
        self.cluster.put(SECRET, {"metadata": {"namespace": NAMESPACE, "name": SECRET_NAME}, "data": encoded})

    def kept(self) -> dict[str, str]:
        return secret_data(self.cluster.peek(SECRET, (NAMESPACE, SECRET_NAME)))


def served(context: ssl.SSLContext) -> library.Certificate:
    """The result of a client's connection."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client, server = trusting.wrap_bio(back, there), context.wrap_bio(there, back, server_side=True)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    found = client.getpeercert(binary_form=True)
    assert found
    return library.load_der_x509_certificate(found)


def accepted(certificate: library.Certificate, bundle: str, now: float) -> bool:
    if not bundle:
        return False
    store = Store(library.load_pem_x509_certificates(bundle.encode()))
    when = datetime.datetime.fromtimestamp(now, datetime.UTC)
    try:
        PolicyBuilder().store(store).time(when).build_server_verifier(library.DNSName(HOST)).verify(certificate, [])
    except VerificationError:
        return False
    return True


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def issued(now: float, life: float = LIFE, name: str = HOST) -> dict[str, str]:
    made, _ = x509.issue(x509.authority("stackwright-webhook", now, life), [name], [], now)
    return made


@pytest.mark.looptime
async def test_the_certificate_is_created_once_and_reused_after_a_restart(world: World) -> None:
    await world.own.ensure()
    assert world.accepts(world.trusted())
    assert len(world.trusted()) == 1, "all webhooks trust the same"
    assert world.folder.joinpath("tls.key").stat().st_mode & 0o077 == 0
    before = len(world.cluster.writes)
    world.own = world.start()
    await world.own.ensure()
    assert world.accepts(world.trusted())
    assert len(world.cluster.writes) == before


@pytest.mark.looptime
async def test_an_operator_that_waits_for_the_lease_serves_the_same_certificate_and_writes_nothing(
    world: World, tmp_path: Path
) -> None:
    """API servers accept it at any time, also while the holder renews it, although they notice changes late."""
    (folder := tmp_path / "waits").mkdir()
    waits = Certificate(world.cluster, NAMESPACE, folder, world.clock)
    following = asyncio.create_task(waits.keep())
    await asyncio.sleep(60)
    assert not waits.served and not world.cluster.writes
    await world.own.ensure()
    await asyncio.sleep(FOLLOW + 0.1)
    assert waits.served
    first = world.kept()["tls.crt"]
    keeping = asyncio.create_task(world.own.keep())
    world.clock.offset += LIFE - BEFORE - EVERY / 2
    read = [world.trusted()]
    for _ in range(int(EVERY + SETTLE + 60)):
        await asyncio.sleep(1)
        read = [*read, world.trusted()][-int(LATENCY) :]
        shown = served(waits.context)
        assert all(accepted(shown, bundle, world.clock.now()) for trusted in read for bundle in trusted)
    assert world.kept()["tls.crt"] != first
    assert library.load_pem_x509_certificate(world.kept()["tls.crt"].encode()) == served(waits.context)
    written = len(world.cluster.writes)
    await waits.ensure()
    assert len(world.cluster.writes) == written, "as holder it finds nothing to do"
    for task in (following, keeping):
        task.cancel()
    await asyncio.gather(following, keeping, return_exceptions=True)


@pytest.mark.looptime
async def test_the_api_server_accepts_it_while_it_is_renewed(world: World) -> None:
    """However late, within limits, it reads the configuration."""
    await world.own.ensure()
    first = world.kept()["tls.crt"]
    keeping = asyncio.create_task(world.own.keep())
    world.clock.offset += LIFE - BEFORE - EVERY / 2
    read = [world.trusted()]
    both = False
    for _ in range(int(EVERY + SETTLE + 60)):
        await asyncio.sleep(1)
        read = [*read, world.trusted()][-int(LATENCY) :]
        assert all(world.accepts(trusted) for trusted in read)
        both = both or any(bundle.count("BEGIN") == 2 for bundle in read[-1])
    keeping.cancel()
    assert both
    assert world.kept()["tls.crt"] != first
    assert served(world.own.context) == library.load_pem_x509_certificate(world.kept()["tls.crt"].encode())
    assert world.trusted() == {world.kept()["ca.crt"]}, "what is not served is not trusted"


@pytest.mark.looptime
async def test_it_never_ends_while_the_operator_runs(world: World) -> None:
    await world.own.ensure()
    keeping = asyncio.create_task(world.own.keep())
    seen = set()
    for _ in range(20):  # years
        world.clock.offset += 80 * DAY
        await asyncio.sleep(EVERY + SETTLE + 1)
        assert world.accepts(world.trusted())
        seen.add(world.kept()["tls.crt"])
    keeping.cancel()
    assert len(seen) == 6, "of 1600 days each is served for 275 to 365"


WRONG: dict[str, Any] = {
    "not valid yet": lambda now: issued(now + DAY),
    "of a wrong future": lambda now: issued(now + 2 * 365 * DAY),
    "with an authority that lasts too long": lambda now: issued(now, 20 * LIFE),
    "ending soon": lambda now: issued(now - LIFE + 80 * DAY),
    "ended": lambda now: issued(now - 400 * DAY),
    "with an authority that ends soon": lambda now: issued(now, 80 * DAY),
    "for another namespace": lambda now: issued(now, name="stackwright-webhook.elsewhere.svc"),
    "with the key of another": lambda now: {**issued(now), "tls.key": issued(now)["tls.key"]},
    "with the authority of another": lambda now: {**issued(now), "ca.crt": issued(now)["ca.crt"]},
    "no certificate": lambda now: {**issued(now), "tls.crt": "nonsense"},
    "without a key": lambda now: {"tls.crt": issued(now)["tls.crt"], "ca.crt": issued(now)["ca.crt"]},
}


@pytest.mark.looptime
@pytest.mark.parametrize("wrong", WRONG)
async def test_a_wrong_certificate_is_replaced_at_the_start_and_later(world: World, wrong: str) -> None:
    for look in (world.own.ensure, lambda: asyncio.sleep(EVERY + SETTLE + 1)):
        data = WRONG[wrong](world.clock.now())
        world.keep(data)
        await look()
        assert world.kept().get("tls.crt") != data["tls.crt"]
        assert world.accepts(world.trusted())
        if look == world.own.ensure:
            keeping = asyncio.create_task(world.own.keep())
    keeping.cancel()


@pytest.mark.looptime
@pytest.mark.parametrize("step", [-3600.0, -400 * DAY, 300 * DAY, 20 * 365 * DAY])
async def test_a_clock_that_steps_is_followed(world: World, step: float) -> None:
    """Also back again: certificates issued in between must not remain."""
    await world.own.ensure()
    keeping = asyncio.create_task(world.own.keep())
    for by in (step, -step):
        world.clock.offset += by
        await asyncio.sleep(EVERY + SETTLE + 1)
        assert world.accepts(world.trusted())
        assert x509.ends(world.kept()["tls.crt"]) <= world.clock.now() + LIFE + EARLIER
    keeping.cancel()


@pytest.mark.looptime
async def test_a_request_to_an_unresponsive_api_server_is_repeated(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.own.ensure()
    first = world.kept()["tls.crt"]
    keeping = asyncio.create_task(world.own.keep())
    world.clock.offset += 300 * DAY

    async def away(*_: object) -> Object:
        raise TransientError("the API server does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(world.cluster, "patch", away)
        await asyncio.sleep(3 * EVERY)
        assert world.accepts(world.trusted()), "nothing is served that is not trusted"
    await asyncio.sleep(EVERY + SETTLE)
    keeping.cancel()
    assert world.kept()["tls.crt"] != first
    assert world.accepts(world.trusted())
    assert world.trusted() == {world.kept()["ca.crt"]}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def test_the_renewed_certificate_is_served_on_new_connections(tmp_path: Path) -> None:
    """Without closing its port, nor a connection that is open."""
    own, port = World(tmp_path).own, free_port()
    await own.ensure()
    serving = asyncio.create_task(Admission(ThreadReviewer(lambda *_: []), own.context).serve(port))
    await asyncio.sleep(0.2)
    try:
        before, reader, writer = await connected(port)
        own._load(issued(1_750_000_000.0))
        after, _, other = await connected(port)
        assert before != after
        other.close()
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"HTTP/1.1 40" in await reader.readline(), "nothing is at this path, and somebody says so"
        writer.close()
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def connected(port: int) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
    """The certificate that was shown, and the connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    return writer.get_extra_info("ssl_object").getpeercert(binary_form=True), reader, writer


async def test_the_operator_renews_its_certificate_later_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks next to the watches end with `operate`; the renewal of the certificate is one of them."""
    ran: list[str] = []
    cluster = MemoryCluster()
    cluster.put(LEASE, {"metadata": {"namespace": "stackwright", "name": "stackwright-operator"}})

    class Own:
        certificate = key = context = None

        def __init__(self, *given: Any) -> None: ...

        async def ensure(self) -> None:
            ran.append("ensure")

        async def keep(self) -> None:
            ran.append("keep")
            await asyncio.sleep(60)

    async def serve(*given: Any) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr("stackwright.runtime.webhook.certificate.Certificate", Own)
    monkeypatch.setattr(main, "_connect", lambda *given: cluster)
    monkeypatch.setattr(main, "_serve", serve)

    async def listen(admission: Admission, port: int) -> None:
        ran.append(f"port {port}")
        await asyncio.sleep(60)

    monkeypatch.setattr(Admission, "serve", listen)
    monkeypatch.setattr(main, "KopfSource", lambda *given: None)
    monkeypatch.setattr(main, "runtime", lambda *given: None)
    await main.operate(main.Options(webhook_port=1, metrics_port=None, health_port=None))
    assert sorted(ran) == ["ensure", "keep", "port 1"]
