"""Quantities of Kubernetes as numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.core.kubernetes.quantity import amount


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("5Gi", 5 * 2**30), ("5G", 5 * 10**9), ("1.5Ti", 3 * 2**39), (".5k", 500), ("2000m", 2), ("1e6", 10**6)],
)  # fmt: skip
def test_a_quantity_is_a_number(text: str, number: int) -> None:
    assert amount(text) == number


@pytest.mark.parametrize("text", ["", "Gi", "5 Gi", "-1Gi", "5gi", "1e", "0x5", "5GiB", "5Gi\n", "٥Gi"])  # noqa: RUF001
def test_an_invalid_quantity_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="such as 20Gi"):
        amount(text)


@given(st.integers(0, 10**6), st.sampled_from(["Ki", "Mi", "Gi", "Ti"]))
def test_units_follow_each_other(number: int, unit: str) -> None:
    following = {"Ki": "Mi", "Mi": "Gi", "Gi": "Ti", "Ti": "Pi"}[unit]
    assert amount(f"{number * 1024}{unit}") == amount(f"{number}{following}")
