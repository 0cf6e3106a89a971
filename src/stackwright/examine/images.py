"""Checks whether a registry has the images of clouds, or of this version, like `images verify`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stackwright.adapters.registry.reference import Prefix
from stackwright.core.findings import Finding
from stackwright.examine.demand import Given
from stackwright.local.commands import LocalError, Report
from stackwright.local.image import images
from stackwright.local.image.published import needed
from stackwright.local.image.published.connection import connected
from stackwright.local.image.published.verify import Verification, Verified


def check(
    prefix: Prefix, clouds: Sequence[Given], report: Report, *, ca: Path | None = None, plain_http: bool = False
) -> list[Finding]:
    """The images of `clouds`, from manifests; without clouds, all images that nodes need."""
    subject = f"images of {prefix}"
    try:
        wanted = needed.images(clouds, images.references(str(prefix))) if clouds else images.wanted(None, str(prefix))
        with connected(prefix, ca=ca, plain_http=plain_http, writes=False) as session:
            complete = {image.title: image for image in images.published().images()}
            verified = Verification(prefix, session, complete, report).run(wanted)
    except (LocalError, ValueError) as error:
        remedy = "`--ca` names the CA of the registry; `stackwright images verify --help` shows more."
        return [Finding(subject, "problem", str(error), remedy)]
    options = [*(["--ca", str(ca)] if ca else []), *(["--plain-http"] if plain_http else [])]
    return findings(subject, prefix, verified, options)


def findings(
    subject: str, prefix: Prefix | str, verified: Sequence[Verified], options: Sequence[str] = ()
) -> list[Finding]:
    """The findings about verified images; `options` are those of a push. Pure."""
    lacking = [each for each in verified if each.lacking]
    if not lacking:
        return [Finding(subject, "ok", f"{len(verified)} images")]
    states = ", ".join(f"{each.name} {each.state}" for each in lacking)
    remedy = f"`{' '.join(['stackwright images push', str(prefix), *options])}`"
    return [Finding(subject, "problem", f"{len(lacking)} of {len(verified)} images: {states}", remedy)]
