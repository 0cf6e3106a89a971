"""The sides of `bench queue` handle their objects on a real API server, so that a renamed hook fails a test."""

from __future__ import annotations

from bench.queue import side
from bench.server import api_server, seed

COUNT = 8


def test_each_side_of_ours_handles_all_objects_and_counts_its_events() -> None:
    with api_server() as server:
        seed(server, COUNT)
        # Each account has a Secret.
        contract = side(server, "operator", COUNT, f"--news={2 * COUNT}")
        bare = side(server, "bare", COUNT, f"--news={COUNT}")
    assert (contract["handled"], bare["handled"]) == (COUNT, COUNT)
    assert contract["news"] >= 2 * COUNT
    assert bare["news"] >= COUNT
