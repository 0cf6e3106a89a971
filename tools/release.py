"""Builds the files of a release into dist/: `make dist`, or `make dist URL=https://…` with the place of the archives.

    stackwright-VERSION-py3-none-any.whl    the program with its charts, images, examples and manual pages
    share/                                  manual pages and completions of bash, zsh and fish, for /usr/local/share
    stackwright-crds.yaml                   all CustomResourceDefinitions
    kubectl-stackwright-VERSION.tar.gz      the kubectl plug-in for krew: a launcher, the wheel, and its requirements
    stackwright.yaml                        the manifest of the plug-in
    SHA256SUMS

The same files give the same bytes; the times in the archives are $SOURCE_DATE_EPOCH, or a constant. There is no source
distribution, because its format has no links, and the charts share files by links: the source of a release is its tag.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hatchling.builders.utils import get_reproducible_timestamp
from typer.testing import CliRunner

from stackwright.cli.app import COMPLETION, PROGRAM, app
from stackwright.cli.change.crds import definitions
from stackwright.cli.ui.output import as_yaml

ROOT = Path(__file__).parents[1]
LAUNCHER = ROOT / "tools/krew/kubectl-stackwright"
URL = "https://releases.invalid"  # without the place of the archives, krew installs the plug-in from the local one
COMPLETIONS = {
    "bash": f"bash-completion/completions/{PROGRAM}",
    "zsh": f"zsh/site-functions/_{PROGRAM}",
    "fish": f"fish/vendor_completions.d/{PROGRAM}.fish",
}
"""Shell → path below share, where its packages look for completions."""


def build(out: Path, url: str = URL) -> None:
    """Replaces the folder `out`. `url` is the address of the folder that will contain the archives."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    wheel = _wheel(out)
    shutil.copytree(ROOT / "docs/man", out / "share/man/man1")
    for shell, path in COMPLETIONS.items():
        (out / "share" / path).parent.mkdir(parents=True)
        (out / "share" / path).write_text(completion(shell))
    (out / f"{PROGRAM}-crds.yaml").write_text("---\n".join(as_yaml(each) for each in definitions()))
    archive = packed(
        {
            LAUNCHER.name: LAUNCHER.read_bytes(),
            "LICENSE": (ROOT / "LICENSE").read_bytes(),
            "constraints.txt": constraints((ROOT / "requirements.lock").read_text()).encode(),
            wheel.name: wheel.read_bytes(),
        }
    )
    name = f"{LAUNCHER.name}-{version(PROGRAM)}.tar.gz"
    (out / name).write_bytes(archive)
    (out / f"{PROGRAM}.yaml").write_text(
        as_yaml(manifest(version(PROGRAM), f"{url.rstrip('/')}/{name}", _sum(archive)))
    )
    files = sorted(path for path in out.rglob("*") if path.is_file())
    sums = "".join(f"{_sum(path.read_bytes())}  {path.relative_to(out)}\n" for path in files)
    (out / "SHA256SUMS").write_text(sums)


def _wheel(out: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    (wheel,) = out.glob("*.whl")
    return wheel


def completion(shell: str) -> str:
    """The script that a shell loads; it calls the program for each completion."""
    found = CliRunner().invoke(app, [], env={COMPLETION: f"source_{shell}"}, prog_name=PROGRAM).stdout
    assert PROGRAM in found
    return found.lstrip("\n")  # the first line of a file of zsh is `#compdef`


def constraints(lock: str) -> str:
    """The versions of a lock file, without its hashes: with hashes, pip would require one of the wheel, too."""
    return "".join(f"{name}=={number}\n" for name, number in re.findall(r"(?m)^([\w.-]+)==([\w.!+-]+)", lock))


def packed(files: Mapping[str, bytes]) -> bytes:
    """A tar.gz of files; scripts are executable."""
    buffer = io.BytesIO()
    stamp = get_reproducible_timestamp()
    with (
        gzip.GzipFile(filename="", fileobj=buffer, mode="wb", mtime=stamp) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), stamp, 0o755 if content.startswith(b"#!") else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def manifest(number: str, uri: str, digest: str) -> dict[str, Any]:
    """Krew's Plugin, as its documentation and `internal/index/validation` describe it.

    Raises ValueError for a version that is not one of semver, such as 0.2.0rc1.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+", number):
        raise ValueError(f"{number}: krew takes versions such as 0.2.0")
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": PROGRAM},
        "spec": {
            "version": f"v{number}",
            "shortDescription": "Deploy and operate OpenStack on Kubernetes",
            "description": (
                "Creates OpenStack clouds on Kubernetes, shows their state down to the pods, and shows what a change "
                "would do before it is applied.\n"
            ),
            "caveats": (
                "The plug-in requires uv 0.6.5 or later, or pipx, and Python 3.11 or later. At the first call they "
                "fetch the Python packages that it needs.\n"
            ),
            "platforms": [
                {
                    "selector": {"matchLabels": {"os": "linux"}},
                    "uri": uri,
                    "sha256": digest,
                    "bin": LAUNCHER.name,
                }
            ],
        },
    }


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    if len(sys.argv) > 2 or any(not each.startswith("https://") for each in sys.argv[1:]):
        raise SystemExit("release.py takes the address of the folder of the archives, https://…, or nothing")
    build(ROOT / "dist", *sys.argv[1:])
