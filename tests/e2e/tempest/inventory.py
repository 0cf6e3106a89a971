"""What exists in a cloud before and after a run of Tempest. Pure."""

from __future__ import annotations

from tempest.conf import PREFIX

Inventory = dict[str, set[str]]
"""Kind of resources → names."""


def differences(before: Inventory, after: Inventory) -> list[str]:
    """What was left and what is gone. Remains of an interrupted run may disappear: Tempest's clean-up deletes them."""
    found = []
    for kind in sorted(before | after):
        former, now = before.get(kind, set()), after.get(kind, set())
        gone = {name for name in former - now if not name.startswith(f"{PREFIX}-")}
        found += [f"{kind}: {name} was left" for name in sorted(now - former)]
        found += [f"{kind}: {name} is gone" for name in sorted(gone)]
    return found
