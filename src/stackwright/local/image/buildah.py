"""buildah, with a storage of its own inside the cache.

An image is built on the very layers of its base, so archives can share them. Only bases stay in this storage; whatever
else is in it, or missing from it, can be had again from the archives.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stackwright.local.commands import LocalError, run
from stackwright.local.config import LocalCluster

_LIMIT = 1800  # seconds; a package mirror may be slow, but not that slow


@dataclass(frozen=True)
class Buildah:
    """Calls buildah; its methods are the few things we want of it."""

    cluster: LocalCluster

    def call(self, *arguments: str | Path, cwd: Path | None = None) -> str:
        root = self.cluster.cache / "buildah"
        (root / "tmp").mkdir(parents=True, exist_ok=True)
        # What is mounted is true until the next boot only, so it is noted where a boot clears it.
        state = self.cluster.run.with_name(f"{self.cluster.run.name}-buildah")
        state /= hashlib.sha256(str(root).encode()).hexdigest()[:8]
        places: list[str | Path] = ["--root", root / "storage", "--runroot", state]
        command = ["buildah", *places, "--storage-driver", "overlay", *arguments]
        return run(command, limit=_LIMIT, cwd=cwd, env={"TMPDIR": str(root / "tmp")})

    def prepare(self) -> None:
        """Make sure that the programs are there; remove working containers of builds that were killed."""
        for program in ("buildah", "mmdebstrap"):
            if shutil.which(program) is None:
                raise LocalError(f"{program} is not installed; images are built with it: apt-get install {program}")
        self.call("rm", "--all")

    def build(self, context: Path, reference: str, options: Iterable[str]) -> None:
        """Run the context's Containerfile, by programs of this machine's root, and its network."""
        fixed = ["--isolation", "chroot", "--network", "host", "--pull-never", "--format", "oci", "--tag", reference]
        self.call("build", *fixed, *options, "--file", context / "Containerfile", context)

    def export(self, reference: str, target: Path) -> None:
        """Write an image's manifest, configuration and layers as plain files, not compressed, for they stay here."""
        self.call("push", "--quiet", "--disable-compression", "--format", "oci", reference, f"dir:{target}")

    def has(self, reference: str) -> bool:
        return bool(self.call("images", "--quiet", "--filter", f"reference={reference}").strip())

    def pull(self, layout: Path, reference: str) -> None:
        """Take an image from a complete OCI layout."""
        # By a relative path: buildah makes a name of it for the moment, and not every path makes a valid one.
        identity = self.call("pull", "--quiet", f"oci:{layout.name}", cwd=layout.parent).strip()
        self.call("tag", identity, reference)

    def remove(self, reference: str) -> None:
        self.call("rmi", reference)

    def remove_all_but(self, references: Iterable[str]) -> None:
        wanted = set(references)
        stored = self.call("images", "--format", "{{.Name}}:{{.Tag}}").split()
        if others := [reference for reference in stored if reference not in wanted]:
            self.call("rmi", "--force", *others)
