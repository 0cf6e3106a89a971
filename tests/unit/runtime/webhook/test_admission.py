"""The admission server: clients cannot block the event loop or exhaust the memory of the operator."""

from __future__ import annotations

import asyncio
import copy
import io
import json
import threading
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from stackwright.admission.validate import errors_of
from stackwright.api.errors import ERRORS, LONG, MORE
from stackwright.cloud.controlplane import STAGE
from stackwright.cloud.registry import ADMITTED
from stackwright.core.bounds import VALUES, has_more
from stackwright.main import Options, settings
from stackwright.runtime import listener, metrics
from stackwright.runtime.webhook import admission
from stackwright.runtime.webhook.admission import LARGEST, Admission
from support.tls_clients import connected, contexts
from support.waiting import until
from support.webhook.reviewer import ThreadReviewer

SECRET_TEXT = "hunter2"
Ask = Callable[..., Any]


@asynccontextmanager
async def serving(port: int, check: Any) -> AsyncIterator[Ask]:
    """A function that sends a request to an admission server, and returns the HTTP status and the response."""
    task = asyncio.create_task(Admission(ThreadReviewer(check), None).serve(port))
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:

        async def ask(question: object, raw: bytes | None = None) -> tuple[int, Any]:
            body = json.dumps({"request": question}).encode() if raw is None else raw
            for _ in range(100):
                with suppress(aiohttp.ClientConnectorError):
                    async with session.post("/validate", data=io.BytesIO(body)) as response:
                        text = await response.text()
                        return response.status, json.loads(text)["response"] if response.status == 200 else text
                await asyncio.sleep(0.05)
            raise AssertionError("nobody answers")

        yield ask
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def about(obj: object, old: object = None, **more: object) -> dict[str, object]:
    return {"uid": "u", "object": obj, "oldObject": old, **more}


def named(**more: object) -> dict[str, object]:
    return {"kind": "X", "metadata": {"name": "x"}, **more}


async def test_it_returns_errors_or_admits_the_object(unused_tcp_port: int) -> None:
    asked: list[Any] = []

    def check(*given: Any) -> list[str]:
        asked.append(given)
        return ["one", "two"] if given[0]["kind"] == "Bad" else []

    async with serving(unused_tcp_port, check) as ask:
        assert await ask(about(named(), named(), dryRun=True)) == (200, {"uid": "u", "allowed": True})
        status, answer = await ask(about(named(kind="Bad")))
        assert (status, answer["allowed"]) == (200, False)
        assert answer["status"] == {"code": 422, "message": "one\ntwo"}
        assert await ask(about(None, named(kind="Bad"))) == (200, {"uid": "u", "allowed": True}), "a deletion"
    assert asked == [(named(), named(), True), (named(kind="Bad"), None, False)]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"1", b"{}", b'{"request": 1}', b'{"request": {}}', b"\xff", b"[" * 150_000,
        b'{"request": {"uid": 1}}', b'{"request": {"uid": "u", "object": 1}}',
        b'{"request": {"uid": "u", "object": {}}}', b'{"request": {"uid": "u", "object": {"metadata": 1}}}',
        '{"request": {"uid": "u"}}'.encode("utf-16"), json.dumps({"request": {"uid": "é" * 129}}).encode(),
    ],
    ids=range(15),
)  # fmt: skip
async def test_an_invalid_review_is_rejected(unused_tcp_port: int, body: bytes) -> None:
    async with serving(unused_tcp_port, lambda *_: []) as ask:
        assert (await ask(None, body))[0] == 400


async def test_an_exception_is_counted_and_its_answer_contains_no_value(unused_tcp_port: int) -> None:
    before = metrics.FAULTS.labels("admission")._value.get()

    def check(*given: Any) -> list[str]:
        raise KeyError(SECRET_TEXT)

    async with serving(unused_tcp_port, check) as ask:
        _, answer = await ask(about(named()))
    assert answer["status"]["code"] == 500
    assert "KeyError" in answer["status"]["message"]
    assert SECRET_TEXT not in str(answer)
    assert metrics.FAULTS.labels("admission")._value.get() == before + 1


async def test_an_object_of_the_maximum_size_of_etcd_can_be_changed(unused_tcp_port: int) -> None:
    large = named(spec={"x": "x" * (3 << 19)})
    async with serving(unused_tcp_port, lambda *_: []) as ask:
        assert (await ask(about(large, large)))[1]["allowed"] is True


