"""The process that reviews requests: real, and ended by a review that takes too much of the machine."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from stackwright.core.settings import Settings
from stackwright.runtime.webhook import process, review
from stackwright.runtime.webhook.process import COMMAND, EXPENSIVE, ReviewProcess
from support.waiting import until

# A process whose check does what the object's name says.
SCRIPT = """
import os, signal, sys, time
from stackwright import reviewer
def check(obj, old, dry_run):
    match obj["metadata"]["name"]:
        case "spins":
            while True: pass
        case "searches":
            import re
            re.search("(a+)+$", "a" * 40 + "b")
        case "grows": bytearray(1 << 30)
        case "hoards": sum([list(range(1000)) for _ in range(10 ** 6)], [])
        case "hangs": time.sleep(600)
        case "thinks": time.sleep(1)
        case "raises": raise KeyError("hunter2")
        case "prints": print("{}", flush=True)
        case "dies": os._exit(7)
    return []
reviewer.PROCESSOR = 0.5
reviewer.main(check)
"""


def body(name: str, **spec: Any) -> bytearray:
    obj = {"kind": "X", "metadata": {"name": name}, "spec": spec}
    return bytearray(json.dumps({"request": {"uid": "u", "object": obj}}).encode())


@asynccontextmanager
async def reviewing(*command: str) -> AsyncIterator[ReviewProcess]:
    made = ReviewProcess(Settings(), command or (sys.executable, "-c", SCRIPT))
    await made.start()
    try:
        yield made
    finally:
        await made.close()


def pid(reviewer: ReviewProcess) -> int:
    assert reviewer._process
    return reviewer._process.pid


def lives(number: int) -> bool:
    stat = Path(f"/proc/{number}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("name", ["spins", "searches", "grows", "hoards"])
async def test_review_that_takes_too_much_is_refused_and_the_next_one_served(name: str) -> None:
    async with reviewing() as reviewer:
        first = pid(reviewer)
        found = await reviewer.review(body(name))
        assert (found.status, found.text) == (413, EXPENSIVE)
        assert pid(reviewer) != first
        assert not lives(first)
        assert (await reviewer.review(body("next"))).status == 200


async def test_process_that_hangs_or_ends_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    async with reviewing() as reviewer:
        assert (await reviewer.review(body("first"))).status == 200
        found = await reviewer.review(body("dies"))
        assert (found.status, found.text) == (503, "the process that checks objects ended with 7")
        assert (await reviewer.review(body("second"))).status == 200
        monkeypatch.setattr(process, "PATIENCE", 0.5)
        assert (await reviewer.review(body("hangs"))).status == 503
        monkeypatch.undo()
        number = pid(reviewer)
        os.kill(number, signal.SIGKILL)
        await until(lambda: reviewer._process is not None and reviewer._process.returncode is not None)
        assert (await reviewer.review(body("third"))).status == 200, "its process ended before the request"


async def test_process_without_requests_ends_and_the_next_request_starts_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "IDLE", 0.5)
    async with reviewing() as reviewer:
        unused = pid(reviewer)
        await until(lambda: not lives(unused))
        assert (await reviewer.review(body("first"))).status == 200
        used = pid(reviewer)
        await until(lambda: not lives(used))
        assert (await reviewer.review(body("second"))).status == 200


async def test_process_at_work_is_not_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "IDLE", 0.2)
    async with reviewing() as reviewer:
        assert (await reviewer.review(body("thinks"))).status == 200


async def test_end_of_the_operator_awaits_an_idle_process() -> None:
    async with reviewing() as reviewer:
        number = pid(reviewer)
        reviewer._end_idle()
        await reviewer.close()
        assert not lives(number)


async def test_process_that_never_reads_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PATIENCE", 0.5)
    made = ReviewProcess(Settings(images={"x": "y" * 200_000}), (sys.executable, "-c", "import time; time.sleep(600)"))
    assert (await made.review(body("first"))).status == 503
    await made.close()


async def test_empty_request_is_rejected_and_ends_no_process() -> None:
    async with reviewing() as reviewer:
        number = pid(reviewer)
        assert (await reviewer.review(bytearray())).status == 400
        assert pid(reviewer) == number


async def test_end_during_a_start_leaves_no_process() -> None:
    made = ReviewProcess(Settings(), (sys.executable, "-c", SCRIPT))
    task = asyncio.create_task(made.start())
    await asyncio.sleep(0)
    await made.close()
    await task
    assert made._process is None


async def test_review_after_the_end_starts_no_process() -> None:
    async with reviewing() as reviewer:
        task = asyncio.create_task(reviewer.review(body("hangs")))
        await asyncio.sleep(0.3)
        await reviewer.close()
        assert (await task).status == 503
        assert reviewer._process is None
        assert (await reviewer.review(body("next"))).status == 503


async def test_processor_time_of_earlier_reviews_does_not_count() -> None:
    async with reviewing() as reviewer:
        first = pid(reviewer)
        for _ in range(40):
            assert (await reviewer.review(body("x", x=["y"] * 50_000))).status == 200
        assert pid(reviewer) == first


async def test_text_of_an_internal_error_is_hidden() -> None:
    async with reviewing() as reviewer:
        found = await reviewer.review(body("raises"))
    assert "KeyError" in found.text
    assert "hunter2" not in found.text + found.frames
    assert found.fault


async def test_process_ends_although_nobody_reads_its_output() -> None:
    """asyncio does not notice the end of such a process."""
    text = "import sys, time; sys.stdout.buffer.write(bytes(1 << 20)); sys.stdout.flush(); time.sleep(600)"
    async with reviewing(sys.executable, "-c", text) as reviewer:
        await asyncio.sleep(0.5)
        assert await asyncio.wait_for(reviewer._stop(), 10) == -signal.SIGKILL


async def test_modules_of_the_working_directory_are_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    async with reviewing(*COMMAND) as reviewer:
        assert (await reviewer.review(body("next"))).status == 200


async def test_printed_text_does_not_mix_with_responses() -> None:
    async with reviewing() as reviewer:
        assert (await reviewer.review(body("prints"))).status == 200
        assert (await reviewer.review(body("next"))).status == 200


async def test_cancelled_review_gives_no_response_to_the_next_one() -> None:
    async with reviewing() as reviewer:
        await reviewer.review(body("first"))
        task = asyncio.create_task(reviewer.review(body("hangs")))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await reviewer.review(bytearray(b"{"))).status == 400


async def test_process_ends_with_the_operator_and_ignores_ctrl_c() -> None:
    async with reviewing() as reviewer:
        await reviewer.review(body("first"))
        number = pid(reviewer)
        os.kill(number, signal.SIGINT)
        assert (await reviewer.review(body("second"))).status == 200
        assert pid(reviewer) == number
        assert reviewer._process
        assert reviewer._process.stdin
        reviewer._process.stdin.close()  # as the kernel does when the operator is killed
        await until(lambda: not lives(number))


async def test_the_operators_own_process_checks_its_kinds() -> None:
    async with reviewing(*COMMAND) as reviewer:
        obj = {"kind": "OpenStackDeployment", "metadata": {"name": "x"}, "spec": {"preset": "gone"}}
        found = await reviewer.review(bytearray(json.dumps({"request": {"uid": "u", "object": obj}}).encode()))
        assert found.status == 200
        status = json.loads(found.text)["response"]["status"]
        assert status["code"] == 422
        assert "spec.preset: 'gone' is not allowed" in status["message"]
        limits = Path(f"/proc/{pid(reviewer)}/limits").read_text()
        (data,) = (line.split()[-3] for line in limits.splitlines() if line.startswith("Max data size"))
        assert review.MEMORY < int(data) < review.MEMORY + (256 << 20)
