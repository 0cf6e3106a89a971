"""Helm applies a rendered manifest only if all its objects may belong to the release."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stackwright.adapters.helm import rendered
from stackwright.adapters.helm.command import HelmCli, privileged_charts
from stackwright.core.errors import TerminalError
from stackwright.core.helm.manifests import Unreadable, foreign
from stackwright.core.plan import HelmUpgrade
from support.paths import GOLDEN

GOOD = "---\n# Source: a\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: mine\ndata:\n  a: text\n"
RBAC = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {}\nmetadata: {{name: 'a:b'}}\n"
CLASS = "---\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: public}\n"
VICTIM = GOOD.replace("namespace: mine", "namespace: victim")
APART = ("stackwright", "local-volume-provisioner")  # these are no releases of HelmBundles
CHARTS = sorted(path for path in (GOLDEN / "charts").glob("*/*/rendered.yaml") if path.parents[1].name not in APART)


@pytest.mark.parametrize("path", CHARTS, ids=lambda path: "-".join(path.parts[-3:-1]))
def test_all_that_shipped_charts_render_is_accepted(path: Path) -> None:
    privileged = path.parents[1].name in privileged_charts()
    assert foreign(path.read_text(), "openstack", privileged) == ""


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        (VICTIM, "ConfigMap a in namespace victim, not in mine"),
        (VICTIM.replace("victim", "'x\ty'"), "ConfigMap a in namespace (no valid name), not in mine"),
        (RBAC.format("ClusterRole"), "ClusterRole a:b, of a kind that this chart may not create"),
        (GOOD.replace("ConfigMap", "Secret"), "Secret a, of a kind that this chart may not create"),
        (GOOD.replace("v1\n", "evil.dev/v1\n"), "ConfigMap a, of a kind that this chart may not create"),
        (GOOD.replace("name: a\n", "name: |\n    se\n    cret\n"), ""),
        ("---\nkind: 'pass word'\n", "(no valid name) (no valid name), of a kind that this chart may not create"),
    ],
)
@pytest.mark.parametrize("privileged", [False, True])
def test_any_other_object_is_named_without_its_content(manifest: str, problem: str, privileged: bool) -> None:
    assert foreign(GOOD, "mine", privileged) == ""
    assert foreign(GOOD + manifest, "mine", privileged) == problem


@pytest.mark.parametrize("manifest", [RBAC.format("Role"), RBAC.format("RoleBinding"), CLASS])
def test_only_charts_with_rights_grant_rights(manifest: str) -> None:
    """Every user who may create HelmBundles can install the other ones."""
    assert foreign(GOOD + manifest, "mine", privileged=True) == ""
    assert foreign(GOOD + manifest, "mine", privileged=False).endswith(", of a kind that this chart may not create")


def test_a_text_that_parsers_read_differently_is_refused() -> None:
    with pytest.raises(Unreadable):
        foreign(GOOD + GOOD.replace("data:", "Metadata: {namespace: victim}\ndata:"), "mine", privileged=True)


def run(manifest: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-P", "-m", rendered.__name__, *arguments]
    return subprocess.run(command, input=manifest, capture_output=True, check=False, timeout=60)


def test_the_program_passes_on_what_it_read_or_nothing() -> None:
    done = run(GOOD.encode(), "mine", "plain")
    assert (done.returncode, done.stdout, done.stderr) == (0, GOOD.encode(), b"")
    for manifest, cause in (
        (VICTIM.encode(), "ConfigMap a in namespace victim, not in mine"),
        (b"a: \xff", "the chart has a manifest that is not UTF-8"),
        (b"a: [", "the chart has a manifest that cannot be read"),
    ):
        done = run(GOOD.encode() + manifest, "mine", "plain")
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.decode() == f"{rendered.REFUSED}{cause}\n"


def test_the_program_imports_nothing_slow() -> None:
    """It runs with each release; pydantic alone takes half a second."""
    script = f"import sys, {rendered.__name__}; print(*sorted(n for n in sys.modules if n.startswith('stackwright')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True, timeout=60)
    assert done.stdout.split() == [
        "stackwright", "stackwright.adapters", "stackwright.adapters.helm", "stackwright.adapters.helm.rendered",
        "stackwright.core", "stackwright.core.bounds", "stackwright.core.helm", "stackwright.core.helm.manifests",
    ]  # fmt: skip
    assert "pydantic" not in done.stdout


# Does what Helm does with a post-renderer.
HELM = f"""#!{sys.executable}
import pathlib, subprocess, sys
folder = pathlib.Path(__file__).parent
words = sys.argv[1:]
(folder / "words").write_text("\\n".join(words))
command = [words[words.index("--post-renderer") + 1]] if "--post-renderer" in words else ["cat"]
command += [word.partition("=")[2] for word in words if word.startswith("--post-renderer-args=")]
done = subprocess.run(command, input=(folder / "manifest").read_bytes(), capture_output=True)
if done.returncode:
    sys.exit(f"Error: UPGRADE FAILED: error while running post render on files: error while running command "
             f"{{command[0]}}. error output:\\n{{done.stderr.decode()}}: exit status 1")
(folder / "applied").write_bytes(done.stdout)
"""


class NoRecords:
    async def list(self, *args: object) -> list[object]:
        return []


@pytest.mark.parametrize("restricted", [True, False])
@pytest.mark.parametrize("chart", ["memcached", "ingress"])
async def test_an_upgrade_applies_only_objects_of_its_release(tmp_path: Path, chart: str, restricted: bool) -> None:
    program = tmp_path / "helm"
    program.write_text(HELM)
    program.chmod(0o755)
    helm = HelmCli(binary=str(program), records=NoRecords() if restricted else None)  # type: ignore[arg-type]
    owner = {"metadata": {"namespace": "mine", "name": "b"}}
    action = HelmUpgrade(("mine", "x"), chart, "", {}, "d", owner)
    for number, (manifest, fine) in enumerate(
        [(GOOD, True), (GOOD + VICTIM, False), (GOOD + RBAC.format("Role"), chart == "ingress")]
    ):
        (tmp_path / "manifest").write_text(manifest)
        if fine or not restricted:
            await helm.upgrade(action)
            assert (tmp_path / "applied").read_text() == manifest, number
        else:
            with pytest.raises(TerminalError, match=r"^helm upgrade: \w+ \S+(, of a kind| in namespace victim)"):
                await helm.upgrade(action)
        (tmp_path / "applied").unlink(missing_ok=True)
    assert ("--no-hooks" in (tmp_path / "words").read_text().split("\n")) is restricted
    helm.close()
