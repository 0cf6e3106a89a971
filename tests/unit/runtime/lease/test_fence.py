"""The fence, and the guard that ends a process which may write no more."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import pytest

from stackwright.api.kinds import CONFIGMAP
from stackwright.core.plan import Delete
from stackwright.runtime import faults
from stackwright.runtime.cycle.execute import execute
from stackwright.runtime.lease.fence import GRACE, LATE, LeaseLost, WriteFence, children, guarded, is_lost
from support.empty_api import Server


@pytest.fixture
def clock():
    return [100.0]


@pytest.fixture
def fence(clock):
    return WriteFence(lambda: clock[0])


def test_it_is_closed_until_the_lease_is_held(fence):
    with pytest.raises(LeaseLost, match="does not hold"):
        fence.check()
    assert not fence.armed and not fence.overdue()
    fence.extend(110.0)
    fence.check()


def test_it_closes_at_its_time_and_never_opens_again(fence, clock):
    """As after SIGSTOP: the renewal that was in progress then comes too late."""
    fence.extend(110.0)
    clock[0] = 109.9
    fence.check()
    fence.extend(112.0)
    clock[0] = 112.0
    with pytest.raises(LeaseLost):
        fence.extend(120.0)
    with pytest.raises(LeaseLost, match=LATE):
        fence.check()
    assert not fence.overdue()
    clock[0] += GRACE
    assert fence.overdue()


def test_refused_writes_do_not_postpone_the_end(fence, clock):
    fence.extend(110.0)
    for clock[0] in (110.5, 111.0, 111.9):
        with pytest.raises(LeaseLost):
            fence.check()
    clock[0] = 110.0 + GRACE
    assert fence.overdue()


def test_a_lost_lease_stops_writes_at_once_and_the_process_soon(fence, clock):
    fence.extend(110.0)
    fence.lost("another one holds it")
    with pytest.raises(LeaseLost, match="another one holds it"):
        fence.check()
    clock[0] += GRACE
    assert fence.overdue()


def test_a_process_that_ends_keeps_its_time_for_writes_in_progress(fence, clock):
    fence.extend(110.0)
    fence.close("the operator ends")
    with pytest.raises(LeaseLost, match="the operator ends"):
        fence.check()
    assert fence.left() == 10
    fence.ended()
    clock[0] += 1000
    assert not fence.overdue()


def test_nothing_that_handles_errors_continues_without_the_lease():
    assert not issubclass(LeaseLost, Exception)
    assert faults.ends(LeaseLost())
    group = BaseExceptionGroup("workers", [ValueError(), BaseExceptionGroup("more", [LeaseLost()])])
    assert is_lost(group) and is_lost(LeaseLost()) and not is_lost(ValueError())


def test_the_guard_ends_the_process_once_although_the_loop_hangs(fence, clock):
    """This test is the loop: it waits, and does not run the guard."""
    ended, causes = threading.Event(), []

    def act(why):
        causes.append(why)
        ended.set()

    with guarded(fence, act, tick=0.001):
        fence.extend(110.0)
        clock[0] = 110.0 + GRACE
        assert ended.wait(60)
    assert causes == [LATE]


def test_the_guard_of_a_process_that_holds_nothing_ends(fence):
    before = threading.active_count()
    with guarded(fence, lambda why: None, tick=0.001):
        guard = next(each for each in threading.enumerate() if each.name == "lease")
    guard.join(60)
    assert not guard.is_alive() and threading.active_count() <= before


def test_the_guard_stays_while_a_thread_may_still_write(fence, clock):
    """The operator has ended its tasks, but Python waits for threads."""
    ended = threading.Event()
    with guarded(fence, lambda why: ended.set(), tick=0.001):
        fence.extend(110.0)
    clock[0] = 110.0 + GRACE
    assert ended.wait(60)


HANGS = """
import subprocess, sys
from stackwright.runtime.lease.fence import WriteFence, guarded, uptime
fence = WriteFence()
helm = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
print(helm.pid, flush=True)
with guarded(fence, tick=0.01):
    fence.extend(uptime() - 60)
    while True:  # neither the loop nor Python's own end comes in between
        pass
"""


def test_a_process_that_hangs_ends_with_its_children_and_an_error():
    process = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, timeout=300, check=False)
    assert process.returncode == 1, process.stderr
    assert "another one may write" in (process.stdout + process.stderr).decode()
    helm = int(process.stdout.split()[0])
    try:
        state = Path(f"/proc/{helm}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        state = "Z"
    assert state == "Z", "Helm continues"


def test_children_are_all_processes_that_this_one_started():
    with subprocess.Popen(["sleep", "600"]) as child:
        assert child.pid in set(children())
        assert os.getpid() not in set(children())
        child.kill()


def test_children_are_also_those_of_other_threads():
    """Each thread has a list of its own."""
    started, over, pids = threading.Event(), threading.Event(), []

    def work():
        with subprocess.Popen(["sleep", "600"]) as child:
            pids.append(child.pid)
            started.set()
            over.wait(60)
            child.kill()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert started.wait(60)
        assert set(pids) <= set(children())
    finally:
        over.set()
        thread.join()


UNREAD = """
import os
from stackwright.runtime.lease.fence import end
read, write = os.pipe()
os.dup2(write, 1)
os.set_blocking(1, False)
try:
    while True:
        os.write(1, bytes(65536))
except BlockingIOError:
    os.set_blocking(1, True)
end("it hangs")
"""


def test_a_log_that_nobody_reads_does_not_delay_the_end():
    process = subprocess.run([sys.executable, "-c", UNREAD], stderr=subprocess.PIPE, timeout=120, check=False)
    assert process.returncode == 1, process.stderr


async def test_no_action_begins_without_the_lease():
    class Ports:
        cluster = None

        @staticmethod
        def fence():
            raise LeaseLost("gone")

    with pytest.raises(LeaseLost):
        await execute([Delete(CONFIGMAP, ("a", "b"))], Ports(), "stackwright-test")


WRITES = {
    "apply": lambda cluster: cluster.apply(CONFIGMAP, OBJECT, "test"),
    "create": lambda cluster: cluster.create(CONFIGMAP, OBJECT, "test"),
    "status": lambda cluster: cluster.apply_status(CONFIGMAP, OBJECT, "test"),
    "patch": lambda cluster: cluster.patch(CONFIGMAP, ("a", "b"), {}),
    "delete": lambda cluster: cluster.delete(CONFIGMAP, ("a", "b")),
    "event": lambda cluster: cluster.event(OBJECT, "Reason", "text", True),
}
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "a", "name": "b"}}


@pytest.fixture
def kubernetes():
    """A client without the Lease, and the methods of the requests that it sent."""
    sent = []

    class Api(Server):
        def _answer(self, request):
            sent.append(request.method)
            return httpx2.Response(200, json=OBJECT)

    cluster = Api().cluster
    cluster._fence = WriteFence().check
    return cluster, sent


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_the_client_sends_no_write_without_the_lease(write, kubernetes):
    cluster, sent = kubernetes
    with pytest.raises(LeaseLost):
        await write(cluster)
    assert not sent


async def test_the_client_reads_without_the_lease(kubernetes):
    cluster, sent = kubernetes
    await cluster.get(CONFIGMAP, ("a", "b"))
    assert sent == ["GET"]
