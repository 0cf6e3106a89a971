"""Checks whether a registry has the images of clouds, or of this version, like `images verify`."""

from __future__ import annotations

from collections.abc import Sequence

from stackwright.adapters.registry.reference import Prefix
from stackwright.core.findings import Finding
from stackwright.examine.demand import Given
from stackwright.local.commands import LocalError, Report
from stackwright.local.image import images
from stackwright.local.image.published import needed
from stackwright.local.image.published.connection import connected
from stackwright.local.image.published.verify import Verification, Verified


def check(prefix: Prefix, clouds: Sequence[Given], report: Report) -> list[Finding]:
    """The images of `clouds`, from manifests; without clouds, all images that nodes need."""
    subject = f"images of {prefix}"
    try:
        wanted = needed.images(clouds, images.references(str(prefix))) if clouds else images.wanted(None, str(prefix))
        with connected(prefix, writes=False) as session:
            complete = {image.title: image for image in images.published().images()}
            verified = Verification(prefix, session, complete, report).run(wanted)
    except (LocalError, ValueError) as error:
        return [Finding(subject, "problem", str(error), "`stackwright images verify --help` shows how to reach it.")]
    return findings(subject, prefix, verified)


def findings(subject: str, prefix: Prefix | str, verified: Sequence[Verified]) -> list[Finding]:
    """The findings about verified images. Pure."""
    lacking = [each for each in verified if each.lacking]
    if not lacking:
        return [Finding(subject, "ok", f"{len(verified)} images")]
    states = ", ".join(f"{each.name} {each.state}" for each in lacking)
    remedy = f"`stackwright images push {prefix}`"
    return [Finding(subject, "problem", f"{len(lacking)} of {len(verified)} images: {states}", remedy)]
