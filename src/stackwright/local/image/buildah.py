"""buildah, with its own storage inside the cache.

An image is built on the identical layers of its base, so archives can share them. Only bases stay in this storage; a
missing base is restored from the archives.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stackwright.local.commands import LocalError, run
from stackwright.local.config import LocalCluster

_LIMIT = 1800  # seconds; longer than even a slow package mirror takes


@dataclass(frozen=True)
class Buildah:
    """The calls of buildah that a build needs."""

    cluster: LocalCluster

    def call(self, *arguments: str | Path, cwd: Path | None = None) -> str:
        root = self.cluster.cache / "buildah"
        (root / "tmp").mkdir(parents=True, exist_ok=True)
        # The state of mounts is valid until the next boot, so it is in a directory that a boot clears.
        state = self.cluster.run.with_name(f"{self.cluster.run.name}-buildah")
        state /= hashlib.sha256(str(root).encode()).hexdigest()[:8]
        places: list[str | Path] = ["--root", root / "storage", "--runroot", state]
        command = ["buildah", *places, "--storage-driver", "overlay", *arguments]
        return run(command, limit=_LIMIT, cwd=cwd, env={"TMPDIR": str(root / "tmp")})

    def prepare(self) -> None:
        """Check that the programs are installed; remove working containers of killed builds."""
        for program in ("buildah", "mmdebstrap"):
            if shutil.which(program) is None:
                raise LocalError(f"{program} is not installed, but image builds require it: apt-get install {program}")
        self.call("rm", "--all")

    def build(self, context: Path, reference: str, options: Iterable[str]) -> None:
        """Build the context's Containerfile, as this machine's root and on its network."""
        fixed = ["--isolation", "chroot", "--network", "host", "--pull-never", "--format", "oci", "--tag", reference]
        self.call("build", *fixed, *options, "--file", context / "Containerfile", context)

    def export(self, reference: str, target: Path) -> None:
        """Write an image's manifest, configuration and layers as files; uncompressed, as they stay on this machine."""
        self.call("push", "--quiet", "--disable-compression", "--format", "oci", reference, f"dir:{target}")

    def has(self, reference: str) -> bool:
        return bool(self.call("images", "--quiet", "--filter", f"reference={reference}").strip())

    def pull(self, layout: Path, reference: str) -> None:
        """Load an image from a complete OCI layout."""
        # The path is relative: buildah derives a temporary name from it, which is not valid for every absolute path.
        identity = self.call("pull", "--quiet", f"oci:{layout.name}", cwd=layout.parent).strip()
        self.call("tag", identity, reference)

    def remove(self, reference: str) -> None:
        self.call("rmi", reference)

    def remove_all_but(self, references: Iterable[str]) -> None:
        wanted = set(references)
        stored = self.call("images", "--format", "{{.Name}}:{{.Tag}}").split()
        if others := [reference for reference in stored if reference not in wanted]:
            self.call("rmi", "--force", *others)
