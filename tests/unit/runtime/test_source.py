"""Tasks of watches besides events, with a list and a watch controlled by the test; and /healthz."""

import asyncio
import contextlib
import json
from types import SimpleNamespace
from unittest.mock import AsyncMock

import aiohttp
import pytest
import structlog
from kopf._cogs.clients import errors, watching
from kopf._cogs.configs.configuration import OperatorSettings
from kopf._cogs.structs.references import Resource

from stackwright.api.kinds import SECRET
from stackwright.core.controller import ByOwner, Watch
from stackwright.core.errors import Conflict, NotServed, TerminalError, TransientError
from stackwright.core.objects import MANAGED
from stackwright.core.plan import Plan
from stackwright.runtime import reconcile
from stackwright.runtime.cluster import watches
from stackwright.runtime.cluster.cache import CachedReader, Store
from stackwright.runtime.cluster.watches import PAUSE, SILENT, Watches
from stackwright.runtime.health import Health
from stackwright.runtime.memory import MemoryCluster
from stackwright.runtime.queue import KeyedQueue
from stackwright.services.keystone.kind import Keystone
from stackwright.services.memcached.kind import Memcached
from tests.unit.runtime.test_runtime import KEY, Operator, controller, put

pytestmark = pytest.mark.looptime
KIND = Memcached.KIND
A_SECRET = ("n", "a")
RESOURCE = Resource(KIND.group, KIND.version, KIND.plural)
LISTED = watching.Bookmark.LISTED


def listed(*names):
    return [{"type": None, "object": obj(name)} for name in names]


def obj(name):
    return {"metadata": {"namespace": "n", "name": name, "uid": name, "resourceVersion": "1"}}


class Stage:
    """Kopf's own watch of one kind; `lists` are what each list and the watch after it bring, the last for ever."""

    def __init__(self, monkeypatch, *lists, namespaces=()):
        self.lists, self.begun, self.told, self.events = list(lists), 0, [], []
        monkeypatch.setattr(watches, "_of_kopf", self._continuous_watch)
        self.shown = []
        self.watches = Watches([KIND], self._on_listed, self._listing, namespaces)
        self.watches.listen()

    def _listing(self, kind):
        """The content of a list, by the number of earlier lists."""
        begun = self.begun
        return lambda obj: self.shown.append((begun, obj["metadata"]["name"]))

    async def _on_listed(self, kind, present, namespace):
        self.told.append((kind, set(present), namespace) if namespace else (kind, set(present)))

    async def _continuous_watch(self, **_):
        self.begun += 1
        for event in self.lists.pop(0):
            if isinstance(event, Exception):
                raise event
            await asyncio.sleep(0)
            yield event
        if not self.lists:
            await asyncio.Event().wait()

    async def run(self, seconds, resource=RESOURCE, namespace=None):
        async def consume():
            async for event in watching.infinite_watch(
                settings=OperatorSettings(), resource=resource, namespace=namespace
            ):
                self.events.append(event)

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await consume()


async def test_after_each_list_the_existing_keys_are_passed_on(monkeypatch):
    first = [*listed("a", "b"), LISTED, {"type": "ADDED", "object": obj("c")}]
    stage = Stage(monkeypatch, first, [*listed("b"), LISTED], [LISTED])
    await stage.run(5)
    assert stage.told == [(KIND, {("n", "a"), ("n", "b")}), (KIND, {("n", "b")}), (KIND, set())]
    assert stage.events == [*first, *listed("b"), LISTED, LISTED], "Kopf gets all that it got before"
    assert stage.shown == [(0, "a"), (0, "b"), (1, "b")], "compared with what was known before the list began"


async def test_an_interrupted_list_is_ignored(monkeypatch):
    stage = Stage(monkeypatch, listed("a"), [*listed("b"), LISTED])
    await stage.run(5)
    assert stage.told == [(KIND, {("n", "b")})]


