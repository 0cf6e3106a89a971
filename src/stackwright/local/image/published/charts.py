"""The charts of the operator and of the provisioner in a registry: OCI artifacts, which `helm install oci://…` pulls.

A package is created on demand, because its default values name the images of the registry. The same chart and the same
zlib give the same bytes: files are sorted, without times and owners.
"""

from __future__ import annotations

import io
import json
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import ValidationError

from stackwright import assets
from stackwright.adapters.helm.command import chart_files
from stackwright.adapters.registry.client import Blob, Registry
from stackwright.adapters.registry.errors import Corrupt, TooLarge
from stackwright.adapters.registry.reference import Prefix
from stackwright.adapters.registry.session import Session
from stackwright.local.commands import LocalError, Report
from stackwright.local.image.published import oci, tar
from stackwright.local.image.published.oci import MANIFEST, Descriptor, Manifest
from stackwright.local.image.published.push import Pushed
from stackwright.local.image.published.verify import State, Verified

CONFIG = "application/vnd.cncf.helm.config.v1+json"
LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
FOLDER = "charts"  # of the repositories, below the prefix
NAMES = (f"{FOLDER}/stackwright", f"{FOLDER}/local-volume-provisioner")
_LEVEL = 9  # of zlib
_GZIP = 31  # zlib's number for its largest window and a header of gzip, which has neither a time nor a name


def split(names: Iterable[str] | None, *, charts: bool) -> tuple[list[str] | None, list[str]]:
    """Split names into those of images (None for all) and those of charts (empty without `charts`).

    Raises LocalError for a chart that is not published.
    """
    named = list(names or NAMES)
    chosen = [name for name in named if name.startswith(f"{FOLDER}/")]
    if unknown := sorted({*chosen} - {*NAMES}):
        raise LocalError(f"{', '.join(unknown)}: no such chart; the charts of registries are {' and '.join(NAMES)}")
    images = [name for name in named if name not in chosen] if names else None
    return images, [name for name in NAMES if charts and name in chosen]


@dataclass(frozen=True)
class Chart:
    """A packaged chart. name  `charts/stackwright`; config  its Chart.yaml as JSON; plain, packed  its tar file"""

    name: str
    version: str
    config: bytes
    plain: bytes
    packed: bytes

    @classmethod
    def of(cls, name: str, prefix: Prefix, titles: Mapping[str, str]) -> Chart:
        """Package a chart for the registry of a prefix. titles  name of an image → its name and tag"""
        files = {place: path.read_bytes() for place, path in chart_files(assets.require(name))}
        files["values.yaml"] = _values(files["values.yaml"].decode(), str(prefix), titles).encode()
        config = yaml.safe_load(files["Chart.yaml"])
        content = io.BytesIO()
        with tar.writing(content) as archive:
            for place, text in sorted(files.items()):
                tar.add(archive, f"{config['name']}/{place}", len(text), io.BytesIO(text))
        compress = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        packed = compress.compress(content.getvalue()) + compress.flush()
        return cls(name, str(config["version"]), oci.as_json(config), content.getvalue(), packed)

    @property
    def tag(self) -> str:
        """A tag cannot contain the + of a version; Helm replaces it, too."""
        return self.version.replace("+", "_")

    @property
    def blobs(self) -> dict[str, bytes]:
        return {oci.digest_of(content): content for content in (self.config, self.packed)}

    @property
    def manifest(self) -> bytes:
        types = (CONFIG, self.config), (LAYER, self.packed)
        config, layer = (
            Descriptor(media_type=media_type, digest=oci.digest_of(content), size=len(content))
            for media_type, content in types
        )
        return Manifest(config=config, layers=[layer]).dump()


