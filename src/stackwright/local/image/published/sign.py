"""Sign images in a registry with cosign, by a key and without any service: no digest reaches a public log.

cosign gets the credentials and CAs of this push, which it would search elsewhere, in a temporary folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stackwright.adapters.registry import certificates, credentials
from stackwright.adapters.registry.client import Registry
from stackwright.adapters.registry.parallel import parallel
from stackwright.adapters.registry.reference import Prefix
from stackwright.adapters.registry.referrers import Referrers, tag_of
from stackwright.adapters.registry.session import Session
from stackwright.local.commands import LocalError
from stackwright.local.host.files import write_whole
from stackwright.local.image.published.oci import MANIFEST
from stackwright.local.image.published.push import Pushed

PROGRAM = "cosign"
_BUNDLE = "application/vnd.dev.sigstore.bundle"  # the beginning of the type of signatures; cosign 2 used a tag
_LIMIT = 3600  # seconds; somebody may have to enter the password of the key
_OFFLINE = {
    "mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json",
    "rekorTlogConfig": {},
    "tsaConfig": {},
}


def check_installed() -> None:
    """Raises LocalError without the program."""
    if shutil.which(PROGRAM) is None:
        raise LocalError(f"--sign requires the program {PROGRAM}, version 3 or later, which is not installed.")


@dataclass
class Signatures:
    """Signatures of images of one prefix. key  the name of a file, or what else cosign accepts"""

    prefix: Prefix
    session: Session
    key: str
    ca: Path | None = None
    plain_http: bool = False

    def add(self, pushed: Iterable[Pushed]) -> list[Pushed]:
        """Sign the images that have no signature, of whatever key, and return them.

        cosign is called once, because it may ask for the password of the key; its messages go to standard error.
        """
        wanted = self._unsigned(list(pushed))
        if not wanted:
            return []
        with tempfile.TemporaryDirectory(prefix="stackwright-sign-") as folder:
            argv = [PROGRAM, "sign", "--yes", "--key", self.key, *self._options(Path(folder))]
            argv += [f"{self.prefix}/{each.name}@{each.digest}" for each in wanted]
            env = os.environ | {"DOCKER_CONFIG": folder}
            try:
                done = subprocess.run(argv, stdout=subprocess.DEVNULL, timeout=_LIMIT, env=env)
            except subprocess.TimeoutExpired:
                raise LocalError(f"`{PROGRAM} sign` did not end within an hour.") from None
        if done.returncode != 0:
            raise LocalError(
                f"`{PROGRAM} sign` failed with exit code {done.returncode}. The images are there; run the same command "
                "again to sign those without a signature."
            )
        return wanted

    def _options(self, folder: Path) -> list[str]:
        login = credentials.docker_config(self.prefix, self.session.credentials)
        write_whole(folder / "config.json", json.dumps(login), 0o600)
        (folder / "signing.json").write_text(json.dumps(_OFFLINE))
        options = ["--signing-config", str(folder / "signing.json")]
        if trusted := certificates.files(self.prefix.host, self.ca, certificates.folders(os.environ)):
            (folder / "ca.pem").write_bytes(b"\n".join(path.read_bytes() for path in trusted))
            options += ["--registry-cacert", str(folder / "ca.pem")]
        return [*options, *(["--allow-http-registry"] if self.plain_http else [])]

    def _unsigned(self, pushed: list[Pushed]) -> list[Pushed]:
        registry, referrers = Registry(self.session), Referrers(self.session)
        signed: set[str] = set()

        def check(image: Pushed) -> None:
            repository = self.prefix.repository(image.name)
            listed = referrers.listed(repository, image.digest)
            if any(str(each.get("artifactType")).startswith(_BUNDLE) for each in listed) or registry.get_manifest(
                repository, f"{tag_of(image.digest)}.sig", MANIFEST
            ):
                signed.add(image.reference)

        parallel(self.session, check, pushed)
        return [image for image in pushed if image.reference not in signed]
