"""The lowest layer: a minimal Debian, made by mmdebstrap, which knows the archive of a suite itself."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from stackwright.local.commands import run

_LIMIT = 1800  # seconds; a package mirror may be slow, but not that slow
_LEFT_OUT = ("doc", "man", "info", "locale", "lintian", "bug", "gtk-doc")
_DPKG_OPTIONS = (
    *(f"path-exclude=/usr/share/{part}/*" for part in _LEFT_OUT),
    "path-include=/usr/share/doc/*/copyright",  # licences ask for it
    "force-unsafe-io",  # an image is exported as a whole or not at all
)
_APT_OPTIONS = ('APT::Install-Recommends "false"', 'Acquire::Languages "none"', 'Acquire::Retries "5"')


class RootFs(BaseModel):
    """A Debian root file system. `customize` is a script of the context, run on it at the end."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suite: str
    include: tuple[str, ...] = ()
    customize: str | None = None


def make(rootfs: RootFs, context: Path) -> None:
    """Put the root file system into the context as rootfs.tar. The options stay in it, for later packages."""
    options = [f"--dpkgopt={option}" for option in _DPKG_OPTIONS]
    options += [f"--aptopt={option}" for option in _APT_OPTIONS]
    options += [f"--include={','.join(rootfs.include)}"] if rootfs.include else []
    options += [f"--customize-hook={context / rootfs.customize}"] if rootfs.customize else []
    # A mount namespace of its own: what mmdebstrap mounts is gone with it, even if it is killed.
    command = ["unshare", "--mount", "mmdebstrap", "--variant=minbase", *options]
    run([*command, rootfs.suite, context / "rootfs.tar"], limit=_LIMIT, env={"TMPDIR": str(context.parent)})
