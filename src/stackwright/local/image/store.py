"""The prepared image store: a root directory of containerd into which all images are imported once. Each node gets a
clone of it, so no registry is needed.

The import of gigabytes takes minutes; a clone by hard links takes a second, because blobs and unpacked layers never
change once written. Only the two bolt files, which do change, are copied.

An image has two names, its reference and its id: by the id, kubelet mounts it as a volume.

    <cache>/store/<key>/          key: digest over the sorted image references (each holds its recipe's digest)
      root/                       a containerd root: content, snapshots, metadata; no containers
      references                  the images in it
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stackwright.local import tools
from stackwright.local.commands import LocalError, Report, bound, quiet, run, succeeds, tail
from stackwright.local.config import LocalCluster, Node
from stackwright.local.node import config as node_config
from stackwright.local.waiting import wait_for

NAMESPACE = "k8s.io"
ID = "sha256:"
IMPORT_LIMIT = 1800
# managed: the image is visible to the kubelet. pinned: disk pressure must not remove images that cannot be pulled.
LABELS = ("io.cri-containerd.image=managed", "io.cri-containerd.pinned=pinned")
# A stopped root needs nothing else; temporary uploads, empty caches and plug-in folders are created again.
LINKED = ("io.containerd.content.v1.content/blobs", "io.containerd.snapshotter.v1.overlayfs/snapshots")
COPIED = ("io.containerd.metadata.v1.bolt/meta.db", "io.containerd.snapshotter.v1.overlayfs/metadata.db")


class Image(Protocol):
    """An image from `local/image/images.py`."""

    @property
    def reference(self) -> str: ...

    @property
    def archive(self) -> Path: ...


def key(references: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(references)).encode()).hexdigest()[:16]


def path(cluster: LocalCluster, images: Sequence[Image]) -> Path:
    return cluster.image_store / key(image.reference for image in images)


def ensure(cluster: LocalCluster, images: Sequence[Image], report: Report = quiet) -> Path:
    """The prepared store for these images; a new one is a clone of the newest, so that only new images are imported."""
    if enough := store_with(cluster, images):
        return enough
    place = path(cluster, images)
    cluster.image_store.mkdir(parents=True, exist_ok=True)
    former = newest(cluster)
    new = cluster.image_store / f".{place.name}"
    shutil.rmtree(new, ignore_errors=True)
    if former is None:
        (new / "root").mkdir(parents=True)
    else:
        report("starting with the previous store")
        clone(former / "root", new / "root")
    with Runtime(cluster, new / "root") as runtime:
        load_missing(cluster, runtime.socket, images, report)
        there = names(cluster, runtime.socket)
        kept = {there[image.reference] for image in images}
        if outdated := sorted(name for name, manifest in there.items() if manifest not in kept):
            ctr(cluster, runtime.socket, "images", "remove", "--sync", *outdated)
    (new / "references").write_text("".join(f"{image.reference}\n" for image in images))
    new.rename(place)
    for other in cluster.image_store.iterdir():
        if other != place:
            shutil.rmtree(other, ignore_errors=True)
    return place


def store_with(cluster: LocalCluster, images: Sequence[Image]) -> Path | None:
    """A store with all of these images, and maybe more."""
    wanted = {image.reference for image in images}
    for place in complete(cluster):
        if wanted <= set((place / "references").read_text().split()):
            return place
    return None


def complete(cluster: LocalCluster) -> list[Path]:
    """Finished stores."""
    return sorted(place.parent for place in cluster.image_store.glob("[!.]*/references"))


def newest(cluster: LocalCluster) -> Path | None:
    return max(complete(cluster), key=lambda p: p.stat().st_mtime, default=None)


def clone(source: Path, target: Path) -> None:
    """Clone a containerd root that is not in use. The clone is renamed into place when it is complete."""
    new = target.with_name(target.name + ".cloning")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True, mode=0o711)
    for part in LINKED:
        if (source / part).is_dir():
            (new / part).parent.mkdir(parents=True, exist_ok=True, mode=0o711)
            _link_or_copy(source / part, new / part)
    for part in COPIED:
        if (source / part).exists():
            (new / part).parent.mkdir(parents=True, exist_ok=True, mode=0o711)
            shutil.copy2(source / part, new / part)
    new.rename(target)


def _link_or_copy(source: Path, target: Path) -> None:
    # cp, not Python: it keeps devices (whiteouts), owners and extended attributes (opaque directories).
    if not succeeds(bound(["cp", "-a", "--no-target-directory", "--link", source, target]), limit=600):
        shutil.rmtree(target, ignore_errors=True)  # another file system: no hard links
        run(bound(["cp", "-a", "--no-target-directory", "--reflink=auto", source, target]), limit=1800)


def load(images: Sequence[Image], nodes: Sequence[Node], cluster: LocalCluster | None = None) -> list[str]:
    """Import missing images into running nodes, after one listing per node. Returns their node/reference."""
    cluster = cluster or LocalCluster.discover()
    imported = []
    for node in nodes:
        loaded = load_missing(cluster, node.containerd_socket, images)
        imported += [f"{node.name}/{reference}" for reference in loaded]
    return imported


def load_missing(cluster: LocalCluster, socket: Path, images: Sequence[Image], report: Report = quiet) -> list[str]:
    """Import missing images into one containerd, in the given order: an archive has only layers that its base lacks.

    Another build of the same base has different layers. If an archive does not match the base in containerd, all images
    of this build are imported; running containers keep their layers.
    """
    there = names(cluster, socket)
    missing = [image for image in images if image.reference not in there]
    try:
        for image in missing:
            report(image.reference)
            load_archive(cluster, socket, image)
    except LocalError as problem:
        if "not found" not in str(problem):
            raise
        report("its base images are of another build; importing all images")
        for image in images:
            load_archive(cluster, socket, image)
    name_by_id(cluster, socket, images)
    return [image.reference for image in missing]


def load_archive(cluster: LocalCluster, socket: Path, image: Image) -> None:
    ctr(cluster, socket, "images", "import", "--local", "--snapshotter", "overlayfs", str(image.archive))
    if image.reference not in names(cluster, socket):
        raise LocalError(f"{image.archive} does not contain an image {image.reference}")
    ctr(cluster, socket, "images", "label", image.reference, *LABELS)


def name_by_id(cluster: LocalCluster, socket: Path, images: Sequence[Image]) -> None:
    """Give each of these images its id as a further name, by which kubelet mounts it as a volume.

    containerd's CRI adds this name only to images that it pulls or finds without its label, so not to imported ones.
    """
    there = names(cluster, socket)
    for reference in sorted(references_without_id(there) & {image.reference for image in images}):
        manifest = json.loads(ctr(cluster, socket, "content", "get", there[reference]))
        ctr(cluster, socket, "images", "tag", reference, manifest["config"]["digest"])


def references(cluster: LocalCluster, socket: Path) -> list[str]:
    """References of the complete images, which have their id as a second name."""
    there = names(cluster, socket)
    return sorted({name for name in there if not name.startswith(ID)} - references_without_id(there))


def references_without_id(there: Mapping[str, str]) -> set[str]:
    with_id = {manifest for name, manifest in there.items() if name.startswith(ID)}
    return {name for name, manifest in there.items() if manifest not in with_id}


def names(cluster: LocalCluster, socket: Path) -> dict[str, str]:
    """Map from each name of an image, a reference or an id, to the digest of its manifest."""
    _, *lines = ctr(cluster, socket, "images", "list").splitlines()
    return {name: manifest for name, _, manifest, *_ in map(str.split, lines)}


def ctr(cluster: LocalCluster, socket: Path, *words: str) -> str:
    program = tools.binary("ctr", cluster)
    return run([program, "--address", socket, "--namespace", NAMESPACE, *words], limit=IMPORT_LIMIT)


@dataclass
class Runtime:
    """A containerd on a private socket, for the duration of a `with` block."""

    cluster: LocalCluster
    root: Path

    def __enter__(self) -> Runtime:
        # A short path: the name of a socket is limited to 107 bytes.
        self._folder = tempfile.TemporaryDirectory(prefix="stackwright-", dir="/run")
        self._home = Path(self._folder.name)
        self.socket = self._home / "containerd.sock"
        config = self._home / "containerd.toml"
        config.write_text(node_config.store_containerd(self.root, self._home / "state", self.socket))
        log = self._home / "log"
        with log.open("wb") as out:
            command = bound([tools.binary("containerd", self.cluster), "--config", config])
            self._process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
        wait_for("containerd of the image store", lambda: self._unready(log), limit=30, log=log)
        return self

    def _unready(self, log: Path) -> str | None:
        if self._process.poll() is not None:
            raise LocalError(f"containerd of the image store ended:\n{tail(log)}")
        return None if self.socket.exists() else "it has not opened its socket"

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()
