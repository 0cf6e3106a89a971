"""HelmCli with a stand-in for the program: messages of errors, chart digests, and Helm's records."""

from __future__ import annotations

import asyncio
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.adapters.helm import command, output
from stackwright.adapters.helm.command import (
    KUBERNETES,
    ConcurrencyLimit,
    HelmCli,
    chart_digest,
    chart_digests,
    failure,
)
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.helm.records import releases
from stackwright.core.plan import HelmUpgrade
from support.paths import ROOT


def program(folder: Path, script: str) -> str:
    path = folder / "helm"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def chart(folder: Path, name: str = "keystone") -> Path:
    made = folder / "charts" / name
    made.mkdir(parents=True)
    (made / "Chart.yaml").write_text(f"name: {name}\n")
    return made


def upgrade(**changes: Any) -> HelmUpgrade:
    fields: dict[str, Any] = {
        "release": ("openstack", "keystone"), "chart": "keystone", "version": "", "values": {"a": "secret"},
        "digest": "d1", "owner": {"metadata": {"namespace": "openstack", "name": "openstack-keystone"}},
    }  # fmt: skip
    return HelmUpgrade(**{**fields, **changes})


async def test_upgrade_calls_helm_once_with_a_private_values_file(tmp_path: Path) -> None:
    chart(tmp_path)
    script = (
        f'echo "$@" > {tmp_path}/args; for a; do case $a in *values*.json) stat -c %a $a > {tmp_path}/mode; esac; done'
    )
    helm = HelmCli(tmp_path / "charts", binary=program(tmp_path, script), kubeconfig="/k")
    await helm.upgrade(upgrade())
    helm.close()
    words = (tmp_path / "args").read_text().split()
    assert words[:4] == ["upgrade", "--install", "keystone", str(tmp_path / "charts/keystone")]
    labels = "stackwright.dev/digest=d1,stackwright.dev/bundle=openstack.openstack-keystone,"
    assert f"--labels {labels}" in " ".join(words)
    assert "--wait" not in words
    assert "--reset-values" in words, "without a value Helm would keep those of before"
    values = Path(words[words.index("--values") + 1])
    assert (tmp_path / "mode").read_text().strip() == oct(stat.S_IRUSR | stat.S_IWUSR)[2:]
    assert not values.exists()


async def test_charts_are_rendered_for_a_supported_version_of_kubernetes(tmp_path: Path) -> None:
    """Without a cluster, Helm assumes a version that may be older than a chart requires."""
    chart(tmp_path)
    helm = HelmCli(tmp_path / "charts", binary=program(tmp_path, 'echo "$@"'))
    words = (await helm.render("keystone", {}, ("openstack", "keystone"))).split()
    helm.close()
    assert words[words.index("--kube-version") + 1] == KUBERNETES
    operator = yaml.safe_load((ROOT / "charts/stackwright/Chart.yaml").read_text())
    assert operator["kubeVersion"] == f">={KUBERNETES}-0"


async def test_helm_has_its_own_folders_and_the_given_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELM_NAMESPACE", "wrong")
    helm = HelmCli(binary=program(tmp_path, f"env > {tmp_path}/env"), kubeconfig="/k")
    await helm.uninstall(("openstack", "keystone"))
    env = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines() if "=" in line)
    assert env["KUBECONFIG"] == "/k"
    assert "HELM_NAMESPACE" not in env
    assert env["HELM_CACHE_HOME"].startswith(helm._home.name)
    helm.close()


async def test_concurrent_calls_are_limited(tmp_path: Path) -> None:
    script = (
        f"touch {tmp_path}/run.$$; ls {tmp_path}/run.* | wc -l >> {tmp_path}/count; sleep 0.2; rm {tmp_path}/run.$$"
    )
    helm = HelmCli(binary=program(tmp_path, script), parallel=2)
    await asyncio.gather(*(helm.uninstall(("n", str(i))) for i in range(5)))
    helm.close()
    assert max(int(line) for line in (tmp_path / "count").read_text().split()) == 2


async def test_one_namespace_never_has_all_slots_and_another_is_served_next(tmp_path: Path) -> None:
    path = tmp_path / "ran"
    helm = HelmCli(binary=program(tmp_path, f"echo $2 >> {path}; sleep 0.2"), parallel=4, share=3)
    many = [asyncio.create_task(helm.uninstall(("tenant", f"t{number}"))) for number in range(30)]
    await asyncio.sleep(0)
    await helm.uninstall(("openstack", "keystone"))
    begun = path.read_text().split()
    assert "keystone" in begun[:4], "one is left for others"
    others = [asyncio.create_task(helm.uninstall((f"n{number}", f"n{number}"))) for number in range(4)]
    await asyncio.gather(*others)
    assert len(path.read_text().split()) <= len(begun) + 12, "the many do not come first"
    for task in many:
        task.cancel()
    await asyncio.gather(*many, return_exceptions=True)
    helm.close()


