"""`stackwright smoke`: an end-to-end test of a cloud through its public API."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stackwright.cli import common
from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, NamespaceOption
from stackwright.cli.common import say

if TYPE_CHECKING:
    from stackwright.core.openstack.deployed.access import Access
    from stackwright.smoke.checks import Check
    from stackwright.smoke.run import Result
    from stackwright.smoke.stage import Stage

INTERRUPTED = "Created resources are deleted; the next `stackwright smoke` deletes those that remain."


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


def smoke(
    checks: Annotated[str, typer.Option(metavar="A,B", help="Run only these checks and those that they need.")] = "",
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Write the results as JUnit XML to this file, too."),
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="Output format.")] = Output.TEXT,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the created resources until the next run, for inspection.")
    ] = False,
    namespace: NamespaceOption = NAMESPACE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Test a cloud end to end: start a virtual machine through the public API and use it as a user would.

    The test uses its own project and user, and deletes all resources that it created, also those of an earlier,
    killed run. The exit code is 0 if all checks passed.

    The checks: login, image, flavors, network, boot, dhcp, metadata, ping, ssh, security-groups, console, reboot,
    resize; with the service orchestration stack, with key-manager secret, with dns zone.

    For example:

      stackwright smoke

      stackwright smoke --checks boot,ping --keep

      stackwright smoke --junit smoke.xml -o json
    """
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.failures import exit_on_local_error, fail, run
    from stackwright.cli.state.access import read_access
    from stackwright.smoke.checks import chosen
    from stackwright.smoke.ports import Failed

    named = [name.strip() for name in checks.split(",") if name.strip()]
    try:
        wanted = chosen(named)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--checks") from error

    async def work() -> Access:
        async with connected(kubeconfig) as cluster:
            return await read_access(cluster, namespace)

    access = run(work())
    with exit_on_local_error(INTERRUPTED), _terminated_as_interrupted(), _folder(keep) as folder:
        try:
            stage = _stage(access, folder)
        except Failed as error:
            fail(str(error))
        for each in wanted:
            if each.name in named and each.service and each.service not in stage.services:
                fail(f"--checks {each.name}: the cloud has no service {each.service}")
        results = _run(stage, wanted, output, keep=keep)
    _tell(results, output, junit)


def _run(stage: Stage, wanted: list[Check], output: Output, *, keep: bool) -> list[Result]:
    from stackwright.cli.ui.progress import progress, silent
    from stackwright.smoke.run import run

    if output is Output.JSON:
        return run(stage, wanted, silent, lambda result: None, keep=keep)
    results = run(stage, wanted, progress(), _line, keep=keep)
    if keep and stage.project:
        common.echo(f"Kept until the next run: project {stage.project.name}, key {stage.key}, {stage.made.floating}")
    return results


def _line(result: Result) -> None:
    """Details that the status line does not show: the cause, or the observation."""
    from stackwright.smoke.run import PASSED, SKIPPED

    if result.outcome == SKIPPED:
        say(f" - {result.title}: skipped, {result.message}")
    elif result.message:
        text = result.message if result.outcome == PASSED else result.message.replace("\n", "\n     ")
        say(f"     {text}")


def _tell(results: list[Result], output: Output, junit: Path | None) -> None:
    from stackwright.cli.ui.output import Data, dumped
    from stackwright.smoke import report

    written = junit is None or _written(junit, report.junit(results))
    data = report.as_dict(results)
    if output is Output.JSON:
        common.data(dumped(data, Data.JSON))
    else:
        passed = sum(each["outcome"] == "passed" for each in data["checks"])
        common.echo(f"{passed} of {len(results)} passed in {data['seconds']:.0f} s")
    if not data["passed"] or not written:
        raise typer.Exit(1)


def _written(junit: Path, text: str) -> bool:
    """Whether the file could be written; the results are printed in any case."""
    try:
        junit.write_text(text)
    except OSError as error:
        common.echo(f"--junit {junit}: {error.strerror}", err=True)
        return False
    return True


def _stage(access: Access, folder: Path) -> Stage:
    from stackwright.smoke.host import RealHost
    from stackwright.smoke.leftovers import PREFIX
    from stackwright.smoke.openstack.projects import ProjectsApi, administrator, tenant
    from stackwright.smoke.stage import Stage

    ca = folder / "ca.crt"
    ca.write_text(access.ca)
    host = RealHost(ca)
    admin = administrator(access, str(ca))
    return Stage(
        name=f"{PREFIX}{secrets.token_hex(4)}",
        projects=ProjectsApi(admin, access, str(ca)),
        admin=tenant(admin),
        host=host,
        guest=_guest,
        folder=folder,
        services=access.services,
    )


def _guest() -> Path:
    from stackwright.local.commands import LocalError
    from stackwright.local.config import LocalCluster
    from stackwright.local.image.guest import guest_image
    from stackwright.smoke.ports import Failed

    try:
        return guest_image(LocalCluster.discover())
    except LocalError as error:
        raise Failed(f"The guest image cannot be built on this machine: {error}") from error


@contextmanager
def _folder(keep: bool) -> Iterator[Path]:
    """The folder of the key, readable only by this user."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="stackwright-smoke-"))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM cleans up in the same way as Ctrl-C."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
