"""The loop: wake-ups, and the results of failures. In memory and in simulated time."""

import asyncio
import contextlib
import itertools
import time
import uuid
from dataclasses import dataclass

import pytest

from stackwright.api.kinds import CONFIGMAP, SECRET
from stackwright.core.conditions import done, find, steady, summary, waiting
from stackwright.core.controller import ByOwner, Controller, Watch
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.objects import key_of
from stackwright.core.plan import Apply, Plan
from stackwright.runtime.cluster.cache import CachedReader, Store, WriteThrough
from stackwright.runtime.memory import FrozenClock, MemoryCluster
from stackwright.runtime.queue import KeyedQueue
from stackwright.runtime.reconcile import Runtime
from stackwright.services.keystone.kind import Keystone
from stackwright.services.memcached.kind import Memcached
from support.ports import memory_ports

pytestmark = pytest.mark.looptime
KEY = ("n", "x")
SAME = Apply(CONFIGMAP, {"metadata": {"namespace": "n", "name": "made"}, "data": {}})


@dataclass
class Seen:
    obj: dict


def controller(name="test", kind=Memcached.KIND, watches=(), decide=None, observe=None, **more):
    async def look(reader, key, now):
        obj = await reader.get(kind, key)
        return None if obj is None else Seen(obj)

    def nothing(seen):
        return Plan()

    return Controller(name, "osdpl", kind, tuple(watches), observe or look, decide or nothing, **more)


def plan(*actions):
    stage = done("Made")
    return Plan(tuple(actions), (summary([stage]), stage))


class Operator:
    """A runtime over a cluster in memory whose watches report each change at once, unless they are deaf."""

    def __init__(self, *controllers, latency=0.0):
        self.cluster = MemoryCluster(clock=FrozenClock())
        self.store = Store()
        ports = memory_ports(self.cluster, FrozenClock(), cluster=WriteThrough(self.store, self.cluster))
        self.runtime = Runtime(controllers, ports, CachedReader(self.store, self.cluster), self.store, KeyedQueue())
        self.deaf, self._latency = False, latency
        self.cluster.subscribe(self._tell)
        self.runs = []
        course = self.runtime.reconcile

        async def counted(item):
            self.runs.append(item)
            await course(item)

        self.runtime.reconcile = counted

    def _tell(self, event, kind, obj):
        if not self.deaf and kind in self.runtime.kinds:
            loop = asyncio.get_running_loop()
            loop.call_later(self._latency, self.runtime.on_event, event == "DELETED", kind, obj)

    async def run(self, seconds):
        await self.runtime.load()
        task = asyncio.create_task(self.runtime.run(workers=4))
        await asyncio.wait({task}, timeout=seconds)
        assert not task.done(), task.exception()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def condition(self, kind=Memcached.KIND, type_="Ready"):
        return find(self.cluster.peek(kind, KEY), type_)


def put(operator, kind=Memcached.KIND):
    return operator.cluster.put(kind, {"metadata": {"namespace": "n", "name": "x"}, "spec": {}})


def failing(operator, error):
    async def apply(kind, obj, manager):
        raise error()

    operator.cluster.apply = apply


WORDS = itertools.count()


@pytest.mark.parametrize("latency", [0.0, 0.2])
@pytest.mark.parametrize("kind", [TransientError, TerminalError])
async def test_a_failure_whose_message_differs_each_time_is_retried_with_backoff(kind, latency):
    """With any message, the status that we write must not bring the retry forward."""
    operator = Operator(controller(decide=lambda seen: plan(SAME)), latency=latency)
    put(operator)
    failing(operator, lambda: kind(f"attempt {'x' * next(WORDS)} failed"))
    await operator.run(60)
    assert len(operator.runs) <= 9, "0.5 s, doubled up to a minute"
    assert operator.condition()["message"].startswith("attempt")


