"""The images and tolerations of a service, which its cloud needs before values are rendered."""

from __future__ import annotations

from typing import Any

from stackwright.services.images import images_and_tolerations
from stackwright.services.registry import BY_SERVICE

IDENTITY = BY_SERVICE["identity"]
CHARTS = [chart.name for chart in IDENTITY.charts]
TAINT = {"key": "rack", "operator": "Exists"}
TOLERATED = {"pod": {"tolerations": {"any": {"enabled": True, "tolerations": [TAINT]}}}}


def found(**values: Any) -> tuple[set[str], list[Any]]:
    """Those of Keystone with these values of its charts in an override."""
    spec = {"settings": IDENTITY.settings().model_dump(mode="json"), "overrides": [{"values": values}]}
    return images_and_tolerations(IDENTITY, spec, {})


def test_they_are_those_of_all_charts() -> None:
    assert CHARTS == ["keystone", "keystoneclient"]
    images, _ = found()
    assert len(images) > 1
    for chart in CHARTS:
        assert found(**{chart: {"images": {"tags": {"more": "mine"}}}}) == (images | {"mine"}, [])
        assert found(**{chart: TOLERATED}) == (images, [TAINT])


def test_an_invalid_service_has_none() -> None:
    """Not those of the charts before the invalid one."""
    assert found(keystone=TOLERATED, keystoneclient={"images": []}) == (set(), [])
