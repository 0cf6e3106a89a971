"""The images of a service and the tolerations of its pods, from its declaration and overrides. Pure.

The cloud's controller pulls images before a service object changes, so it needs them before values are rendered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stackwright.core.helm.merge import merge
from stackwright.core.kubernetes import tolerations
from stackwright.core.kubernetes.precache import images_of
from stackwright.core.kubernetes.tolerations import Toleration
from stackwright.services.declaration import Chart, Service

# Images without a program `true` → a command that ends at once.
IDLE = {"ingress": ("/ingress", "-h")}


def reference(images: Mapping[str, str], name: str) -> str:
    """The reference of an image; `images` maps names to references."""
    return images.get(name, f"stackwright.local/{name}:missing")


def image_values(
    chart: Chart, settings: Any, images: Mapping[str, str], pull_secrets: Iterable[str] = ()
) -> dict[str, Any]:
    """The part of a chart's values that names its images, and the Secrets with which they are pulled."""
    tags = {key: reference(images, name) for key, name in chart.images(settings).items()}
    secrets = [{"name": name} for name in pull_secrets]
    return {"images": {"tags": tags, **({"pull_secrets": secrets} if secrets else {})}} if tags else {}


def images_and_tolerations(
    declared: Service, spec: Mapping[str, Any], images: Mapping[str, str]
) -> tuple[set[str], list[Toleration]]:
    """The images and tolerations of all pods of a service object; none if it is invalid, which its controller reports.

    They are equal to those in the merged values: a declaration sets no tolerations, and no images in its values.
    """
    found: set[str] = set()
    tolerated: list[Toleration] = []
    try:
        settings = declared.settings.model_validate(spec["settings"])
        for chart in declared.charts:
            if chart.wanted(settings):
                values = image_values(chart, settings, images)
                for level in spec["overrides"]:
                    above = level["values"].get(chart.name) or {}
                    values = merge(values, {name: above[name] for name in ("images", "pod") if name in above})
                found |= images_of(values)
                tolerated += tolerations.of_values(values)
    except ValueError:
        return set(), []
    return found, tolerated