@pytest.mark.parametrize(
    "error",
    [
        watching.WatchingError("Error in the watch-stream: {'code': 500}"),
        errors.APIForbiddenError({"message": "no"}, status=403, headers={}),
        ValueError("Chunk too big"),
    ],
)
async def test_an_error_restarts_a_watch_and_ends_nothing(monkeypatch, error):
    stage = Stage(monkeypatch, [LISTED, error], [error], [*listed("a"), LISTED])
    with structlog.testing.capture_logs() as logs:
        await stage.run(3 * PAUSE)
    assert stage.begun == 3
    assert stage.told[-1] == (KIND, {("n", "a")})
    assert [entry["event"] for entry in logs] == ["watch failed"] * 2


async def test_kopfs_own_watches_are_ignored(monkeypatch):
    stage = Stage(monkeypatch, [*listed("a"), LISTED])
    await stage.run(5, Resource("", "v1", "namespaces"))
    assert not stage.told and len(stage.events) == 2


async def test_a_watch_is_alive_while_it_brings_anything(monkeypatch):
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5"}}}
    stage = Stage(monkeypatch, [LISTED])

    async def minutely(**_):
        yield LISTED
        for _ in range(20):
            await asyncio.sleep(60)
            yield bookmark
        await asyncio.Event().wait()

    monkeypatch.setattr(watches, "_of_kopf", minutely)
    running = asyncio.create_task(stage.run(5000))
    await asyncio.sleep(1205)
    assert not stage.watches.silent()
    await asyncio.sleep(SILENT + 1)
    assert "memcacheds has received no event for 60" in stage.watches.silent()[KIND, ""]
    running.cancel()


async def test_a_watch_that_never_begins_is_dead_and_its_cause_is_known(monkeypatch):
    denied = errors.APIForbiddenError({"message": "it is forbidden"}, status=403, headers={})
    stage = Stage(monkeypatch, *([denied] for _ in range(200)))
    await stage.run(SILENT + 10)
    assert "it is forbidden" in stage.watches.silent()[KIND, ""]


@contextlib.asynccontextmanager
async def loaded(*names):
    """An operator that knows these objects, and whose workers process only the results of lists."""
    operator = Operator(controller())
    for name in names:
        operator.cluster.put(KIND, {"metadata": {"namespace": "n", "name": name}, "spec": {}})
    await operator.runtime.load()
    await asyncio.sleep(0.01)  # the events of their creation
    for _ in names:
        operator.runtime.queue.done(await operator.runtime.queue.get())
    running = asyncio.create_task(operator.runtime.run(workers=0, reserved=0))
    yield operator
    assert not running.done()
    running.cancel()


async def test_a_deletion_without_an_event_is_detected_at_the_next_list():
    async with loaded("x") as operator:
        operator.deaf = True
        operator.cluster.remove(KIND, KEY)
        assert operator.runtime.store.get(KIND, KEY)
        await operator.runtime.on_listed(KIND, set())
        await asyncio.sleep(0.01)
        assert operator.runtime.store.get(KIND, KEY) is None
        assert await operator.runtime.queue.get() == ("test", KEY)


@pytest.mark.parametrize("resync", [False, True])
async def test_the_end_of_an_object_by_our_own_write_is_news_to_others_even_without_an_event(resync):
    """Its last finalizer was removed while no watch was active; the owner of it waits for the end."""
    async with loaded("x") as operator:
        operator.deaf, runtime = True, operator.runtime
        await runtime.ports.cluster.patch(KIND, KEY, {"metadata": {"finalizers": ["example.org/x"]}})
        operator.cluster.remove(KIND, KEY)
        await runtime.ports.cluster.patch(KIND, KEY, {"metadata": {"finalizers": []}})
        assert runtime.store.get(KIND, KEY) is None
        assert len(runtime.queue) == 0
        await (runtime.load([KIND]) if resync else runtime.on_listed(KIND, set()))
        await asyncio.sleep(0.01)
        assert len(runtime.queue) == 1, "its keys are reconciled"
        runtime.queue.done(await runtime.queue.get())
        await runtime.load([KIND])
        await asyncio.sleep(0.01)
        assert len(runtime.queue) == 0, "it is news once"


