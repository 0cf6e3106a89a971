"""Shapes of OpenStack's responses, for the fields that are read.

A tenant chooses the address, which may return any content with HTTP 200. So every error of the library about a response
is treated as a failure of the cloud, and a response is checked once, before its data are used in a decision or a
status.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from stackwright.adapters.openstack.transport.client import sdk_errors
from stackwright.adapters.threads import LibraryFailed
from stackwright.core.errors import TerminalError, TransientError

if TYPE_CHECKING:
    from openstack.connection import Connection
    from requests import Response

Name = Annotated[str, Field(min_length=1, max_length=255)]
LINE_CHARACTERS = 4096  # OpenStack's own texts have at most 1024, except in fields that are not read
Line = Annotated[str, Field(max_length=LINE_CHARACTERS)]
Text = Line | None
T = TypeVar("T")
MOST = 1000  # items of one field of a resource: tags, addresses on all networks together, …


def _few(found: object) -> object:
    """Limit the length of a dict first: pydantic would check all items before the length."""
    if isinstance(found, dict) and len(found) > MOST:
        raise ValueError("too many")
    return found


def _few_in_all(found: Mapping[str, list[T]] | None) -> Mapping[str, list[T]] | None:
    """Limit the total length of lists by name."""
    if sum(map(len, (found or {}).values())) > MOST:
        raise ValueError("too many")
    return found


# An error for each of a million wrong values, or a model for each right one, would exhaust the operator's memory.
Many = Annotated[list[T], Field(fail_fast=True, max_length=MOST)]
Named = Annotated[dict[str, T], Field(fail_fast=True), BeforeValidator(_few)]


class Shape(BaseModel):
    """Other fields may be present and are not checked."""

    model_config = ConfigDict(strict=True)


class _Id(Shape):
    id: Name


class _Address(Shape):
    addr: Name
    version: int = 4
    kind: Literal["fixed", "floating"] = Field("fixed", alias="OS-EXT-IPS:type")
    mac: Text = Field(None, alias="OS-EXT-IPS-MAC:mac_addr")


class _FixedIP(Shape):
    ip_address: Text = None
    subnet_id: Text = None


class _Pair(Shape):
    ip_address: Line


class _Gateway(Shape):
    network_id: Text = None
    external_fixed_ips: Many[_FixedIP] | None = None


class _Fault(Shape):
    message: Text = None


class _Flavor(Shape):
    original_name: Text = None


class _ZoneState(Shape):
    available: bool = True


class Resource(_Id):
    """A resource of Nova, Cinder or Neutron: fields of the same name have the same type."""

    name: Text = None
    status: Text = None
    description: Text = None
    project_id: Text = None
    tags: Many[Line] | None = None
    metadata: Named[Line] | None = None
    task_state: Text = Field(None, alias="OS-EXT-STS:task_state")
    fault: _Fault | None = None
    addresses: Annotated[Named[Many[_Address]] | None, AfterValidator(_few_in_all)] = None
    flavor: _Flavor | None = None
    volumes: Many[_Id] = Field([], alias="os-extended-volumes:volumes_attached")
    network_id: Text = None
    device_id: Text = None
    device_owner: Text = None
    fixed_ips: Many[_FixedIP] | None = None
    external_gateway_info: _Gateway | None = None
    cidr: Text = None
    ip_version: int | None = None
    gateway_ip: Text = None
    dns_nameservers: Many[Line] | None = None
    floating_ip_address: Text = None
    fixed_ip_address: Text = None
    port_id: Text = None
    security_group_id: Text = None
    volume_id: Text = None
    instance: Text = None
    size: int | None = None
    created: Text = None
    created_at: Text = None


class Port(Resource):
    """`security_groups` of a server have another shape and are not read."""

    mac_address: Text = None
    security_groups: Many[Line] = []
    allowed_address_pairs: Many[_Pair] = []


class Image(_Id):
    """Its other fields are properties, which users name."""

    name: Text = None
    status: Text = None
    tags: Many[Line] | None = None


class Zone(Shape):
    """An availability zone has a name and no id."""

    name: Name = Field(alias="zoneName")
    zone_state: _ZoneState | None = Field(None, alias="zoneState")


_PROJECT: TypeAdapter[str | None] = TypeAdapter(
    Annotated[str, Field(max_length=255)] | None, config=ConfigDict(strict=True)
)
_FIELDS = {
    field.alias or name
    for shape in (Port, Image, Zone, _Address, _FixedIP, _Pair, _Gateway, _Fault, _Flavor, _ZoneState)
    for name, field in shape.model_fields.items()
}


@cache
def _adapter(shape: type[Shape]) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


@contextmanager
def answering() -> Iterator[None]:
    """Context for calls of the library, and for code that reads what it returns: any exception but those of the library
    and of ports becomes LibraryFailed.
    """
    try:
        yield
    except sdk_errors(LibraryFailed, TransientError, TerminalError):
        raise
    except Exception as error:
        raise LibraryFailed(f"not a response of OpenStack ({type(error).__name__})") from error


def json_of(response: Response) -> Mapping[str, Any]:
    """Decode a response. Raises LibraryFailed if it is not a JSON object."""
    with answering():
        answer = response.json()
    if not isinstance(answer, dict):
        raise LibraryFailed("not a response of OpenStack (no object)")
    return answer


def resource_in(response: Response, key: str, shape: type[Shape] = Resource) -> dict[str, Any]:
    """The resource in a response, with an id. Raises LibraryFailed that names the wrong field."""
    found: dict[str, Any] = json_of(response).get(key)  # type: ignore[assignment]  # checked below
    _check(found, key, shape)
    return found


def resources_in(answer: Mapping[str, Any], key: str, shape: type[Shape] = Resource) -> list[dict[str, Any]]:
    """The resources in a list. Raises LibraryFailed that names the wrong field."""
    found = answer.get(key)
    if not isinstance(found, list):
        raise _wrong(key)
    for each in found:
        _check(each, key, shape)
    return found


def _check(found: object, key: str, shape: type[Shape]) -> None:
    try:
        _adapter(shape).validate_python(found)
    except ValidationError as error:
        fields = (step for step in error.errors(include_input=False)[0]["loc"] if step in _FIELDS)
        raise _wrong(".".join(map(str, (key, *fields)))) from None


def _wrong(field: str) -> LibraryFailed:
    return LibraryFailed(f"not a response of OpenStack (wrong {field})")


def project_of(connection: Connection) -> str:
    """Id of the credentials' project; empty without one."""
    with answering():
        project: Any = connection.current_project_id
    try:
        return _PROJECT.validate_python(project) or ""
    except ValidationError:
        raise _wrong("project.id") from None
