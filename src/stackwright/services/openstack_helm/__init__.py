"""Translates our values of Keystone and Glance for the charts that OpenStack-Helm publishes. Pure.

`table` maps each value to its target, or gives the reason for omitting it; a value without a rule is rejected by name,
so that none is lost silently. `made` builds targets from several values; `fixed` contains the values that are the same
for every cloud, and the additions of the published charts. Passwords stay in the Secrets of the contracts;
`pod.etcSources` projects these into /etc/<service>/<service>.conf.d, like our own charts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.services.context import Values
from stackwright.services.keystone.values import CREDENTIAL_KEYS, FERNET_KEYS
from stackwright.services.openstack_helm.fixed import FIXED
from stackwright.services.openstack_helm.made import MADE
from stackwright.services.openstack_helm.table import Rule, rules

CHARTS = tuple(FIXED)
ONLY = {"secrets.fernet": FERNET_KEYS, "secrets.credential": CREDENTIAL_KEYS}  # names that are fixed in their charts
EXACT = 1_000_000  # larger integers are rendered as 1e+06 by their charts

Path = tuple[str, ...]


@dataclass(frozen=True)
class Translated:
    """Values for the published chart, and (our path, reason) of each omitted value."""

    values: Values
    left_out: tuple[tuple[str, str], ...]


def translate(chart: str, values: Values, defaults: Values) -> Translated:
    """Values and defaults of our chart → values for the published one.

    Raises ValueError with the path of a value that has no rule, or that the published chart cannot express.
    """
    if chart not in CHARTS:
        raise ValueError(f"{chart}: no translation for OpenStack-Helm; supported charts: {', '.join(CHARTS)}")
    ours = _without_nulls(merged_layers(defaults, values))
    table = rules(chart)
    copied: Values = {}
    left_out: list[tuple[str, str]] = []
    for path, value in leaves(ours):
        name = ".".join(path)
        rule = next((rule for rule in table if rule.fits(path)), None)
        if rule is None:
            raise ValueError(f"{chart}: {name}: the published chart has no such value")
        if value != ONLY.get(name, value):
            raise ValueError(f"{chart}: {name}: the published chart supports only the name {ONLY[name]}")
        if not rule.theirs:
            left_out.append((name, rule.why))
        for target in rule.theirs if not rule.made else ():
            _put(copied, rule.target(target, path), _exact(value) if path[0] == "conf" else value)
    try:
        together = MADE[chart](ours)
    except ValueError as error:
        raise ValueError(f"{chart}: {error}") from None
    return Translated(merged_layers(FIXED[chart], copied, together), tuple(left_out))


def leaves(values: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """(path, value) for each value that is not a mapping; none for empty mappings."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*path, str(key)))
        else:
            yield (*path, str(key)), value


def merged_layers(*layers: Mapping[str, Any]) -> Values:
    """Layers merged as by Helm: mappings are merged, other values are replaced. Nulls are kept for the chart."""
    result: Values = {}
    for layer in layers:
        for key, value in layer.items():
            under = result.get(key)
            result[key] = (
                merged_layers(under if isinstance(under, dict) else {}, value) if isinstance(value, dict) else value
            )
    return result


def _without_nulls(values: Values) -> Values:
    """The values without nulls, which have no effect any more."""
    return {k: _without_nulls(v) if isinstance(v, dict) else v for k, v in values.items() if v is not None}


def _put(values: Values, path: Path, value: Any) -> None:
    for key in path[:-1]:
        values = values.setdefault(key, {})
    values[path[-1]] = value


def _exact(value: Any) -> Any:
    if isinstance(value, list):
        return [_exact(each) for each in value]
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole and abs(value) >= EXACT else value


__all__ = ["CHARTS", "Rule", "Translated", "leaves", "merged_layers", "rules", "translate"]