async def test_the_end_of_an_object_that_no_watch_ever_reported_is_news():
    """Our own writes created and ended it while no watch was active."""
    async with loaded() as operator:
        operator.deaf, runtime = True, operator.runtime
        meta = {"namespace": "n", "name": "x", "finalizers": ["example.org/x"]}
        await runtime.ports.cluster.apply(KIND, {"metadata": meta, "spec": {}}, "m")
        operator.cluster.remove(KIND, KEY)
        await runtime.ports.cluster.patch(KIND, KEY, {"metadata": {"finalizers": []}})
        await runtime.on_listed(KIND, set())
        await asyncio.sleep(0.01)
        assert len(runtime.queue) == 1


@pytest.mark.parametrize("how", ["a watch lists again", "resync"])
async def test_a_restored_object_of_another_owner_wakes_both(how):
    """A list shows the object that had the name before etcd was restored."""
    parent, child = Keystone.KIND, Memcached.KIND
    operator = Operator(controller(kind=parent, watches=[Watch(child, ByOwner(parent.kind))]))
    runtime = operator.runtime

    def owned(owner, version):
        reference = {"apiVersion": "v1", "kind": parent.kind, "name": owner, "uid": owner, "controller": True}
        meta = {"namespace": "n", "name": "x", "uid": owner, "resourceVersion": version, "ownerReferences": [reference]}
        return {"metadata": meta, "spec": {}}

    runtime.on_event(False, child, owned("lost", "9"))
    runtime.queue.done(await runtime.queue.get())
    restored = owned("restored", "5")
    if how == "resync":
        operator.cluster.list = AsyncMock(return_value=[restored])
        await runtime.load([child])
    else:
        runtime.listing(child)(restored)
        runtime.on_event(False, child, restored)
    assert len(runtime.queue) == 2
    assert {await runtime.queue.get() for _ in range(2)} == {("test", ("n", "lost")), ("test", ("n", "restored"))}


async def test_a_resync_does_not_undo_a_write_during_its_list():
    operator, kind = Operator(controller()), Memcached.KIND
    store = operator.runtime.store

    def version(number, **spec):
        return {"metadata": {"namespace": "n", "name": "x", "uid": "u", "resourceVersion": number}, "spec": spec}

    async def listing(*_):
        store.keep(kind, version("6", size="small"))
        return [version("5")]

    operator.runtime.on_event(False, kind, version("5"))
    operator.cluster.list = listing
    await operator.runtime.load([kind])
    assert store.get(kind, KEY)["spec"] == {"size": "small"}


async def test_an_object_in_place_of_another_wakes_the_owners_of_both():
    """No watch reported the end of the first one."""
    parent, child = Keystone.KIND, Memcached.KIND
    operator = Operator(controller(kind=parent, watches=[Watch(child, ByOwner(parent.kind))]))

    def owned(owner):
        reference = {"apiVersion": "v1", "kind": parent.kind, "name": owner, "uid": owner, "controller": True}
        operator.cluster.remove(child, KEY)
        meta = {"namespace": "n", "name": "x", "ownerReferences": [reference]}
        operator.cluster.put(child, {"metadata": meta, "spec": {}})

    operator.deaf = True
    queue = operator.runtime.queue
    for owner, woken in (("first", ["first"]), ("second", ["first", "second"])):
        owned(owner)
        await operator.runtime.load([child])
        assert len(queue) == len(woken)
        for each in woken:
            item = await queue.get()
            assert item == ("test", ("n", each))
            queue.done(item)


async def test_a_list_of_a_restored_etcd_is_accepted_at_once():
    async with loaded("x") as operator:
        older = operator.runtime.store.get(KIND, KEY)
        operator.cluster.put(KIND, {**older, "spec": {"size": "small"}})
        await asyncio.sleep(0.01)
        assert await operator.runtime.queue.get() == ("test", KEY)
        operator.runtime.queue.done(("test", KEY))
        see = operator.runtime.listing(KIND)
        see(older)
        assert operator.runtime.store.get(KIND, KEY)["spec"] == older["spec"]
        operator.runtime.on_event(False, KIND, older)
        assert await operator.runtime.queue.get() == ("test", KEY)


async def test_objects_created_since_the_list_remain():
    async with loaded("x") as operator:
        await operator.runtime.on_listed(KIND, set())
        await asyncio.sleep(0.01)
        assert operator.runtime.store.get(KIND, KEY)


