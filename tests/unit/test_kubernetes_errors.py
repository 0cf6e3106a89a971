"""What the Kubernetes API's answers mean to who asked."""

from __future__ import annotations

import json

from stackwright.adapters.kubernetes_errors import Call, error_of
from stackwright.core.clusterapi import MACHINE
from stackwright.core.ports import Conflict, NotServed

CALL = Call("get", MACHINE, "ns/m")


def test_a_kind_that_is_not_installed_is_not_an_object_that_is_not_there() -> None:
    """The API server answers in plain text where it does not know the path."""
    assert isinstance(error_of(CALL, 404, b"404 page not found\n"), NotServed)
    status = {"message": 'machines "m" not found', "details": {"name": "m", "kind": "machines"}}
    assert isinstance(error_of(CALL, 404, json.dumps(status).encode()), Conflict)
