"""An earlier commit of the project, whose operator is upgraded."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from harness import ROOT, run

# Replace it by the first release as soon as one exists, and by a newer commit when its code does not run with the
# packages of requirements-dev.lock, or when many images differ from the current ones: only this pack builds them.
COMMIT = "fda44af2bae26f35c20d7a1f0358f933db3118b2"


def tree(folder: Path) -> Path | None:
    """Extract its files into the folder; None in a shallow clone without it. A whole history must have it."""
    archive = folder / "earlier.tar"
    done = run("git", "-C", ROOT, "archive", f"--output={archive}", COMMIT)
    if done.code:
        text = f"The history lacks the commit {COMMIT}, so no operator of it is upgraded: {done.out}"
        if run("git", "-C", ROOT, "rev-parse", "--is-shallow-repository").out.strip() == "false":
            pytest.fail(f"{text}; set COMMIT in {Path(__file__).name} to one that exists")
        print(text)
        return None
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "earlier", filter="data")
    return folder / "earlier"
