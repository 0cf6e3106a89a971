"""Our values of Keystone and Glance, as the published OpenStack-Helm charts of these services take them. Pure.

`table` says of each value where it goes, or why it stays behind: a value that no rule knows is refused by its name, so
none is lost without a word. What several values make together is built in `made`; `fixed` is what is the same for every
cloud, and what the published charts do on their own.

Passwords stay in the Secrets that the contracts made. `pod.etcSources` projects these into the configuration directory
/etc/<service>/<service>.conf.d, where our own charts put them too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.services.declaration import Values
from stackwright.services.keystone import CREDENTIAL_KEYS, FERNET_KEYS
from stackwright.services.openstack_helm.fixed import FIXED
from stackwright.services.openstack_helm.made import MADE
from stackwright.services.openstack_helm.table import Rule, rules

CHARTS = tuple(FIXED)
ONLY = {"secrets.fernet": FERNET_KEYS, "secrets.credential": CREDENTIAL_KEYS}  # names that no value of theirs changes
EXACT = 1_000_000  # from here on their charts would write a number as 1e+06

Path = tuple[str, ...]


@dataclass(frozen=True)
class Translated:
    """Values for the published chart, and (our path, reason) of each value that it cannot take."""

    values: Values
    left_out: tuple[tuple[str, str], ...]


def translate(chart: str, values: Values, defaults: Values) -> Translated:
    """Values and defaults of our chart → values for the published one.

    Raises ValueError with the path of a value that has no rule, or that the published chart cannot be told.
    """
    if chart not in CHARTS:
        raise ValueError(f"{chart}: there is no mapping to OpenStack-Helm, only for {', '.join(CHARTS)}")
    ours = _said(laid(defaults, values))
    table = rules(chart)
    copied: Values = {}
    left_out: list[tuple[str, str]] = []
    for path, value in leaves(ours):
        name = ".".join(path)
        rule = next((rule for rule in table if rule.fits(path)), None)
        if rule is None:
            raise ValueError(f"{chart}: {name}: the published chart has no such value")
        if value != ONLY.get(name, value):
            raise ValueError(f"{chart}: {name}: the published chart knows no other name than {ONLY[name]}")
        if not rule.theirs:
            left_out.append((name, rule.why))
        for target in rule.theirs if not rule.made else ():
            _put(copied, rule.target(target, path), _exact(value) if path[0] == "conf" else value)
    try:
        together = MADE[chart](ours)
    except ValueError as error:
        raise ValueError(f"{chart}: {error}") from None
    return Translated(laid(FIXED[chart], copied, together), tuple(left_out))


def leaves(values: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All values that are no mapping; an empty mapping says nothing."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*path, str(key)))
        else:
            yield (*path, str(key)), value


def laid(*layers: Mapping[str, Any]) -> Values:
    """As Helm lays values over those of a chart: mappings merge, all else replaces. A null stays, for the chart."""
    result: Values = {}
    for layer in layers:
        for key, value in layer.items():
            under = result.get(key)
            result[key] = laid(under if isinstance(under, dict) else {}, value) if isinstance(value, dict) else value
    return result


def _said(values: Values) -> Values:
    """Without nulls: they have done their work, or say nothing."""
    return {k: _said(v) if isinstance(v, dict) else v for k, v in values.items() if v is not None}


def _put(values: Values, path: Path, value: Any) -> None:
    for key in path[:-1]:
        values = values.setdefault(key, {})
    values[path[-1]] = value


def _exact(value: Any) -> Any:
    if isinstance(value, list):
        return [_exact(each) for each in value]
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole and abs(value) >= EXACT else value


__all__ = ["CHARTS", "Rule", "Translated", "laid", "leaves", "rules", "translate"]