async def test_a_foreign_change_brings_a_retry_forward():
    operator = Operator(controller(decide=lambda seen: plan(SAME)))
    put(operator)
    failing(operator, lambda: TransientError(f"attempt {'x' * next(WORDS)} failed"))
    running = asyncio.create_task(operator.run(60))
    await asyncio.sleep(20)
    before = len(operator.runs)
    live = operator.cluster.peek(Memcached.KIND, KEY)
    operator.cluster.put(Memcached.KIND, {**live, "metadata": {**live["metadata"], "labels": {"a": "b"}}})
    await asyncio.sleep(0.1)
    assert len(operator.runs) == before + 1
    await running


CHANGES = {
    "spec": lambda live: {**live, "spec": {"memcachedReplicas": 2}},
    **{
        name: lambda live, name=name, value=value: {**live, "metadata": {**live["metadata"], name: value}}
        for name, value in (("labels", {"a": "b"}), ("annotations", {"a": "b"}), ("finalizers", ["a/b"]))
    },
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
async def test_a_change_in_the_event_of_our_own_report_brings_a_retry_forward(changed):
    """Kopf reports only the last of several versions: the change was treated as our own write, and detected a minute
    later.
    """
    operator = Operator(controller(decide=lambda seen: plan(SAME)))
    put(operator)
    failing(operator, lambda: TransientError(f"attempt {'x' * next(WORDS)} failed"))
    running = asyncio.create_task(operator.run(60))
    await asyncio.sleep(20)
    real, before = operator.cluster.apply_status, len(operator.runs)

    async def apply_status(kind, obj, manager):
        operator.cluster.apply_status, operator.deaf = real, True
        operator.cluster.put(kind, changed(operator.cluster.peek(kind, KEY)))
        operator.deaf = False
        return await real(kind, obj, manager)

    operator.cluster.apply_status = apply_status
    while len(operator.runs) == before:
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.1)
    assert len(operator.runs) == before + 2
    await running


async def test_the_status_of_a_failing_controller_wakes_another_one():
    heard = []

    def hear(seen):
        heard.append(seen)
        return Plan()

    def keys(obj, lookup):
        return [key_of(obj)]

    other = controller("other", Keystone.KIND, [Watch(Memcached.KIND, keys)], hear)
    operator = Operator(controller(decide=lambda seen: plan(SAME)), other)
    put(operator)
    put(operator, Keystone.KIND)
    failing(operator, lambda: TransientError("not yet"))
    await operator.run(0.3)
    assert len(heard) >= 2


async def test_a_success_is_not_reconciled_again_when_its_report_differs_only_in_messages():
    """The observed state may have another message each time."""
    operator = Operator(
        controller(decide=lambda seen: Plan((), (summary([waiting("Made", "x" * (next(WORDS) + 1))]),)))
    )
    put(operator)
    await operator.run(5)
    assert len(operator.runs) <= 3


def told(reason="Waiting", message="one", **status):
    entry = {"type": "Ready", "status": "False", "reason": reason, "message": message, "observedGeneration": 1}
    return {"conditions": [entry], "observedGeneration": 1, **status}


class Neighbour(Operator):
    """A controller that has failed for a while, and an object whose status another of our controllers writes."""

    def __init__(self):
        watches = [Watch(Memcached.KIND, lambda obj, lookup: [key_of(obj)])]
        super().__init__(
            controller(), controller("other", Keystone.KIND, watches, lambda seen: plan(SAME)), latency=0.01
        )
        put(self)
        put(self, Keystone.KIND)
        failing(self, lambda: TransientError("not yet"))

    async def write(self, status):
        identity = {"kind": "Memcached", "metadata": {"namespace": "n", "name": "x"}}
        await self.runtime.ports.cluster.apply_status(
            Memcached.KIND, {**identity, "status": status}, "stackwright-test"
        )

    async def tried(self):
        """How often the failing one was tried within the next moment."""
        before = self.runs.count(("other", KEY))
        await asyncio.sleep(0.1)
        return self.runs.count(("other", KEY)) - before


@contextlib.asynccontextmanager
async def neighbour(status):
    operator = Neighbour()
    running = asyncio.create_task(operator.run(60))
    await asyncio.sleep(1)
    await operator.write(status)
    await asyncio.sleep(19)
    yield operator
    await running