async def partly_watched(change):
    """A reader's view of a Secret after a `change` without a watch event; also the keys of its store."""
    cluster, store = MemoryCluster(), Store()
    store.watch(SECRET)
    ports = SimpleNamespace(cluster=cluster, clock=None)
    reader = CachedReader(store, cluster)
    runtime = reconcile.Runtime([], ports, reader, store, KeyedQueue())
    first = cluster.put(
        SECRET, {"metadata": {"namespace": "n", "name": "a", "labels": MANAGED}, "data": {"old": "eA=="}}
    )
    await runtime.load([SECRET])
    assert store.keys(SECRET) == {A_SECRET}
    running = asyncio.create_task(runtime.run(workers=0, reserved=0))
    change(cluster, first)
    await runtime.load([SECRET])
    await asyncio.sleep(0.01)
    running.cancel()
    return (await reader.get(SECRET, A_SECRET))["data"], store.keys(SECRET)


def made_anew(labels):
    def change(cluster, first):
        cluster.remove(SECRET, A_SECRET)
        cluster.put(SECRET, {"metadata": {"namespace": "n", "name": "a", "labels": labels}, "data": {"new": "eQ=="}})

    return change


def unlabelled(cluster, first):
    cluster.put(SECRET, {**first, "metadata": {**first["metadata"], "labels": {}}, "data": {"new": "eQ=="}})


@pytest.mark.parametrize("change", [made_anew({}), made_anew({"app.kubernetes.io/managed-by": "Helm"}), unlabelled])
async def test_a_secret_that_left_its_watch_is_read_from_the_api(change):
    """A user created one of that name, or removed our label, while no watch was active."""
    assert await partly_watched(change) == ({"new": "eQ=="}, set())


async def test_another_object_of_the_name_is_not_the_missing_one():
    async with loaded("x") as operator:
        operator.deaf = True
        operator.cluster.remove(KIND, KEY)
        put(operator)
        await operator.runtime.on_listed(KIND, set())
        await asyncio.sleep(0.01)
        assert operator.runtime.store.get(KIND, KEY) is None, "its watch will tell of the new one"


@pytest.mark.parametrize("error", [TransientError("away"), TerminalError("no"), RuntimeError("odd")])
async def test_an_unconfirmed_deletion_blocks_no_other_and_is_queried_again(error):
    """Long before the resync, and also where several attempts fail."""
    async with loaded("x", "y", "z") as operator:
        operator.deaf, real, failed = True, operator.cluster.get, []

        async def get(kind, key):
            if key == KEY and len(failed) < 3:
                failed.append(asyncio.get_running_loop().time())
                raise error
            return await real(kind, key)

        operator.cluster.get = get
        for name in "xyz":
            operator.cluster.remove(KIND, ("n", name))
        await operator.runtime.on_listed(KIND, set())
        await asyncio.sleep(0.01)
        assert operator.runtime.store.keys(KIND) == {KEY}
        await asyncio.sleep(30)
        assert operator.runtime.store.keys(KIND) == set()
        assert len(failed) == 3
        assert failed[2] - failed[1] > failed[1] - failed[0] > 0.1, "each delay is longer than the one before"


async def test_after_a_conflict_the_conflicting_object_is_read_too():
    """The watch missed its deletion, so nothing else would correct the cache."""
    other = Keystone.KIND
    seen_there = []

    async def observe(reader, key, now):
        seen_there.append(await reader.get(other, KEY) is not None)
        return await controller().observe(reader, key, now)

    def decide(seen):
        if seen_there[-1]:
            raise Conflict("apply Keystone n/x: the object does not exist", other, KEY)
        return Plan()

    operator = Operator(controller(watches=[Watch(other, lambda obj, lookup: [])], observe=observe, decide=decide))
    put(operator)
    put(operator, other)
    await operator.runtime.load()
    operator.deaf = True
    operator.cluster.remove(other, KEY)
    await operator.runtime.reconcile(("test", KEY))
    await operator.runtime.reconcile(("test", KEY))
    assert seen_there == [True, False]


