"""What an answer of OpenStack's looks like, as far as anything is read of it.

The address is a tenant's, and may answer anything with HTTP 200. So whatever the library raises of an answer is the
cloud's failure, and an answer is checked once, before anything of it gets into a decision or a status.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from stackwright.adapters.threads import LibraryFailed

if TYPE_CHECKING:
    from openstack.connection import Connection
    from requests import Response

Name = Annotated[str, Field(min_length=1, max_length=255)]
LONGEST = 4096  # characters; OpenStack's own texts have at most 1024, but for those that nothing is read of
Line = Annotated[str, Field(max_length=LONGEST)]
Text = Line | None
T = TypeVar("T")
MOST = 1000  # of what a thing has: addresses on all networks together, tags, …


def _few(found: object) -> object:
    """A dict is checked as a whole before its length is."""
    if isinstance(found, dict) and len(found) > MOST:
        raise ValueError("too many")
    return found


def _few_in_all(found: Mapping[str, list[T]] | None) -> Mapping[str, list[T]] | None:
    """Of lists by name."""
    if sum(map(len, (found or {}).values())) > MOST:
        raise ValueError("too many")
    return found


# An error for each of a million wrong values, or a model of each right one, would take the operator's memory.
Many = Annotated[list[T], Field(fail_fast=True, max_length=MOST)]
Named = Annotated[dict[str, T], Field(fail_fast=True), BeforeValidator(_few)]


class _Shape(BaseModel):
    """What is not named here may be there and is not checked."""

    model_config = ConfigDict(strict=True)


class _Id(_Shape):
    id: Name


class _Address(_Shape):
    addr: Name
    version: int = 4
    kind: Literal["fixed", "floating"] = Field("fixed", alias="OS-EXT-IPS:type")
    mac: Text = Field(None, alias="OS-EXT-IPS-MAC:mac_addr")


class _FixedIP(_Shape):
    ip_address: Text = None
    subnet_id: Text = None


class _Pair(_Shape):
    ip_address: Line


class _Gateway(_Shape):
    network_id: Text = None
    external_fixed_ips: Many[_FixedIP] | None = None


class _Fault(_Shape):
    message: Text = None


class _Flavor(_Shape):
    original_name: Text = None


class _ZoneState(_Shape):
    available: bool = True


class _Thing(_Id):
    """Of Nova, Cinder or Neutron: fields of one name have one type."""

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
    created_at: Text = None


class _Port(_Thing):
    """The groups of a server, of the same name, are not read."""

    mac_address: Text = None
    security_groups: Many[Line] = []
    allowed_address_pairs: Many[_Pair] = []


class _Image(_Id):
    """Its further fields are properties, which users name."""

    name: Text = None
    status: Text = None
    tags: Many[Line] | None = None


class _Zone(_Shape):
    """It has a name and no id."""

    name: Name = Field(alias="zoneName")
    zone_state: _ZoneState | None = Field(None, alias="zoneState")


_PROJECT: TypeAdapter[str | None] = TypeAdapter(
    Annotated[str, Field(max_length=255)] | None, config=ConfigDict(strict=True)
)
_SHAPES: Mapping[str, type[_Shape]] = {
    "port": _Port, "ports": _Port, "images": _Image, "availabilityZoneInfo": _Zone,
}  # fmt: skip
_FIELDS = {
    field.alias or name
    for shape in (_Port, _Image, _Zone, _Address, _FixedIP, _Pair, _Gateway, _Fault, _Flavor, _ZoneState)
    for name, field in shape.model_fields.items()
}


@cache
def _one(key: str) -> TypeAdapter[Any]:
    return TypeAdapter(_SHAPES.get(key, _Thing))


@contextmanager
def answering() -> Iterator[None]:
    """For calls of the library, and no more: what else than its own errors it raises is LibraryFailed."""
    from keystoneauth1.exceptions import ClientException
    from openstack.exceptions import SDKException

    try:
        yield
    except (ClientException, SDKException, OSError):
        raise
    except Exception as error:
        raise LibraryFailed(f"no answer of OpenStack's ({type(error).__name__})") from error


def json_of(response: Response) -> Mapping[str, Any]:
    """Raises LibraryFailed for what is no JSON object."""
    with answering():
        answer = response.json()
    if not isinstance(answer, dict):
        raise LibraryFailed("no answer of OpenStack's (no object)")
    return answer


def thing_in(response: Response, key: str) -> dict[str, Any]:
    """The thing of an answer, with an id. Raises LibraryFailed that names the wrong field."""
    found: dict[str, Any] = json_of(response).get(key)  # type: ignore[assignment]  # what it is, is checked now
    _check(found, key)
    return found


def things_in(answer: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Things of a list. Raises LibraryFailed that names the wrong field."""
    found = answer.get(key)
    if not isinstance(found, list):
        raise _wrong(key)
    for each in found:
        _check(each, key)
    return found


def _check(found: object, key: str) -> None:
    try:
        _one(key).validate_python(found)
    except ValidationError as error:
        fields = (step for step in error.errors(include_input=False)[0]["loc"] if step in _FIELDS)
        raise _wrong(".".join(map(str, (key, *fields)))) from None


def _wrong(field: str) -> LibraryFailed:
    return LibraryFailed(f"no answer of OpenStack's (wrong {field})")


def project_of(connection: Connection) -> str:
    """The id of the project of the credentials; empty without one."""
    with answering():
        project: Any = connection.current_project_id
    try:
        return _PROJECT.validate_python(project) or ""
    except ValidationError:
        raise _wrong("project.id") from None