async def test_a_status_with_another_message_only_brings_no_retry_forward():
    parts = [{"name": "a", "message": "b", "ready": False}]
    async with neighbour(told(parts=parts)) as operator:
        await operator.write(told(message="two", parts=[{**parts[0], "message": "c"}]))
        assert await operator.tried() == 0


@pytest.mark.parametrize(
    "status",
    [
        told(reason="Installing"),
        told(message="two", phase="Provisioned"),
        {**told(), "conditions": [{**told()["conditions"][0], "status": "True"}]},
        {**told(), "conditions": [{**told()["conditions"][0], "observedGeneration": 2}]},
        {**told(), "observedGeneration": 2},
        {**told(), "conditions": [*told()["conditions"], {**told()["conditions"][0], "type": "Made"}]},
        told(endpoints=["a"]),
    ],
)
async def test_a_changed_status_brings_a_retry_forward(status):
    async with neighbour(told()) as operator:
        await operator.write(status)
        assert await operator.tried() == 1


async def test_a_message_with_another_change_in_one_event_brings_a_retry_forward():
    """A watch may report only the last of several versions."""
    async with neighbour(told()) as operator:
        operator.deaf = True
        await operator.write(told(reason="Installing"))
        operator.deaf = False
        await operator.write(told(reason="Installing", message="two"))
        assert await operator.tried() == 1


async def test_a_message_with_a_changed_label_brings_a_retry_forward():
    async with neighbour(told()) as operator:
        operator.deaf = True
        live = operator.cluster.peek(Memcached.KIND, KEY)
        operator.cluster.put(Memcached.KIND, {**live, "metadata": {**live["metadata"], "labels": {"a": "b"}}})
        operator.deaf = False
        await operator.write(told(message="two"))
        assert await operator.tried() == 1


async def test_another_value_in_a_secret_brings_a_retry_forward():
    """No value is kept, so the former one and the new one look the same."""

    def secret(password):
        return {"metadata": {"namespace": "n", "name": "x"}, "data": {"password": password}}

    def keys(obj, lookup):
        return [key_of(obj)]

    operator = Operator(controller(watches=[Watch(SECRET, keys)], decide=lambda seen: plan(SAME)))
    put(operator)
    operator.cluster.put(SECRET, secret("d3Jvbmc="))
    failing(operator, lambda: TransientError("the password is wrong"))
    running = asyncio.create_task(operator.run(60))
    await asyncio.sleep(20)
    before = len(operator.runs)
    operator.cluster.put(SECRET, secret("cmlnaHQ="))
    await asyncio.sleep(0.1)
    assert len(operator.runs) == before + 1
    await running


async def test_a_success_is_reconciled_again_with_the_event_of_its_report():
    """Some controllers decide one step per reconcile, and read the last step from their own status."""

    def decide(seen):
        step = int((seen.obj.get("status") or {}).get("progress") or 0)
        return Plan(status={"progress": str(min(3, step + 1))})

    operator = Operator(controller(decide=decide))
    put(operator)
    await operator.run(5)
    assert operator.cluster.peek(Memcached.KIND, KEY)["status"]["progress"] == "3"


def ids():
    return f"req-{uuid.uuid4()}"


@pytest.mark.parametrize(
    "text",
    [
        lambda: f"HTTP 500 (Request-ID: {ids()})",
        lambda: f"An unexpected error (HTTP 500) ({ids()})",
        lambda: f"failed, request id: {uuid.uuid4()}",
        lambda: f"<Connection object at {hex(id(object()) + next(WORDS))}> timed out",
        lambda: f"2026-11-24T12:00:{next(WORDS) % 60:02d}.123Z no leader",
        lambda: f"2026-11-24 12:00:{next(WORDS) % 60:02d},123+00:00 no leader",
        lambda: f"2026/11/24 12:00:{next(WORDS) % 60:02d} no leader",
        lambda: f"read tcp [fd00::1]:{40000 + next(WORDS)}->[fd00::2]:443: reset",
        lambda: f"timed out after 10.{next(WORDS):04d}s",
        lambda: f"open /tmp/helm-{next(WORDS)}: no such file",
        lambda: f"read tcp 10.0.0.1:{40000 + next(WORDS)}->10.0.0.2:443: reset",
        lambda: f"back-off {next(WORDS) + 1}m20s restarting failed container",
        lambda: f"timed out after {'1' * (next(WORDS) % 7 + 1)}.5 s: {'ab cd ef ' * 600}",
        lambda: f"{'ab cd ef ' * 400} ({ids()}{'-0' * (next(WORDS) % 7)}) {'ab cd ef ' * 200}",
    ],
)
def test_a_message_has_no_part_that_varies_per_attempt(text):
    first, second = text(), text()
    assert first != second
    assert steady(first) == steady(second)


