"""Quantities as Kubernetes writes them: 20Gi, 1.5T, 1e9. Pure."""

from __future__ import annotations

import re
from decimal import Decimal

_FORM = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:([KMGTPE]i|[kMGTPE]|m)?|[eE]([+-]?[0-9]{1,2}))")
_BINARY = {f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)}
_DECIMAL = {unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)}
_UNITS = {"": Decimal(1), "m": Decimal(1) / 1000, **_BINARY, **_DECIMAL}


def amount(text: str) -> Decimal:
    """The value of a quantity in its base unit, e.g. bytes. Raises ValueError if the text is not a quantity."""
    found = _FORM.fullmatch(text)
    if not found:
        raise ValueError("must be a number with a unit, such as 20Gi")
    number, unit, exponent = found.groups()
    return Decimal(number) * (Decimal(10) ** int(exponent) if exponent else _UNITS[unit or ""])
