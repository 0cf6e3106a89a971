"""What is stored of agents that are kept, in a bounded size."""

from __future__ import annotations

import json

from stackwright.core.openstack.deployed.agents import MORE, REPORTS, bounded_uses, display_names

EVERY = [f"nova-compute@node{number:04}.example.org" for number in range(1000)]


def test_the_result_of_a_thousand_agents_fits_into_a_configmap() -> None:
    """Tenants name their servers, with up to 255 characters of up to four bytes."""
    uses = {name: [f"server {'😀' * 255} {number}" for number in range(20)] for name in EVERY}
    found = bounded_uses(uses)
    assert list(found) == EVERY
    assert len(json.dumps(found, ensure_ascii=False).encode()) < 200_000


def test_the_first_agents_that_are_kept_tell_their_uses_and_the_others_that_they_have_some() -> None:
    uses = {"a": [], "b": [], **{name: ["server web"] for name in EVERY[:7]}, EVERY[7]: ["server db", REPORTS]}
    found = bounded_uses(uses)
    assert found["a"] == found["b"] == []
    assert [found[name] for name in EVERY[:8]] == [["server web"]] * 5 + [[MORE]] * 2 + [[REPORTS]]


def test_names_have_a_bounded_size() -> None:
    assert display_names(EVERY[:2]) == "nova-compute on node0000.example.org, nova-compute on node0001.example.org"
    assert display_names(EVERY).endswith("nova-compute on node0004.example.org and 995 more")
    assert display_names([]) == ""