@dataclass(frozen=True)
class Charts:
    """Packaged charts, and the registry for which they were packaged. Methods raise RegistryError."""

    charts: list[Chart]
    prefix: Prefix
    session: Session
    report: Report

    @classmethod
    def of(
        cls, names: Iterable[str], prefix: Prefix, session: Session, titles: Mapping[str, str], report: Report
    ) -> Charts:
        """Package charts for the registry of a prefix. titles  name of an image → its name and tag"""
        return cls([Chart.of(name, prefix, titles) for name in names], prefix, session, report)

    def push(self) -> list[Pushed]:
        """Upload the missing blobs of each chart, then its manifest."""
        return [self._push(chart) for chart in self.charts]

    def verify(self) -> list[Verified]:
        return [self._verified(chart) for chart in self.charts]

    def _push(self, chart: Chart) -> Pushed:
        registry, repository, digest = Registry(self.session), self._repository(chart), oci.digest_of(chart.manifest)
        self.report(chart.name)
        lacking = {
            name: blob for name, blob in chart.blobs.items() if not registry.has_blob(repository, name, len(blob))
        }
        with tempfile.TemporaryDirectory(prefix="stackwright-chart-") as folder:
            for name, content in lacking.items():
                path = Path(folder, name)
                path.write_bytes(content)
                registry.push_blob(repository, Blob(name, len(content), path), None, lambda count: None)
        new = bool(lacking) or not registry.has_manifest(repository, chart.tag, digest, MANIFEST)
        if new:
            registry.put_manifest(repository, chart.tag, chart.manifest, MANIFEST)
        sent = sum(map(len, lacking.values()))
        return Pushed(chart.name, self._reference(chart), digest, new, sent, None)

    def _verified(self, chart: Chart) -> Verified:
        self.report(chart.name)
        registry, repository = Registry(self.session), self._repository(chart)
        digest, state = None, State.MISSING
        try:
            if answer := registry.get_manifest(repository, chart.tag, MANIFEST):
                digest, content = answer
                state = _state(chart, content, registry, repository)
        except Corrupt:
            state = State.DAMAGED
        except TooLarge:  # larger than the manifest of any of our charts
            state = State.DIFFERS
        return Verified(chart.name, self._reference(chart), digest, state)

    def _repository(self, chart: Chart) -> str:
        return self.prefix.repository(chart.name)

    def _reference(self, chart: Chart) -> str:
        return self.prefix.reference(f"{chart.name}:{chart.tag}")


def _state(chart: Chart, content: bytes, registry: Registry, repository: str) -> State:
    """Return OK also for a package of the same content that another version of zlib compressed."""
    try:
        manifest = Manifest.model_validate_json(content)
    except ValidationError:
        return State.DIFFERS
    if manifest.config.digest != oci.digest_of(chart.config) or [each.media_type for each in manifest.layers] != [
        LAYER
    ]:
        return State.DIFFERS
    if not all(registry.has_blob(repository, blob.digest, blob.size) for blob in manifest.blobs):
        return State.INCOMPLETE
    packed = manifest.layers[0].digest
    if packed in chart.blobs or _unpacked(registry.get_blob(repository, packed), len(chart.plain)) == chart.plain:
        return State.OK
    return State.DIFFERS


def _unpacked(packed: bytes, size: int) -> bytes | None:
    """Return the unpacked content, at most `size` + 1 bytes, or None if it is not compressed by gzip."""
    try:
        return zlib.decompressobj(_GZIP).decompress(packed, size + 1)
    except zlib.error:
        return None


def _values(text: str, registry: str, titles: Mapping[str, str]) -> str:
    """Return the values of a chart with the images of a registry. Comments are kept, for `helm show values`."""
    expected = yaml.safe_load(text)
    images = expected["images"]
    text = text.replace("\n  registry: null\n", f"\n  registry: {json.dumps(registry)}\n")
    text = text.replace("\n    stackwright: null\n", f"\n    stackwright: {json.dumps(titles['operator'])}\n")
    images |= {"registry": registry, "tags": {"stackwright": titles["operator"]}}
    if "references" in images:
        lines = "".join(f"\n    {name}: {json.dumps(title)}" for name, title in sorted(titles.items()))
        text = text.replace("\n  references: {}\n", f"\n  references:{lines}\n")
        images["references"] = dict(titles)
    if yaml.safe_load(text) != expected:
        raise ValueError("the package would have other values than the chart")
    return text
