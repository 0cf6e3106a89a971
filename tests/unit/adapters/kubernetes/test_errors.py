"""The errors that responses of the Kubernetes API become."""

from __future__ import annotations

import json
import time

import pytest

from stackwright.adapters.kubernetes.errors import Call, MissingRight, Unauthenticated, error_of
from stackwright.api.kinds import DEPLOYMENT
from stackwright.controllers.infra.clusterapi import MACHINE
from stackwright.core.errors import (
    Conflict,
    NotServed,
    TerminalError,
    TransientError,
    Unavailable,
    UndeclaredStatus,
    Unreachable,
)
from support.empty_api import Server

CALL = Call("get", MACHINE, "ns/m")


def test_an_uninstalled_kind_differs_from_an_absent_object() -> None:
    """The API server answers in plain text where it does not know the path."""
    assert isinstance(error_of(CALL, 404, b"404 page not found\n"), NotServed)
    status = {
        "message": 'machines "m" not found',
        "details": {"name": "m", "kind": "machines", "group": "cluster.x-k8s.io"},
    }
    assert isinstance(error_of(CALL, 404, json.dumps(status).encode()), Conflict)


def test_a_rejection_does_not_contain_the_object_and_is_parsed_fast() -> None:
    said = 'Secret "a" is invalid: "": Invalid value: "{\\"p\\":\\"hush\\"}": data: must be text'
    told = error_of(CALL, 422, json.dumps({"message": said}).encode())
    assert isinstance(told, TerminalError) and str(told).endswith('Secret "a" is invalid: "": data: must be text')
    since = time.process_time()
    error_of(CALL, 422, json.dumps({"message": 'Invalid value: "{' * 7_500 + "}" * 100_000}).encode())
    assert time.process_time() - since < 1, "seconds"


@pytest.mark.parametrize(
    ("user", "told"),
    [
        ('User "alice" ', "alice"),
        ('User "system:serviceaccount:stackwright:stackwright-operator" ', "stackwright:stackwright-operator"),
        ("", "this user"),
    ],
)
def test_a_missing_right_names_whose_it_is(user: str, told: str) -> None:
    """The client serves the operator and the users of the command line."""
    message = f'pods is forbidden: {user}cannot list resource "pods" in API group "" in the namespace "ns"'
    error = error_of(CALL, 403, json.dumps({"message": message}).encode())
    wanted = f'{told} lacks the RBAC permission to list pods of the API group core in the namespace "ns"'
    assert isinstance(error, TerminalError) and str(error) == f"get Machine ns/m: {wanted}"


@pytest.mark.parametrize("code", [403, 404, 422])
@pytest.mark.parametrize(
    "details", ["by the gateway", ["x"], 5, {"causes": "x"}, {"causes": ["x", None, {"reason": "y"}]}, {"causes": {}}]
)
def test_a_refusal_of_a_proxy_in_any_form_is_no_internal_error(code: int, details: object) -> None:
    told = error_of(CALL, code, json.dumps({"message": "no", "details": details}).encode())
    assert isinstance(told, TerminalError | TransientError | NotServed) and "no" in str(told)


def test_all_causes_are_read() -> None:
    causes = [{"field": "a", "message": "no"}, {"field": "b", "message": "no", "reason": "NamespaceTerminating"}]
    body = json.dumps({"message": "no", "details": {"causes": causes}}).encode()
    assert str(error_of(CALL, 422, body)).endswith("a: no; b: no")
    assert isinstance(error_of(CALL, 403, body), TransientError)


def test_a_body_that_is_nested_too_deeply_is_no_internal_error() -> None:
    assert isinstance(error_of(CALL, 403, b"[" * 100_000), TerminalError)


def test_an_object_replaced_by_one_of_its_name_is_read_again() -> None:
    told = {"message": 'machines "m" is invalid: metadata.uid: Invalid value: "a": field is immutable'}
    assert isinstance(error_of(CALL, 422, json.dumps(told).encode()), Conflict)
    assert isinstance(error_of(CALL, 409, b"{}"), Conflict)
    other = {"message": 'machines "m" is invalid: spec.version: Invalid value: "a": must be b'}
    assert isinstance(error_of(CALL, 422, json.dumps(other).encode()), TerminalError)


@pytest.mark.parametrize("code", [408, 410, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("body", [b"<html>no server is available</html>", b"", b"[]", b'{"message": "away"}'])
def test_a_load_balancer_without_an_api_server_and_an_overloaded_one_are_unavailable(code: int, body: bytes) -> None:
    told = error_of(CALL, code, body)
    assert isinstance(told, Unavailable) and not isinstance(told, Unreachable)
    assert str(told).startswith(f"get Machine ns/m: the Kubernetes API returned {code}: ")


def test_refused_credentials_are_no_absent_api_server_but_may_be_renewed() -> None:
    told = error_of(CALL, 401, b'{"kind": "Status", "code": 401, "message": "Unauthorized"}')
    assert isinstance(told, Unauthenticated)
    assert str(told) == "get Machine ns/m: the Kubernetes API refuses the credentials: HTTP 401 Unauthorized"


@pytest.mark.parametrize(
    ("message", "lacks"),
    [
        ('nodes is forbidden: User "a" cannot list resource "nodes" in API group "" at the cluster scope', True),
        ('admission webhook "w" denied the request: no', False),
        ('pods "p" is forbidden: violates PodSecurity "restricted:latest"', False),
        ('pods "p" is forbidden: exceeded quota: q', False),
    ],
)
def test_a_missing_right_differs_from_a_refusal_by_admission(message: str, lacks: bool) -> None:
    assert isinstance(error_of(CALL, 403, json.dumps({"message": message}).encode()), MissingRight) == lacks


def test_an_internal_error_of_the_api_server_may_concern_one_object_only() -> None:
    """As while a conversion webhook is away."""
    status = {"kind": "Status", "code": 500, "message": "conversion webhook for v1beta1 failed"}
    told = error_of(CALL, 500, json.dumps(status).encode())
    assert type(told) is TransientError
    assert isinstance(error_of(CALL, 503, json.dumps(status | {"code": 503}).encode()), Unavailable)


def test_fields_of_a_status_that_the_crd_lacks_are_named() -> None:
    lines = [f"  .status.{path}: field not declared in schema\n" for path in ("progress", "a.b")]
    text = f"failed to create typed patch object (ns/m; x/v1, Kind=M): errors:\n{''.join(lines)}"
    told = error_of(CALL, 500, json.dumps({"message": text}).encode())
    assert isinstance(told, UndeclaredStatus) and told.fields == ["progress", "a.b"]
    other = error_of(CALL, 500, json.dumps({"message": ".spec.a: field not declared in schema"}).encode())
    assert type(other) is TerminalError


async def test_a_deletion_includes_owned_objects() -> None:
    """Else pods of a Deployment would run on without it."""
    server = Server()
    await server.cluster.delete(DEPLOYMENT, ("ns", "api"))
    assert server.queries == ["propagationPolicy=Background"]