async def test_an_object_over_the_limit_is_not_parsed(unused_tcp_port: int) -> None:
    async with serving(unused_tcp_port, lambda *_: []) as ask:
        assert (await ask(None, b"x" * (LARGEST + 1)))[0] == 413
        assert (await ask(about(named(spec={"x": [0] * 250_000}))))[0] == 413


async def posted(port: int, headers: str, body: bytes) -> bytes:
    """The first line of the response to a client's bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"POST /validate HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n".encode() + body)
    try:
        return await asyncio.wait_for(reader.readline(), 20)
    finally:
        writer.close()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "GZIP", "identity, gzip", "br"])
async def test_nothing_is_inflated(unused_tcp_port: int, encoding: str) -> None:
    packer = zlib.compressobj(9, wbits=31 if "gzip" in encoding.lower() else 15)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(20)) + packer.flush()
    headers = f"Content-Encoding: {encoding}\r\nContent-Length: {len(bomb) + 1}"
    async with serving(unused_tcp_port, lambda *_: []) as ask:
        assert (await ask(about(named())))[0] == 200
        tracemalloc.start()
        try:
            answers = await asyncio.gather(*(posted(unused_tcp_port, headers, bomb) for _ in range(40)))
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert all(b" 415 " in answer for answer in answers), answers
    assert most < 64 << 20, f"{most >> 20} MiB"


async def test_a_body_that_breaks_off_or_is_packed_badly_is_no_fault(
    unused_tcp_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(unused_tcp_port, lambda *_: []) as ask:
        await ask(about(named()))
        assert b" 415 " in await posted(unused_tcp_port, "Content-Encoding: gzip\r\nContent-Length: 3", b"abc")
        _, writer = await asyncio.open_connection("127.0.0.1", unused_tcp_port)
        writer.write(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
        await asyncio.sleep(0.1)
        writer.close()
        await asyncio.sleep(0.1)
        assert (await ask(about(named())))[0] == 200
    assert not caplog.records


async def test_the_event_loop_continues_during_checks(unused_tcp_port: int) -> None:
    at_once, most, beats = 0, 0, 0

    def check(*given: Any) -> list[str]:
        nonlocal at_once, most
        assert threading.current_thread() is not threading.main_thread()
        at_once += 1
        most = max(most, at_once)
        until = beats + 5
        for _ in range(3000):
            if beats >= until:
                break
            time.sleep(0.01)
        at_once -= 1
        return []

    async with serving(unused_tcp_port, check) as ask:
        asking = asyncio.gather(*(ask(about(named())) for _ in range(3)))
        while not asking.done():
            await asyncio.sleep(0.02)
            beats += 1
    assert most == 1
    assert beats >= 15


async def test_an_unfinished_request_is_aborted(unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "ARRIVAL", 2.0)
    async with serving(unused_tcp_port, lambda *_: []) as ask:
        await ask(about(named()))
        others = [await asyncio.open_connection("127.0.0.1", unused_tcp_port) for _ in range(16)]
        for _, writer in others:
            writer.write(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
        await asyncio.sleep(0.1)
        assert (await ask(about(named())))[1]["allowed"] is True
        for reader, writer in others:
            assert b" 408 " in await reader.readline()
            writer.close()


async def begun(
    port: int, sent: int, size: int = 4_000_000, address: str = "127.0.0.1"
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A question of which only the first bytes have been sent."""
    reader, writer = await asyncio.open_connection(sock=await connected(port, address))
    writer.write(f"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n".encode() + b" " * sent)
    await writer.drain()
    return reader, writer


async def test_slow_questions_deny_no_other(unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "TURN", 120.0)
    monkeypatch.setattr(admission, "ARRIVAL", 120.0)
    async with serving(unused_tcp_port, lambda *_: []) as ask:
        await ask(about(named()))
        others = [await begun(unused_tcp_port, 1) for _ in range(50)]
        await asyncio.sleep(0.2)
        for _ in range(4):
            start = time.monotonic()
            assert (await ask(about(named())))[1]["allowed"] is True
            assert time.monotonic() - start < 60, "seconds"
        for _, writer in others:
            writer.close()