@pytest.mark.looptime
async def test_slots_are_granted_in_turn_and_none_is_lost() -> None:
    turns, most, now, ended = ConcurrencyLimit(4, 3), Counter[str](), Counter[str](), list[str]()

    async def call(namespace: str) -> None:
        async with turns.of(namespace, 300):
            now[namespace] += 1
            most[namespace] = max(most[namespace], now[namespace])
            most["all"] = max(most["all"], now.total())
            await asyncio.sleep(10)
            now[namespace] -= 1
            ended.append(namespace)

    tenant = [asyncio.create_task(call("tenant")) for _ in range(20)]
    await asyncio.sleep(5)
    cloud = [asyncio.create_task(call("cloud")) for _ in range(2)]
    await asyncio.sleep(1)
    tenant[5].cancel()
    await asyncio.gather(*tenant, *cloud, return_exceptions=True)
    assert most == {"tenant": 3, "cloud": 2, "all": 4}
    assert ended[:6].count("cloud") == 2
    assert ended.count("tenant") == 19
    assert turns._slots._shares.unused


@pytest.mark.looptime
async def test_a_caller_without_a_slot_times_out() -> None:
    turns = ConcurrencyLimit(4, 3)

    async def call(namespace: str, seconds: float) -> None:
        async with turns.of(namespace, 300):
            await asyncio.sleep(seconds)

    many = [asyncio.create_task(call("tenant", 500)) for _ in range(5)]
    results = await asyncio.gather(*many, return_exceptions=True)
    assert [type(each) for each in results] == [type(None)] * 3 + [TransientError] * 2
    assert "other releases of namespace tenant" in str(results[4])
    await call("tenant", 1)


@pytest.mark.looptime
async def test_a_slot_granted_at_the_timeout_passes_to_the_next_caller() -> None:
    turns, go = ConcurrencyLimit(1, 1), asyncio.Event()

    async def call() -> None:
        async with turns.of("n", 300):
            await go.wait()

    first, second, third = (asyncio.create_task(call()) for _ in range(3))
    await asyncio.sleep(0.5)
    go.set()
    await asyncio.sleep(0)  # the first has ended, and the second has not yet noticed its turn
    second.cancel()
    await asyncio.gather(first, third)
    assert second.cancelled()
    assert turns._slots._shares.unused


async def test_records_are_checked_when_helm_starts_and_not_while_it_waits(tmp_path: Path) -> None:
    """A change of a record while other calls of Helm run is detected."""
    told: list[str] = []

    class Records:
        async def list(self, kind: Any, namespace: str = "", labels: Any = None) -> list[Any]:
            told.append("check")
            return []

    path = tmp_path / "ran"
    helm = HelmCli(binary=program(tmp_path, f"echo helm >> {path}; sleep 0.2"), parallel=1, records=Records())  # type: ignore[arg-type]
    first = asyncio.create_task(helm.uninstall(("n", "a")))
    while not path.exists():
        await asyncio.sleep(0.01)
    second = asyncio.create_task(helm.uninstall(("n", "b")))
    await asyncio.sleep(0.05)
    assert told == ["check"], "the second has not its turn yet"
    await asyncio.gather(first, second)
    assert told == ["check", "check"]
    helm.close()


async def test_a_process_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    helm = HelmCli(binary=program(tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 60"), timeout=0.3)
    with pytest.raises(TransientError, match="took longer"):
        await helm.uninstall(("n", "x"))
    helm.close()
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


async def test_an_unknown_chart_is_refused(tmp_path: Path) -> None:
    helm = HelmCli(tmp_path)
    with pytest.raises(TerminalError, match="chart nothing does not exist"):
        await helm.upgrade(upgrade(chart="nothing"))
    helm.close()


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        (
            'coalesce.go:289: warning: x\nError: UPGRADE FAILED: template: keystone/templates/a.yaml:1:3: executing "a"'
            " at <.Values.x>: nil pointer",
            TerminalError,
            "helm upgrade: template: keystone/templates/a.yaml:1:3",
        ),
        (
            "Error: INSTALLATION FAILED: values don't meet the specifications of the schema(s) in these charts:"
            "\nkeystone:\n- at '/pod': additional properties 'replica' not allowed\n",
            TerminalError,
            "values don't meet",
        ),
        (
            "Error: UPGRADE FAILED: Kubernetes cluster unreachable: dial tcp: connection refused",
            TransientError,
            "unreachable",
        ),
        (
            "Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress",
            TransientError,
            "another operation",
        ),
        (
            "Error: UPGRADE FAILED: error while running post render on files: error while running command python. "
            "error output:\n: signal: killed",
            TransientError,
            "signal: killed",
        ),
        ("", TerminalError, "without a message"),
    ],
)
def test_errors_in_words(text: str, kind: type[Exception], words: str) -> None:
    error = failure("upgrade", text)
    assert type(error) is kind
    assert words in str(error)
    assert "coalesce" not in str(error)