class Silence:
    def __init__(self, **texts):
        self.texts = texts

    def silent(self):
        return {(KIND, "n"): " ".join(self.texts.values())} if self.texts else {}


async def test_a_hanging_worker_is_a_cause_and_a_slow_one_is_not(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(reconcile.time, "perf_counter", lambda: now[0])
    hang = asyncio.Event()

    async def observe(reader, key, now):
        await hang.wait()

    operator = Operator(controller(observe=observe))
    health = Health(operator.runtime, Silence())
    put(operator)
    await operator.runtime.load()
    working = asyncio.create_task(operator.runtime.work())
    await asyncio.sleep(1)
    now[0] += 700  # twice a call of Helm: until it is its turn, and its own
    assert await health.causes() == []
    now[0] += 300
    assert await health.causes() == ["a worker has been processing test n/x for 1000 s"]
    hang.set()
    await asyncio.sleep(1)
    assert await health.causes() == []
    working.cancel()


@pytest.mark.parametrize(
    ("answer", "dead"),
    [
        (None, True),
        (TerminalError("no right"), True),
        (TransientError("unreachable"), False),
        (NotServed("no such kind"), False),
    ],
)
async def test_a_silent_watch_is_a_cause_only_if_the_api_server_responds(answer, dead):
    operator = Operator(controller())

    async def get(kind, key):
        assert key[0] == "n", "an operator may have no rights in other namespaces"
        if answer:
            raise answer

    operator.cluster.get = get
    assert await Health(operator.runtime, Silence(one="it is silent")).causes() == (["it is silent"] if dead else [])


async def test_an_api_server_that_does_not_respond_in_time_is_no_cause():
    operator = Operator(controller())

    async def get(kind, key):
        await asyncio.sleep(60)

    operator.cluster.get = get
    started = asyncio.get_running_loop().time()
    assert await Health(operator.runtime, Silence(one="it is silent")).causes() == []
    assert asyncio.get_running_loop().time() - started < 5


@pytest.mark.looptime(False)
async def test_healthz_returns_the_cause(unused_tcp_port):
    silence = Silence()
    serving = asyncio.create_task(Health(Operator(controller()).runtime, silence).serve(unused_tcp_port))
    async with aiohttp.ClientSession(f"http://127.0.0.1:{unused_tcp_port}") as session:

        async def ask(path):
            for _ in range(100):
                with contextlib.suppress(aiohttp.ClientConnectionError):
                    async with session.get(path) as response:
                        return response.status, json.loads(await response.text())
                await asyncio.sleep(0.05)
            raise AssertionError("nobody answers")

        assert await ask("/healthz") == (200, {"healthy": True, "causes": []})
        silence.texts["one"] = "the watch of x is silent"
        assert await ask("/healthz") == (503, {"healthy": False, "causes": ["the watch of x is silent"]})
        assert (await ask("/readyz"))[0] == 200
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


async def test_each_managed_namespace_has_a_watch_of_its_own(monkeypatch):
    """One that is silent is named, although the other one is alive."""
    stage = Stage(monkeypatch, [*listed("a"), LISTED], namespaces=("n", "other"))
    await stage.run(SILENT, namespace="n")
    await asyncio.sleep(1)
    assert stage.told == [(KIND, {("n", "a")}, "n")]
    silent = stage.watches.silent()
    assert set(silent) == {(KIND, "other"), (KIND, "n")}
    assert "memcacheds in other has received no event for 601 s" in silent[KIND, "other"]
    stage = Stage(monkeypatch, [LISTED], namespaces=("n",))
    await stage.run(5, namespace="n")
    assert not stage.watches.silent()


async def test_a_list_of_one_namespace_says_nothing_of_another():
    async with loaded("x") as operator:
        gone = operator.runtime.store.get(KIND, KEY)
        operator.cluster.get = AsyncMock(return_value=None)
        await operator.runtime.on_listed(KIND, set(), "other")
        await asyncio.sleep(1)
        operator.cluster.get.assert_not_awaited()
        assert operator.runtime.store.get(KIND, KEY) == gone
        await operator.runtime.on_listed(KIND, set(), "n")
        await asyncio.sleep(1)
        assert operator.runtime.store.get(KIND, KEY) is None