async def test_large_requests_are_read_while_memory_permits(
    unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of those of one address; others have room of their own, and small questions need none."""
    monkeypatch.setattr(admission, "HELD", 2 << 20)
    monkeypatch.setattr(admission, "TURN", 60.0)
    monkeypatch.setattr(admission, "ARRIVAL", 5.0)
    question = json.dumps({"request": about(named())}).encode()
    async with serving(unused_tcp_port, lambda *_: []) as ask:
        await ask(about(named()))
        others = [await begun(unused_tcp_port, 300_000, 300_000 + len(question)) for _ in range(5)]
        await asyncio.sleep(0.2)
        assert (await ask(about(named())))[1]["allowed"] is True
        large = json.dumps({"request": about(named(spec={"x": "x" * 800_000}))}).encode()
        elsewhere = await begun(unused_tcp_port, 0, len(large), "127.0.0.2")
        elsewhere[1].write(large)
        assert b" 200 " in await elsewhere[0].readline()
        assert not any(reader.at_eof() for reader, _ in others), "nobody waits for the end of another"
        for _, writer in others[3:]:
            writer.write(question)
        for reader, _ in others[:3]:
            assert b" 408 " in await asyncio.wait_for(reader.readline(), 30), "they keep room from others"
        for reader, _ in others[3:]:
            assert b" 200 " in await asyncio.wait_for(reader.readline(), 30), "their time begins when there is room"
        for _, writer in [*others, elsewhere]:
            writer.close()


async def test_many_concurrent_large_requests_all_get_responses(unused_tcp_port: int) -> None:
    large = json.dumps({"request": about(named(spec={"x": "x" * 2_800_000}))}).encode()
    async with serving(unused_tcp_port, lambda *_: []) as ask:
        await ask(about(named()))
        answers = await asyncio.gather(*(ask(None, large) for _ in range(40)))
    assert [status for status, _ in answers] == [200] * 40


async def test_expensive_requests_follow_those_of_others_and_smaller_ones(unused_tcp_port: int) -> None:
    """However many of them wait."""
    order: list[str] = []
    go = threading.Event()

    def check(obj: Any, *given: Any) -> list[str]:
        order.append(obj["metadata"]["name"])
        if order[-1] == "costly":
            go.wait(60)
        return []

    def asked(name: str, size: int) -> bytes:
        return json.dumps({"request": about({"metadata": {"name": name}, "spec": "x" * size})}).encode()

    async with serving(unused_tcp_port, check) as ask:
        await ask(None, asked("first", 1))
        costly = asyncio.gather(*(ask(None, asked("costly", 50_000)) for _ in range(20)))
        await asyncio.sleep(0.2)
        elsewhere = await begun(unused_tcp_port, 0, len(asked("elsewhere", 50_000)), "127.0.0.2")
        elsewhere[1].write(asked("elsewhere", 50_000))
        small = asyncio.create_task(ask(None, asked("small", 1)))
        await asyncio.sleep(1)
        go.set()
        assert b" 200 " in await elsewhere[0].readline()
        await asyncio.gather(small, costly)
        elsewhere[1].close()
    assert len(order) == 23
    assert max(order.index("small"), order.index("elsewhere")) <= 12, order


async def test_a_client_that_disconnects_during_the_response_is_no_fault(
    unused_tcp_port: int, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    context, trusting = contexts(tmp_path)
    question = json.dumps({"request": about(named())}).encode()

    def check(obj: Any, old: Any, dry_run: bool) -> list[str]:
        time.sleep(0.1)
        return []

    served = Admission(ThreadReviewer(check), context)
    task = asyncio.create_task(served.serve(unused_tcp_port))
    (await connected(unused_tcp_port, "127.0.0.1")).close()
    for pause in (0.0, 0.05) * 3:
        _, writer = await asyncio.open_connection("127.0.0.1", unused_tcp_port, ssl=trusting)
        writer.write(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(question) + question)
        await writer.drain()
        await asyncio.sleep(pause)
        writer.transport.abort()
    await until(lambda: not served._server._count)
    await asyncio.sleep(0.5)
    assert served._slots._shares.unused
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not caplog.records


async def test_of_very_many_connections_those_without_a_question_are_closed(
    unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "CONNECTIONS", 10)
    came, go = threading.Event(), threading.Event()

    def check(*given: Any) -> list[str]:
        came.set()
        go.wait(60)
        return []

    async with serving(unused_tcp_port, check) as ask:
        assert (await ask(None, b"{"))[0] == 400
        asking = asyncio.create_task(ask(about(named())))
        await until(came.is_set)
        others = [await asyncio.open_connection("127.0.0.1", unused_tcp_port) for _ in range(30)]
        for reader, _ in others[:21]:
            assert await asyncio.wait_for(reader.read(), 30) == b""
        go.set()
        assert (await asking)[1]["allowed"] is True
        assert not others[-1][0].at_eof()
        for _, writer in others:
            writer.close()


async def test_too_many_concurrent_requests_are_rejected(unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "TURN", 0.1)

    def check(*given: Any) -> list[str]:
        time.sleep(0.1)
        return []

    async with serving(unused_tcp_port, check) as ask:
        answers = await asyncio.gather(*(ask(about(named())) for _ in range(32)))
    assert {status for status, _ in answers} == {200, 503}


MANY, FEW = 200_000, VALUES - 100


def floods(many: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Specs of one kind each that are wrong, or odd, very many times."""
    fields, cloud = {f"k{n}": 0 for n in range(many)}, {"openstack_version": "epoxy", "preset": "core"}
    yield from ((resource.KIND.kind, fields) for resource in ADMITTED)
    yield "OpenStackDeployment", {**cloud, "features": fields}
    yield "OpenStackDeployment", {**cloud, "features": {"services": ["x"] * many}}
    yield "OpenStackDeployment", {**cloud, "common": {"charts": {"values": fields}}}
    yield "OpenStackDeployment", {**cloud, "common": {"charts": {"values": {"conf": {"x": fields}}}}}
    yield "OpenStackDeployment", {**cloud, "services": {name: {} for name in fields}}
    yield "OpenStackDeployment", {**cloud, "services": {"identity": {name: {} for name in fields}}}
    similar = {f"{n:05}keystnoe": {} for n in range(many)}
    yield "OpenStackDeployment", {**cloud, "size": "single", "services": similar}
    yield "OpenStackDeployment", {**cloud, "size": "single", "services": {"identity": similar}}
    yield "OpenStackDeployment", {**cloud, "size": "single", "common": {"charts": {"releases": similar}}}
    yield "HelmBundle", {"releases": [{"name": "a", "chart": name} for name in similar][: many // 3]}
    yield "HelmBundle", {"releases": [{}] * many}
    yield "HelmBundle", {"releases": [{"name": "a", "chart": "x"}] * (many // 3)}


@pytest.mark.parametrize("many", [MANY, FEW])
def test_very_many_errors_of_any_type_are_found_fast_and_not_all_reported(many: int) -> None:
    check = partial(errors_of, settings=settings(Options()))
    for kind, spec in floods(many):
        obj = {"apiVersion": "x", "kind": kind, "metadata": {"name": "a", "namespace": "b"}, "spec": spec}
        began = time.process_time()
        errors = check(obj, None, False)
        assert time.process_time() - began < 5, f"seconds for {kind}"
        assert 0 < len(errors) <= ERRORS + 1, kind
        assert all(len(error) <= LONG for error in errors), kind
        assert (errors == [f"spec: must have at most {VALUES} values"]) == (many == MANY), kind
    assert (errors[-1] == MORE) == (len(errors) > ERRORS)


def test_objects_of_an_earlier_version_can_be_reduced() -> None:
    check = partial(errors_of, settings=settings(Options()))
    cloud = {"openstack_version": "epoxy", "preset": "core", "size": "single"}
    for kind, spec in floods(MANY):
        obj = {"kind": "OpenStackDeployment", "metadata": {"name": "a", "namespace": "b"}, "spec": cloud}
        began = time.process_time()
        assert check(obj, {**obj, "spec": spec}, False) == [], kind
        assert time.process_time() - began < 5, "seconds"


def test_metadata_of_objects_of_an_earlier_version_can_be_changed() -> None:
    check = partial(errors_of, settings=settings(Options()))
    for kind, spec in dict(floods(MANY)).items():
        old = {"apiVersion": "x", "kind": kind, "metadata": {"name": "a", "namespace": "b"}, "spec": spec}
        new_spec = copy.deepcopy(spec)
        new = {**old, "metadata": {"name": "a", "namespace": "b", "labels": {"a": "b"}}, "spec": new_spec}
        began = time.process_time()
        assert check(new, old, False) == [], kind
        assert time.process_time() - began < 5, "seconds"
        new_spec["another"] = 1
        assert check(new, old, False) == [f"spec: must have at most {VALUES} values"], kind


CLOUD = {"openstack_version": "epoxy", "preset": "core"}
RULE = {"name": "r", "direction": "ingress", "protocol": "none"}
INVALID: list[tuple[str, dict[str, Any]]] = [
    ("OpenStackDeployment", {**CLOUD, "size": "gone"}),
    ("OpenStackDeployment", {**CLOUD, "size": "tiny", "services": {"identity": {"gone": {"values": {}}}}}),
    ("OpenStackDeployment", {**CLOUD, "size": "tiny", "region_name": "r" * 256}),
    ("OpenStackControlPlane", {"gone": 1}),
    ("HelmBundle", {"releases": [{"name": "a", "chart": "gone"}]}),
    ("OpenStackServer", {"gone": 1}),
    (
        "OpenStackCluster",
        {
            "identityRef": {"name": "a", "cloudName": "b"},
            "managedSecurityGroups": {"workerNodesSecurityGroupRules": [RULE]},
        },
    ),
]


@pytest.mark.parametrize(("kind", "spec"), INVALID)
def test_metadata_of_a_stored_object_that_is_invalid_now_can_be_changed(kind: str, spec: dict[str, Any]) -> None:
    check = partial(errors_of, settings=settings(Options()))
    old = {"apiVersion": "x", "kind": kind, "metadata": {"name": "a", "namespace": "b"}, "spec": spec}
    assert check(old, None, False)
    changes = ({"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"finalizers": ["a.b/c"]}, {"ownerReferences": []})
    for change in changes:
        new = {**old, "metadata": {"name": "a", "namespace": "b", **change}, "spec": copy.deepcopy(spec)}
        assert check(new, old, False) == []
    assert check({**old, "spec": {**spec, "another": 1}}, old, False)


def test_a_value_of_another_type_is_a_change_even_if_python_finds_it_equal() -> None:
    def cloud(replicas: Any) -> dict[str, Any]:
        values = {"pod": {"replicas": {"server": replicas}}}
        spec = {**CLOUD, "size": "tiny", "common": {"charts": {"values": values}}}
        return {"kind": "OpenStackDeployment", "metadata": {"name": "a", "namespace": "b"}, "spec": spec}

    check = partial(errors_of, settings=settings(Options()))
    assert check(cloud(1), cloud(1)) == []
    assert check(cloud(True), cloud(1))


def test_a_wrong_annotation_is_refused_beside_an_unchanged_spec() -> None:
    old = {"kind": "OpenStackControlPlane", "metadata": {"name": "a", "namespace": "b"}, "spec": {"gone": 1}}
    new = {**old, "metadata": {**old["metadata"], "annotations": {STAGE: "none"}}}
    (error,) = errors_of(new, old)
    assert error.startswith(f"metadata.annotations.{STAGE}: ")


def test_values_are_counted_at_every_depth() -> None:
    deep: Any = 0
    for _ in range(5000):
        deep = [deep]
    assert not has_more(deep, 5001)
    assert has_more(deep, 5000)
    assert not has_more({"a": {"b": [1, 2]}, "c": None}, 6)
    assert has_more({"a": {"b": [1, 2]}, "c": None}, 5)


async def test_an_exception_of_a_review_whose_client_left_is_counted() -> None:
    before = metrics.FAULTS.labels("admission")._value.get()
    begun, goes_on = threading.Event(), threading.Event()

    def check(*given: Any) -> list[str]:
        begun.set()
        goes_on.wait(20)
        raise KeyError

    server = Admission(ThreadReviewer(check), None)
    body = bytearray(json.dumps({"request": about(named())}).encode())
    sent = asyncio.create_task(server._answered("192.0.2.1", body, asyncio.get_running_loop().time() + 60))
    await until(begun.is_set)
    sent.cancel()
    goes_on.set()
    await asyncio.gather(sent, return_exceptions=True)
    assert metrics.FAULTS.labels("admission")._value.get() == before + 1


async def test_a_client_that_leaves_keeps_its_slot_until_its_check_ends() -> None:
    """Else the bodies of clients that leave would be queued for the thread, where no limit counts them."""
    begun: list[str] = []
    goes_on = threading.Event()

    def check(obj: Any, old: Any, dry_run: bool) -> list[str]:
        begun.append(obj["metadata"]["name"])
        goes_on.wait(20)
        return []

    reviewer = ThreadReviewer(check)
    server = Admission(reviewer, None)
    until_ = asyncio.get_running_loop().time() + 60

    def sent(name: str) -> asyncio.Task[Any]:
        body = json.dumps({"request": about({"metadata": {"name": name}})}).encode()
        return asyncio.create_task(server._answered("192.0.2.1", bytearray(body), until_))

    first = sent("first")
    await until(lambda: bool(begun))
    first.cancel()
    others = [sent(f"{number}") for number in range(9)]
    await asyncio.sleep(0.1)
    assert begun == ["first"]
    assert reviewer.waiting == 1
    assert not first.done()
    for other in others[1:]:
        other.cancel()
    goes_on.set()
    assert (await others[0]).status == 200
    assert begun == ["first", "0"]
    assert first.cancelled()