@pytest.mark.parametrize(
    "text",
    [
        "2 of 3 pods ready",
        "Release x is not ready and made no progress for 600 s",
        "Server 5b6c1d0e-0000-4000-8000-000000000001 is in ERROR",
        "10.0.0.1:3306 refuses the connection",
        "the certificate ends on 2027-01-31",
        "version 10.11.6 is older than 11.4",
    ],
)
def test_the_text_of_a_message_is_kept(text):
    assert steady(text) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\x1b[2J\x00b \ud800", r"a\x1b[2J\x00b \ud800"),
        ("two\nlines\r\n  and   more", "two lines and more"),
        ("x" * 5_000_000, "x" * 4095 + "…"),
        (" " * 5_000_000 + "x", ""),
        ("1 " * 2_000_000, ("1 " * 2048).rstrip() + "…"),
    ],
    ids=["not to be printed", "lines", "long", "spaces", "words"],
)
def test_a_message_is_one_short_line_with_any_content(text, line):
    """A tenant's OpenStack gives a server's fault: 40,000 spaces held up the operator for minutes."""
    assert steady(text).strip() == line.strip()
    assert steady(steady(text)) == steady(text)
    steady(text).encode()


@pytest.mark.parametrize(
    "unit", [" ", "\t ", "(", "1", "1.", "req-", "request id ", " at 0x1", "2026-01-01T", "/tmp/", "-"]
)
def test_a_message_is_made_stable_fast(unit):
    began = time.process_time()
    steady(unit * 1_000_000)
    assert time.process_time() - began < 5.0  # gross: it would be hours


async def test_a_message_with_a_request_id_is_written_once():
    operator = Operator(controller(decide=lambda seen: plan(SAME)))
    put(operator)
    failing(operator, lambda: TransientError(f"Keystone: HTTP 503 (Request-ID: {ids()})"))
    await operator.run(60)
    assert [write.verb for write in operator.cluster.writes].count("apply_status") == 1


async def test_an_event_uses_only_watches_of_existing_owners(monkeypatch):
    """A Secret may belong to an object of thirty kinds; at 5,000 Secrets a call for each would be 150,000 calls."""
    asked = []
    works = ByOwner.__call__

    def counted(self, obj, lookup):
        asked.append(self.kind)
        return works(self, obj, lookup)

    monkeypatch.setattr(ByOwner, "__call__", counted)
    kinds = (Memcached.KIND, Keystone.KIND)
    made = [controller(kind.plural, kind, [Watch(CONFIGMAP, ByOwner(kind.kind))]) for kind in kinds]
    runtime = Operator(*made).runtime

    def told(version, *owners):
        references = [{"kind": kind, "name": name, "uid": name} for kind, name in owners]
        meta = {"namespace": "n", "name": "x", "resourceVersion": version, "ownerReferences": references}
        runtime.on_event(False, CONFIGMAP, {"metadata": meta})
        return len(runtime.queue)

    assert told("1") == 0
    assert told("2", ("Job", "a")) == 0
    assert asked == []
    assert told("3", ("Memcached", "a")) == 1
    assert asked == ["Memcached"]
    assert told("4", ("Memcached", "a"), ("Memcached", "b"), ("Keystone", "a")) == 3
    assert asked == ["Memcached", "Memcached", "Keystone"], "one call gives all owners of a kind"
