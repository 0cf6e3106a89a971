"""The port of a server to which a floating IP is attached."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.controllers.capicluster.endpoint import first_port


@pytest.mark.parametrize(
    ("recorded", "first"),
    [
        ([("1", "a"), ("2", "b")], "1"),
        ([("2", "b"), ("1", "a")], "1"),
        ([("2", "b")], ""),
        ([("1", None), ("2", None)], "1"),  # Cluster API Provider OpenStack records no names
        ([], ""),
    ],
)
def test_the_first_port_is_that_of_the_spec(recorded: list[tuple[str, Any]], first: str) -> None:
    ports = [{"id": id_, **({"name": name} if name else {})} for id_, name in recorded]
    status = {"resolved": {"ports": [{"name": "a"}, {"name": "b"}]}, "resources": {"ports": ports}}
    assert first_port({"status": status}) == first


def test_a_server_without_a_status_has_no_port() -> None:
    assert first_port(None) == first_port({"status": {}}) == ""
