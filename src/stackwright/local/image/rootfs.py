"""The lowest layer: a minimal Debian by mmdebstrap, which finds the package archive of a suite itself."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from stackwright.local.commands import run

_LIMIT = 1800  # seconds; longer than even a slow package mirror takes
_LEFT_OUT = ("doc", "man", "info", "locale", "lintian", "bug", "gtk-doc")
_DPKG_OPTIONS = (
    *(f"path-exclude=/usr/share/{part}/*" for part in _LEFT_OUT),
    "path-include=/usr/share/doc/*/copyright",  # required by licences
    "force-unsafe-io",  # an image is exported completely or not at all
)
_APT_OPTIONS = ('APT::Install-Recommends "false"', 'Acquire::Languages "none"', 'Acquire::Retries "5"')


class RootFs(BaseModel):
    """A Debian root file system. `customize` is a script in the context that is run on it at the end."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suite: str
    include: tuple[str, ...] = ()
    customize: str | None = None


def make(rootfs: RootFs, context: Path) -> None:
    """Write the root file system to rootfs.tar in the context. It keeps the dpkg and apt options for later packages."""
    options = [f"--dpkgopt={option}" for option in _DPKG_OPTIONS]
    options += [f"--aptopt={option}" for option in _APT_OPTIONS]
    options += [f"--include={','.join(rootfs.include)}"] if rootfs.include else []
    options += [f"--customize-hook={context / rootfs.customize}"] if rootfs.customize else []
    # A new mount namespace, because the mounts of mmdebstrap end with it, even if it is killed.
    command = ["unshare", "--mount", "mmdebstrap", "--variant=minbase", *options]
    run([*command, rootfs.suite, context / "rootfs.tar"], limit=_LIMIT, env={"TMPDIR": str(context.parent)})