def test_chart_digest_sees_each_file_and_the_linked_library(tmp_path: Path) -> None:
    made = chart(tmp_path)
    library = tmp_path / "charts/lib"
    library.mkdir()
    (library / "shapes.tpl").write_text("a")
    (made / "charts").mkdir()
    (made / "charts/lib").symlink_to("../../lib")
    first = chart_digest(made)
    assert chart_digest(made) == first
    (library / "shapes.tpl").write_text("b")
    os.utime(library / "shapes.tpl", (1, 1))  # another time than before, however coarse the file system's clock is
    second = chart_digest(made)
    assert second != first
    os.utime(library / "shapes.tpl")
    assert chart_digest(made) == second
    (made / "__pycache__").mkdir()
    (made / "__pycache__" / "script.pyc").write_text("compiled")
    assert chart_digest(made) == second, "who runs a script of the chart does not change the chart"
    (made / "new.yaml").write_text("")
    assert chart_digest(made) != second
    assert set(chart_digests(tmp_path / "charts")) == {"keystone"}


def test_the_library_chart_is_not_one_to_install() -> None:
    assert "keystone" in chart_digests()
    assert "lib" not in chart_digests()


def record(name: str, revision: int, status: str, **labels: str) -> dict[str, Any]:
    more = {"owner": "helm", "name": name, "version": str(revision), "status": status, **labels}
    return {"metadata": {"namespace": "n", "name": f"sh.helm.release.v1.{name}.v{revision}", "labels": more}}


def test_the_newest_record_of_each_release() -> None:
    secrets = [
        record("a", 9, "deployed"),
        record("a", 10, "failed", modifiedAt="7", **{"stackwright.dev/digest": "d"}),
        record("a", 8, "superseded"),
        record("b", 1, "pending-install"),
        {"metadata": {"name": "other"}},
        {"metadata": {"name": "other", "labels": {"owner": "helm"}}},
    ]
    found = releases(secrets)
    assert set(found) == {"a", "b"}
    a = found["a"]
    assert (a.revision, a.state, a.digest, a.updated, a.deployed_revision) == (10, "failed", "d", 7.0, 9)
    assert a.secret == "sh.helm.release.v1.a.v10"
    assert (found["b"].deployed_revision, found["b"].digest) == (0, "")


def test_a_record_has_the_age_of_its_secret_despite_a_copied_label() -> None:
    newer = record("a", 2, "deployed", modifiedAt="100")
    newer["metadata"]["creationTimestamp"] = "1970-01-01T00:10:00Z"
    assert releases([record("a", 1, "superseded", modifiedAt="100"), newer])["a"].updated == 600.0
    newer["metadata"]["labels"]["modifiedAt"] = "700"
    assert releases([newer])["a"].updated == 700.0


def test_errors_omit_the_warning_about_linked_chart_libraries() -> None:
    text = (
        "walk.go:75: found symbolic link in path: /x/stackwright-lib resolves to /x/lib\nError: replicas: Invalid type"
    )
    assert "symbolic" not in str(failure("upgrade", text))
    assert "replicas: Invalid type" in str(failure("upgrade", text))


def test_an_error_has_no_varying_warnings_of_a_client():
    """klog writes time, process and line of code before each, and how often it warns depends on time, too."""
    warning = 'memcache.go:287] "Unhandled Error" err="couldn\'t get resource list for metrics.k8s.io/v1beta1"\n'
    end = "Error: UPGRADE FAILED: unable to build objects: the server is currently unable to handle the request"
    first = failure("upgrade", f"E1125 21:23:32.123456   12345 {warning}{end}")
    second = failure("upgrade", f"E1126 08:03:33.223456     987 {warning}E1126 08:03:34.3     987 {warning}{end}")
    assert str(first) == str(second)
    assert str(first).startswith('helm upgrade: "Unhandled Error" err="couldn\'t get resource list')
    assert str(first).endswith("unable to handle the request")


@pytest.mark.parametrize("stream", [1, 2])
async def test_a_process_that_writes_too_much_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: int
) -> None:
    monkeypatch.setattr(output, "MOST", 1 << 20)
    helm = HelmCli(binary=program(tmp_path, f"echo $$ > {tmp_path}/pid; exec yes >&{stream}"))
    with pytest.raises(TerminalError, match="helm wrote more than 1 MiB"):
        await helm.uninstall(("n", "x"))
    helm.close()
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


async def test_a_process_that_is_ended_while_it_writes_frees_its_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """asyncio would wait for ever for the end of a process whose output nobody reads."""
    read, calls = output.output, list[Any]()

    async def stuck_at_first(process: Any) -> tuple[bytes, bytes]:
        calls.append(process)
        if len(calls) == 1:
            await asyncio.Event().wait()
        return await read(process)

    monkeypatch.setattr(command, "output", stuck_at_first)
    monkeypatch.setattr(output, "MOST", 1 << 20)
    helm = HelmCli(binary=program(tmp_path, "exec yes"), timeout=0.5)
    with pytest.raises(TransientError, match="took longer"):
        await helm.uninstall(("n", "x"))
    helm.close()
