"""The port into any OpenStack: credentials, requests with their mark, answers, and the picture of a project."""

from __future__ import annotations

import asyncio
import base64
import gzip
import itertools
import json
import threading
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
import yaml

from stackwright.adapters.openstack.tenant import changes as tenant_changes
from stackwright.adapters.openstack.tenant import clouds as tenant_clouds
from stackwright.adapters.openstack.tenant import lists as tenant_lists
from stackwright.adapters.openstack.tenant import project_session
from stackwright.adapters.openstack.tenant import snapshot as tenant_snapshot
from stackwright.adapters.openstack.tenant import whole_list as tenant_whole_list
from stackwright.adapters.openstack.tenant.absence import CONFIRM, SETTLE
from stackwright.adapters.openstack.tenant.clouds import OpenStackClouds
from stackwright.adapters.openstack.tenant.limiter import BUILDS, REQUESTS
from stackwright.adapters.openstack.tenant.project_session import ANSWERS, Project
from stackwright.adapters.openstack.tenant.rest import attach as tenant_attach
from stackwright.adapters.openstack.tenant.rest.reads import fetch, peek
from stackwright.adapters.openstack.tenant.rest.references import KEPT, WHOLE, find
from stackwright.adapters.openstack.tenant.rest.requests import run
from stackwright.adapters.openstack.tenant.rest.rest_types import REST, ListPolicy, resource_of
from stackwright.adapters.openstack.tenant.snapshot import Snapshot
from stackwright.adapters.openstack.tenant.whole_list import WholeList
from stackwright.adapters.openstack.transport import login as transport_login
from stackwright.adapters.openstack.transport import project_connection, single_flight
from stackwright.adapters.openstack.transport.login import login_of
from stackwright.adapters.openstack.transport.send import CloudState, problem, problem_of
from stackwright.controllers.capicluster.resolve import resolve as resolve_cluster
from stackwright.controllers.server.observe import KINDS
from stackwright.core.errors import Unreachable
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import Deferred, Query, Subscription, complete_query, look, query
from stackwright.core.openstack.clouds import run as submit
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import SERVER_KEY, CloudRef, CloudResource, mark
from support.openstack import owned_types
from support.waiting import until

UID = "5b6c1d0e-0000-4000-8000-000000000001"
CLOUD = CloudRef(("ns", "clouds"), "mine")
AUTH = {"auth_url": "https://keystone/v3", "username": "me", "password": "pw-x", "project_name": "p"}


class Response:
    def __init__(self, status: int, body: Any = None, **headers: str) -> None:
        self.status_code, self._body = status, body
        self.headers = {"X-Openstack-Request-Id": "req-1", "Content-Type": "application/json", **headers}
        self.text = "" if body is None else json.dumps(body)
        self.content = self.text.encode()

    def json(self) -> Any:
        if self._body is None:
            raise ValueError("no JSON")
        return self._body


def answer_without_id(status: int, body: Any, **headers: str) -> Response:
    """A proxy's, or behind a gateway that takes request ids away."""
    made = Response(status, body, **headers)
    del made.headers["X-Openstack-Request-Id"]
    return made


class Proxy:
    """One service: `answer(method, path, body or params)` → Response."""

    def __init__(self, answer: Callable[[str, str, Any], Response]) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self._answer = answer

    def request(self, path: str, method: str, **more: Any) -> Response:
        said = more.get("json") or more.get("params")
        self.asked.append((method, path, said))
        return self._answer(method, path, said)

    def get(self, path: str, **more: Any) -> Response:
        return self.request(path, "GET", **more)


class Services:
    def __init__(self, answer: Callable[[str, str, Any], Response], project: str | None = None) -> None:
        self.current_project_id, self.session = project, Mock(auth=Mock(auth_ref=None))
        self.compute = self.network = self.block_storage = self.image = Proxy(answer)

    @property
    def asked(self) -> list[tuple[str, str, Any]]:
        return self.compute.asked


def listed_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """All lists, while an object waits."""
    for what, rest in REST.items():
        monkeypatch.setitem(REST, what, replace(rest, lists=replace(rest.lists, waiting=0.01)))


def call(do: Any, what: Any, name: str = "", **more: Any) -> CloudCall:
    return CloudCall(CLOUD, do, (what, name), UID, **more)


def made(what: str, **more: Any) -> Services:
    return Services(lambda method, path, body: Response(200, {what: {"id": "1", **more}}))


def test_the_mark_is_part_of_the_request_that_creates_the_resource() -> None:
    wanted = {what: mark(UID, (what, "n")) for what in ("server", "port", "volume")}  # type: ignore[arg-type]
    services = made("server")
    id_, told = run(services, call("create", "server", "n", body={"name": "a", "tags": ["t"]}), b"#!")  # type: ignore[arg-type]
    ((method, path, body),) = services.asked
    assert (id_, method, path) == ("1", "POST", "/servers")
    assert body["server"]["tags"] == ["t", wanted["server"]]
    assert body["server"]["user_data"] == "IyE="
    assert resource_of("server", told).mark == wanted["server"]
    services = made("port")
    run(services, call("create", "port", "n", body={"description": "mine", "tags": ["t"]}), None)  # type: ignore[arg-type]
    assert services.asked[0][2]["port"]["description"] == f"mine [{wanted['port']}]"
    assert services.asked[1][:2] == ("PUT", "/ports/1/tags")
    services = made("volume")
    run(services, call("create", "volume", "n", body={"size": 1}), None)  # type: ignore[arg-type]
    assert list(services.asked[0][2]["volume"]["metadata"].values()) == [wanted["volume"]]
    assert services.asked[1] == ("POST", "/volumes/1/metadata", {"metadata": {"stackwright.dev/volume": "1"}})


@pytest.mark.parametrize("text", ["like {} [{}]", "[{}] {}", "{}{}", "{} stackwright:"])
@pytest.mark.parametrize("what", ["port", "security-group-rule"])
def test_a_copied_mark_in_a_description_gives_no_access_to_the_resource(what: Any, text: str) -> None:
    other = mark("11111111-1111-4111-8111-111111111111", (what, "n"))
    services = made(what.replace("-", "_"))
    run(services, call("create", what, "n", body={"description": text.format(other, other)}), None)  # type: ignore[arg-type]
    (sent,) = services.asked[0][2].values()
    assert resource_of(what, {"id": "1", **sent}).mark == mark(UID, (what, "n"))


@pytest.mark.parametrize("do", ["create", "update"])
def test_a_tag_in_the_form_of_a_mark_is_rejected(do: Any) -> None:
    """Nova keeps tags in an order of its own."""
    other, services = mark("11111111-1111-4111-8111-111111111111", SERVER_KEY), made("server")
    with pytest.raises(TerminalCloudError, match=f"tag {other} "):
        run(services, call(do, "server", body={"tags": ["a", other]}), None)  # type: ignore[arg-type]
    assert services.asked == []


@pytest.mark.parametrize(
    ("status", "metadata", "ours"),
    [
        ("available", {}, True),
        ("available", {"src_backup_id": "b"}, False),
        ("restoring-backup", {}, False),
        ("available", {"stackwright.dev/volume": "v"}, True),
        ("available", {"stackwright.dev/volume": "another"}, False),
    ],
)
def test_a_volume_to_which_a_user_restored_a_backup_is_not_ours(status: str, metadata: Any, ours: bool) -> None:
    """Cinder copies the metadata of the source volume into it, including our mark."""
    its = mark(UID, ("volume", "n"))
    found = resource_of("volume", {"id": "v", "status": status, "metadata": {"stackwright.dev/mark": its, **metadata}})
    assert found.mark == (its if ours else "")
    assert found.facts["answered"] == (metadata.get("stackwright.dev/volume") == "v")


def test_a_volume_is_created_even_if_its_own_id_cannot_be_written() -> None:
    """Otherwise another one would be created."""

    def refused(method: str, path: str, body: Any) -> Response:
        return Response(409, {}) if "metadata" in path else Response(202, {"volume": {"id": "1", "status": "creating"}})

    id_, told = run(Services(refused), call("create", "volume", "n", body={"size": 1}), None)  # type: ignore[arg-type]
    assert id_ == "1"
    assert resource_of("volume", told or {}).facts["answered"] is False
    assert resource_of("volume", told or {}).mark


def test_a_scheduler_hint_is_next_to_the_server_in_the_request() -> None:
    services = made("server")
    run(services, call("create", "server", body={"name": "a", "hints": {"group": "g"}}), None)  # type: ignore[arg-type]
    assert services.asked[0][2]["os:scheduler_hints"] == {"group": "g"}


def test_deleting_an_absent_resource_succeeds() -> None:
    services = Services(lambda method, path, body: Response(404, {"itemNotFound": {"message": "gone"}}))
    assert run(services, call("delete", "server", id="1"), None)[0] == "1"  # type: ignore[arg-type]


def test_a_router_is_detached_from_subnets_before_its_deletion() -> None:
    owners = ("network:ha_router_replicated_interface", "network:router_gateway")
    ports = [{"id": owner[8:10], "device_owner": owner} for owner in owners]
    services = Services(lambda method, path, body: Response(200, {"ports": ports}))
    run(services, call("delete", "router", id="r"), None)  # type: ignore[arg-type]
    assert services.asked == [
        ("GET", "/ports", {"device_id": "r"}),
        ("PUT", "/routers/r/remove_router_interface", {"port_id": "ha"}),
        ("DELETE", "/routers/r", None),
    ]


ATTACH = {"do": "update", "what": "router", "id": "r", "body": {"add_interface": "p"}}
INTERFACE = {"id": "p", "device_id": "r", "device_owner": "network:router_interface"}


def routers(port: dict[str, Any], **refused: str) -> Services:
    """Neutron with one port; `refused` are methods that it answers with a conflict."""

    def answer(method: str, path: str, body: Any) -> Response:
        if method in refused and refused[method] in path:
            return Response(409, {"NeutronError": {"message": "in use"}})
        return Response(200, {"port": port})

    return Services(answer)


def test_a_router_gets_an_interface_and_the_new_state_of_the_port_is_returned() -> None:
    services = routers(INTERFACE)
    id_, told = run(services, call(**ATTACH), None)  # type: ignore[arg-type]
    assert (id_, resource_of("port", told).facts["device_id"]) == ("r", "r")
    assert services.asked == [
        ("PUT", "/routers/r/add_router_interface", {"port_id": "p"}), ("GET", "/ports/p", None),
    ]  # fmt: skip


def test_an_existing_interface_of_the_router_is_accepted_and_one_of_another_is_not() -> None:
    run(routers(INTERFACE, PUT="add_router"), call(**ATTACH), None)  # type: ignore[arg-type]
    with pytest.raises(TransientCloudError, match="in use"):
        run(routers({**INTERFACE, "device_id": "other"}, PUT="add_router"), call(**ATTACH), None)  # type: ignore[arg-type]


VOLUMES = "os-extended-volumes:volumes_attached"


def server(port: str = "", volumes: tuple[str, ...] = ("v",), refuse: int = 0) -> Services:
    """Nova with a server, and a port that is attached to the server with the id `port`; it may refuse to attach."""

    def answer(method: str, path: str, body: Any) -> Response:
        if method == "POST" and refuse:
            return Response(refuse, {"badRequest": {"message": "in use"}})
        found = {"id": "s", "name": "web", "status": "ACTIVE", VOLUMES: [{"id": id_} for id_ in volumes]}
        return Response(200, {"server": found, "port": {"id": "p", "device_id": port}})

    return Services(answer)


@pytest.mark.parametrize(
    ("body", "path", "wanted"),
    [
        ({"add_port": "p"}, "/servers/s/os-interface", {"interfaceAttachment": {"port_id": "p"}}),
        ({"add_volume": "v"}, "/servers/s/os-volume_attachments", {"volumeAttachment": {"volumeId": "v"}}),
    ],
)
def test_a_server_gets_a_port_or_a_volume_and_its_new_state_is_returned(
    body: dict[str, str], path: str, wanted: dict[str, Any]
) -> None:
    services, attach = server("s"), call("update", "server", id="s", body=body)
    id_, told = run(services, attach, None)  # type: ignore[arg-type]
    assert (id_, resource_of("server", told).facts["volumes"]) == ("s", ["v"])
    assert services.asked == [("POST", path, wanted), ("GET", "/servers/s", None)]
    for status in (400, 409):
        told = run(server("s", refuse=status), attach, None)[1]  # type: ignore[arg-type]
        assert told["id"] == "s", "it was attached by a request before"
        with pytest.raises(TransientCloudError if status == 409 else TerminalCloudError, match="in use"):
            run(server("other", (), refuse=status), attach, None)  # type: ignore[arg-type]


def test_a_router_interface_is_removed_through_its_router() -> None:
    services = routers({**INTERFACE, "device_id": "theirs"}, DELETE="ports")
    run(services, call("delete", "port", id="p"), None)  # type: ignore[arg-type]
    assert services.asked[-1] == ("PUT", "/routers/theirs/remove_router_interface", {"port_id": "p"})
    with pytest.raises(TransientCloudError, match="in use"):
        run(routers({"id": "p", "device_owner": "compute:nova"}, DELETE="ports"), call("delete", "port", id="p"), None)  # type: ignore[arg-type]


def reserved(*found: bool) -> tuple[Services, list[dict[str, str]]]:
    """A volume that is reserved for a server, and its attachments; `found` are Nova's responses, the last one repeated.

    Nova leaves such an attachment behind if a server is deleted while it is being built.
    """
    held = [{"id": "a", "volume_id": "v", "instance": "s"}, {"id": "b", "volume_id": "other", "instance": "s"}]
    responses = list(found)

    def answer(method: str, path: str, body: Any) -> Response:
        match method, path:
            case "DELETE", "/volumes/v" if any(each["volume_id"] == "v" for each in held):
                return Response(400, {"badRequest": {"message": "Volume status must be available"}})
            case "DELETE", "/attachments/a":
                held.pop(0)
            case "GET", "/servers/s" if not (responses.pop(0) if len(responses) > 1 else responses[0]):
                return Response(404, {"itemNotFound": {"message": "gone"}})
        return Response(200, {"attachments": list(held), "server": {"id": "s"}})

    return Services(answer), held


DELETE_VOLUME = call("delete", "volume", id="v")


def test_a_volume_reserved_for_an_absent_server_is_deleted(time: Time) -> None:
    services, held = reserved(False)
    for seconds in (0.0, CONFIRM - 0.1):
        time.now += seconds
        with pytest.raises(TransientCloudError, match="attached to a server that Nova did not find") as raised:
            run(services, DELETE_VOLUME, None)  # type: ignore[arg-type]
        assert (raised.value.cause, raised.value.after, len(held)) == (Reason.CONFLICT, CONFIRM, 2)
    time.now += 0.1
    run(services, DELETE_VOLUME, None)  # type: ignore[arg-type]
    assert [each["id"] for each in held] == ["b"]
    assert services.asked[-1][:2] == ("DELETE", "/volumes/v")


def test_a_volume_of_an_existing_server_stays_attached(time: Time) -> None:
    services, held = reserved(True)
    with pytest.raises(TerminalCloudError, match="must be available"):
        run(services, DELETE_VOLUME, None)  # type: ignore[arg-type]
    assert len(held) == 2


def test_one_wrong_404_of_a_server_deletes_no_attachment(time: Time) -> None:
    services, held = reserved(False, True, False)
    for error in (TransientCloudError, TerminalCloudError, TransientCloudError):
        with pytest.raises(error):
            run(services, DELETE_VOLUME, None)  # type: ignore[arg-type]
        time.now += CONFIRM
    assert len(held) == 2


def test_an_existing_equal_rule_of_the_group_counts_as_the_desired_one() -> None:
    there = {"id": "old", "security_group_id": "g", "direction": "egress", "ethertype": "IPv4", "protocol": None}

    def answer(method: str, path: str, body: Any) -> Response:
        if method == "POST":
            return Response(409, {"NeutronError": {"message": "Security group rule already exists."}})
        return Response(200, {"security_group_rules": [{**there, "id": "udp", "protocol": "udp"}, there]})

    wanted = {"security_group_id": "g", "direction": "egress", "ethertype": "IPv4"}
    for body in (wanted, {**wanted, "remote_ip_prefix": "0.0.0.0/0"}):
        assert run(Services(answer), call("create", "security-group-rule", body=body), None)[0] == "old"  # type: ignore[arg-type]
    with pytest.raises(TransientCloudError, match="already exists"):
        run(Services(answer), call("create", "security-group-rule", body={**wanted, "protocol": "tcp"}), None)  # type: ignore[arg-type]


def test_all_rules_of_our_security_group_are_visible() -> None:
    group = CloudResource("security-group", "g", mark=mark(UID, ("security-group", "worker")))
    rules = [CloudResource("security-group-rule", id_, facts={"security_group_id": id_[0]}) for id_ in ("g1", "other")]
    snapshot = Snapshot()
    for thing in (group, *rules):
        snapshot.write(thing, 1.0)
    subscription = Subscription("c", ("ns", "c"), UID, ("security-group", "security-group-rule"))
    assert [thing.id for thing in snapshot.of(subscription)] == ["g", "g1"]


@pytest.mark.parametrize(("took", "age"), [(0.0, 0.5), (0.5, 0.5), (1.5, 1.5), (7.0, 7.0)])
def test_changes_of_servers_are_listed_at_the_given_interval(took: float, age: float) -> None:
    snapshot = Snapshot(taken={"server": 0.0}, fresh={"server": 100.0}, took={"server": took})
    assert snapshot.age("server", True) == age
    assert not snapshot.due("server", True, 100.0 + age - 0.1)
    assert snapshot.due("server", True, 100.0 + age)
    assert snapshot.age("server", False) == 50.0


@pytest.mark.parametrize(("took", "age"), [(0.0, 60.0), (3.0, 60.0), (8.5, 170.0)])
def test_a_list_uses_a_small_part_of_the_time_of_its_service(took: float, age: float) -> None:
    snapshot = Snapshot(taken={"port": 0.0}, fresh={"port": 100.0}, took={"port": took})
    assert snapshot.age("port", True) == age
    assert not snapshot.due("port", True, 100.0 + age - 0.1)
    assert snapshot.due("port", True, 100.0 + age)


@pytest.mark.parametrize(("took", "age"), [(1.0, 180.0), (14.0, 280.0)])
def test_a_whole_list_of_servers_uses_a_small_part_of_novas_time(took: float, age: float) -> None:
    snapshot = Snapshot(taken={"server": 100.0}, whole=defaultdict(WholeList, server=WholeList(took)))
    assert not snapshot.due_whole("server", 100.0 + age - 0.1)
    assert snapshot.due_whole("server", 100.0 + age)


def test_a_zone_has_a_name_and_no_id() -> None:
    services = Services(lambda method, path, body: Response(200, {"availabilityZoneInfo": [{"zoneName": "nova"}]}))
    assert [(t.id, t.name) for t in find(services, query("availability-zone"))] == [("nova", "nova")]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "text", "reason"),
    [
        (400, "Invalid image", "BlockedRejected"),
        (401, "log in", "TokenRefused"),
        (403, "Policy does not allow", "BlockedForbidden"),
        (403, "Quota exceeded for cores: Requested 2", "QuotaExceeded"),
        (404, "no network", "NotFound"),
        (409, "IP address is in use", "Conflict"),
        (409, "Quota exceeded for resources: ['port'].", "QuotaExceeded"),
        (413, "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded", "QuotaExceeded"),
        (429, "Too many requests", "RateLimited"),
        (413, "Slow down", "RateLimited"),
        (500, "Unexpected API Error", "ServerError"),
        (503, "No server is available", "ServerError"),
    ],
)
def test_the_meaning_of_responses(status: int, text: str, reason: str) -> None:
    assert problem(status, text).reason == reason


def test_the_retry_time_of_a_response_is_used() -> None:
    found = problem(429, "Too many", "17")
    assert isinstance(found, TransientCloudError)
    assert found.after == 17
    assert [problem(429, "", after).after for after in ("", "soon", "100000")] == [10, 10, 300]  # type: ignore[union-attr]


@pytest.mark.parametrize("after", ["²", "١٢", "-1", "1e3", "inf", "nan", "0", "Fri, 31 Dec 2027 23:59:59 GMT"])
@pytest.mark.parametrize(("status", "pause"), [(429, 10), (503, None), (413, 10)])
def test_a_retry_time_that_is_no_number_of_seconds_is_ignored(after: str, status: int, pause: float | None) -> None:
    assert problem(status, "", after).after == pause  # type: ignore[union-attr]
    assert problem(status, "", "9" * 5000).after == 300  # type: ignore[union-attr]


def test_a_private_flavor_is_found_by_its_name_also_by_an_administrator() -> None:
    """To an administrator, Nova lists only public flavors by default."""

    def answer(method: str, path: str, params: Any) -> Response:
        private = [{"id": "p", "name": "gpu"}] if params.get("is_public") == "None" else []
        return Response(200, {"flavors": [{"id": "1", "name": "small"}, *private]})

    assert [t.id for t in find(Services(answer), query("flavor", name="gpu"))] == ["p"]  # type: ignore[arg-type]


def test_a_question_is_filtered_by_the_api_or_here_page_by_page() -> None:
    services = Services(
        lambda method, path, params: Response(200, {"flavors": [{"id": "1", "name": "a"}, {"id": "2", "name": "ab"}]})
    )
    assert [t.id for t in find(services, query("flavor", name="a"))] == ["1"]  # type: ignore[arg-type]
    services = Services(lambda method, path, params: Response(200, {"networks": [{"id": "n", "name": "x"}]}))
    find(services, query("network", name="x", tags=["a", "b"]))  # type: ignore[arg-type]
    assert services.asked[0][2] == {"limit": 500, "name": "x", "tags": "a,b"}


class Endless:
    """A cloud with endless lists: each page has this many items of this size, and names a next one."""

    def __init__(self, items: int, size: int = 1, again: bool = False, values: int = 0) -> None:
        self.asked, self._made = 0, itertools.cycle(range(items)) if again else itertools.count()
        self._items, self._more = items, {"x": "y" * size, **({"z": [[]] * values} if values else {})}

    def __call__(self, method: str, path: str, params: Any) -> Response:
        self.asked += 1
        found = [{"id": f"p{next(self._made)}", **self._more} for _ in range(self._items)]
        return Response(200, dict.fromkeys(("ports", "servers", "networks"), found) | {"next": "more"})


@pytest.mark.parametrize(
    ("cloud", "told", "asked"),
    [
        (Endless(500), "25000 items", 51),
        (Endless(1), "1000 pages", 1000),
        (Endless(1, 1 << 20), "64 MiB", 22),
        (Endless(1, values=100_000), "1500000 values", 3),
        (Endless(3, again=True), "repeats a page", 2),
    ],
    ids=["items", "pages", "bytes", "values", "again"],
)
def test_an_endless_list_is_aborted(cloud: Endless, told: str, asked: int) -> None:
    lists: list[Callable[[Any], Any]] = [
        lambda made: fetch(made, "port"),
        lambda made: find(made, query("network")),
        lambda made: peek(made, "server", "2026-01-01"),
    ]
    for ask in lists:
        cloud.asked = 0
        with pytest.raises(TransientCloudError, match=told):
            ask(Services(cloud))
        assert cloud.asked == asked


def test_lists_contain_only_the_projects_resources_also_for_an_administrator() -> None:
    """Neutron returns the resources of all projects to administrators; Nova and Cinder do so only on request."""
    for project, filters in (("p", {"project_id": "p"}), (None, {})):
        for what in owned_types():
            key = REST[what].keys
            services = Services(lambda method, path, params, key=key: Response(200, {key: []}), project)
            fetch(services, what)  # type: ignore[arg-type]
            assert services.asked[0][2] == {"limit": 500, **(filters if REST[what].service == "network" else {})}


def asks(what: str, *owners: str, project: str | None = "mine", **where: Any) -> tuple[list[str], Any]:
    """The projects of the results if each project has one resource, and the queries to Neutron."""

    def answer(method: str, path: str, params: Any) -> Response:
        key = path.strip("/").replace("-", "_")
        wanted = params.get("project_id")
        found = [{"id": owner, "name": "x", "project_id": owner} for owner in owners if wanted in (None, owner)]
        return Response(200, {key: found})

    services = Services(answer, project)
    found = [thing.id for thing in find(services, query(what, **where))]  # type: ignore[arg-type]
    return found, services.asked[0][2].get("project_id")


@pytest.mark.parametrize("what", ["security-group", "floating-ip", "port"])
def test_unshared_types_are_searched_in_the_own_project(what: str) -> None:
    assert asks(what, "other", "mine", name="x") == (["mine"], "mine")
    assert asks(what, "other", name="x") == ([], "mine")
    assert asks(what, "other", "mine", name="x", project_id="other") == (["other"], "other")
    assert asks(what, "other", id="other") == (["other"], None)
    assert asks(what, "other", "mine", name="x", project=None) == (["other", "mine"], None)


@pytest.mark.parametrize("what", ["network", "subnet", "router"])
def test_networks_of_other_projects_are_found_after_those_of_the_own(what: str) -> None:
    assert asks(what, "other", "mine", name="x") == (["mine"], None)
    assert asks(what, "other", name="x") == (["other"], None)
    assert asks(what, "other", "third", name="x") == (["other", "third"], None)
    assert asks(what, "other", "mine", name="x", project_id="other") == (["other"], "other")
    assert asks(what, "other", "mine", name="x", project=None) == (["other", "mine"], None)


def test_all_subnets_of_a_network_are_found_whosever_they_are() -> None:
    assert asks("subnet", "other", "mine", network_id="n") == (["other", "mine"], None)


def found(what: str, *items: Any, whole: bool = False, **where: Any) -> tuple[CloudResource, ...]:
    services = Services(lambda method, path, params: Response(200, {f"{what.replace('-', '_')}s": list(items)}), "mine")
    return find(services, (complete_query if whole else query)(what, **where))  # type: ignore[arg-type]


def test_of_very_much_that_is_found_the_first_is_kept() -> None:
    tags = [f"tag-{n}" for n in range(25)]
    for items in ([{"id": f"{n:036}", "tags": tags} for n in range(499)], [{"id": f"{n:036}"} for n in range(499)]):
        things = found("security-group", *items, name="x")
        assert 2 < len(things) < 499
        assert [thing.id for thing in things] == [item["id"] for item in items[: len(things)]]
        assert sum(thing.weight for thing in things) <= KEPT


def test_a_whole_list_is_found_or_trouble_and_never_a_part_of_it() -> None:
    """Of 300 subnets of a network 107 got into the status of a cluster."""
    more = {"network_id": "n" * 36, "name": "public-subnet-000", "cidr": "203.0.113.0/24", "tags": [], "dns": ["x"] * 9}
    subnets = [{"id": f"{n:036}", **more} for n in range(450)]
    for count in (1, 100, 300):
        things = found("subnet", *subnets[:count], whole=True, network_id="n")
        assert len(things) == count
        assert sum(thing.weight for thing in things) <= WHOLE
    with pytest.raises(TransientCloudError, match="a list of subnets exceeds the limit of 256 KiB: select fewer"):
        found("subnet", *subnets, whole=True, network_id="n")
    with pytest.raises(TransientCloudError, match=r"a list of routers exceeds the limit of 256 KiB$"):
        found("router", *subnets, *subnets, whole=True)
    spec = {"network": {"id": "n"}}
    answers: dict[Query, tuple[CloudResource, ...]] = {query("network", id="n"): (CloudResource("network", "n"),)}
    missing = resolve_cluster(spec, {}, answers).missing
    assert {asked.type for asked in missing if asked.whole} == {"subnet", "availability-zone"}


def test_two_matches_never_count_as_one() -> None:
    large = {"tags": ["x" * 255] * 150}
    for items in ([{"id": "1", **large}, {"id": "2", **large}], [{"id": "1"}, {"id": "2", **large}]):
        assert [thing.id for thing in found("network", *items, *items, name="x")][:2] == ["1", "2"]
    with pytest.raises(TransientCloudError, match="a network exceeds the limit of 64 KiB"):
        found("network", {"id": "1"}, {"id": "2", "tags": ["x" * 255] * 300}, name="x")


def test_only_used_fields_of_results_are_kept() -> None:
    (network,) = found("network", {"id": "1", "name": "n", "mtu": [1] * 500, "tags": ["t"], "description": "x" * 4096})
    assert network == CloudResource("network", "1", "n", facts={"tags": ["t"]})


@pytest.mark.parametrize(
    ("data", "reason", "part"),
    [
        ({}, "CredentialsMissing", "ns/clouds does not exist"),
        ({"clouds.yaml": "{"}, "CredentialsInvalid", "is not YAML"),
        ({"clouds.yaml": "clouds: {other: {auth: {}}}"}, "CredentialsInvalid", "no cloud mine; its clouds: other"),
        ({"clouds.yaml": "clouds: {mine: {}}"}, "CredentialsInvalid", "no cloud mine"),
    ],
)
def test_missing_credentials_are_named(data: dict[str, str], reason: str, part: str) -> None:
    with pytest.raises(TransientCloudError) as raised:
        login_of(CLOUD, data)
    assert raised.value.reason == reason
    assert part in str(raised.value)


def test_a_connection_has_one_region_and_one_ca() -> None:
    text = yaml.safe_dump({"clouds": {"mine": {"auth": AUTH, "region_name": "one"}}})
    found = {
        login_of(CLOUD, {"clouds.yaml": text}).digest,
        login_of(CLOUD, {"clouds.yaml": text, "cacert": "PEM"}).digest,
        login_of(CloudRef(CLOUD.secret, "mine", "two"), {"clouds.yaml": text}).digest,
    }
    assert len(found) == 3


def port(id_: str, uid: str = UID, **facts: Any) -> CloudResource:
    return CloudResource("port", id_, mark=mark(uid, ("port", id_)), facts=facts)


def test_a_list_that_began_before_a_write_does_not_undo_it() -> None:
    snapshot = Snapshot()
    snapshot.write(port("new"), now=10)
    assert snapshot.replace("port", [port("old")], began=9) == {("port", "old")}
    assert set(snapshot.things) == {("port", "new"), ("port", "old")}
    assert snapshot.replace("port", [port("old")], began=11) == {("port", "new")}
    snapshot.drop(("port", "old"), now=12)
    snapshot.replace("port", [port("old")], began=11.5)
    assert snapshot.things == {}


def test_a_slow_list_is_requested_less_often() -> None:
    snapshot = Snapshot(fresh={"volume": 100.0}, taken={"volume": 100.0})
    assert snapshot.due("volume", True, 102.0)
    snapshot.took["volume"] = 7.0
    assert not snapshot.due("volume", True, 120.0)
    assert snapshot.due("volume", True, 121.0)
    assert snapshot.due("volume", True, 102.0, settled=100.5), "who has to know gets to know"


def test_a_whole_list_does_not_revert_later_changes() -> None:
    """It may take half a minute, while lists of changes run."""
    before, now = CloudResource("server", "1", state="BUILD"), CloudResource("server", "1", state="ACTIVE")
    snapshot = Snapshot()
    snapshot.replace("server", [before, CloudResource("server", "2")], began=1)
    assert snapshot.update("server", [now, CloudResource("server", "new")], began=20) == {
        ("server", "1"),
        ("server", "new"),
    }
    assert snapshot.replace("server", [before], began=10) == {("server", "2")}
    assert snapshot.things == {("server", "1"): now, ("server", "new"): CloudResource("server", "new")}
    assert (snapshot.taken["server"], snapshot.fresh["server"]) == (10, 20)
    assert snapshot.replace("server", [now], began=40) == {("server", "new")}


def test_a_list_that_began_before_the_last_whole_list_is_ignored() -> None:
    """Two of them may be in progress, and a slow one ends last."""
    before, now = CloudResource("server", "1", state="BUILD"), CloudResource("server", "1", state="ACTIVE")
    snapshot = Snapshot()
    snapshot.replace("server", [before], began=1)
    snapshot.replace("server", [now, CloudResource("server", "new")], began=10)
    assert snapshot.replace("server", [before], began=5) == set()
    assert snapshot.update("server", [before, CloudResource("server", "gone")], began=5) == set()
    assert snapshot.things == {("server", "1"): now, ("server", "new"): CloudResource("server", "new")}
    assert (snapshot.taken["server"], snapshot.fresh["server"]) == (10, 10)


async def test_the_whole_list_is_fetched_in_the_background(lists: Lists, time: Time) -> None:
    port_ = clouds([])
    lists.things["server"] = [CloudResource("server", "1", state="BUILD")]
    await look(port_, CLOUD, subscription(1, waits=True, begun=False))
    for _ in range(3):
        time.now += tenant_whole_list.WHOLE / 2
        await look(port_, CLOUD, subscription(1, waits=True))
        await asyncio.sleep(0.05)
    assert [partly for what, partly in lists.asked if what == "server"] in (
        [False, True, True, False, True], [False, True, False, True, True],
    )  # fmt: skip
    await port_.close()


def test_a_resource_without_its_mark_belongs_to_no_object() -> None:
    snapshot = Snapshot()
    snapshot.write(port("a"), now=1)
    snapshot.write(CloudResource("port", "a"), now=2)
    assert snapshot.of(Subscription("server", ("ns", "web"), UID, ("port",))) == ()


def test_a_requested_deletion_is_known_to_be_in_progress() -> None:
    snapshot = Snapshot()
    snapshot.write(CloudResource("server", "1", state="ACTIVE"), now=1)
    snapshot.leaving(("server", "1"), now=2)
    assert snapshot.things["server", "1"].facts["task_state"] == "deleting"


def test_the_view_of_an_object_has_recorded_and_marked_resources() -> None:
    snapshot = Snapshot()
    snapshot.replace(
        "port", [port("a"), port("b", uid="f" * 8), CloudResource("port", "c"), CloudResource("port", "d")], began=1
    )
    subscription = Subscription("server", ("ns", "web"), UID, ("port",), frozenset({("port", "c")}))
    assert [thing.id for thing in snapshot.of(subscription)] == ["a", "c"]


class Lists:
    """The results of `fetch` and `peek`, and their number of calls."""

    def __init__(self) -> None:
        self.things: dict[str, list[CloudResource]] = {}
        self.asked: list[tuple[str, bool]] = []
        self.peeks = 0
        self.fail: Exception | None = None
        self.single: list[tuple[str, str]] = []
        self.clock: float | None = 0.0  # Nova's minus ours

    def __call__(self, connection: Any, what: str, since: str = "") -> list[CloudResource]:
        self.asked.append((what, bool(since)))
        if self.fail:
            raise self.fail
        return self.things.get(what, [])

    def one(self, connection: Any, what: str, id_: str) -> CloudResource | None:
        """A request for one thing by its id."""
        self.single.append((what, id_))
        return next((thing for thing in self.things.get(what, []) if thing.id == id_), None)

    def peek(self, connection: Any, what: str, since: str) -> list[str]:
        self.peeks += 1
        if self.fail:
            raise self.fail
        return [thing.id for thing in self.things.get(what, []) if thing.state == TYPES[what].built]


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch) -> Lists:
    made = Lists()
    monkeypatch.setattr(single_flight, "PATIENCE", 60.0)  # this machine may be busy
    monkeypatch.setattr(tenant_lists, "MOMENT", 60.0)
    monkeypatch.setattr(tenant_lists, "fetch", made)
    monkeypatch.setattr(tenant_lists, "peek", made.peek)
    monkeypatch.setattr(tenant_lists, "single", made.one)
    monkeypatch.setattr(project_connection, "connection", lambda login, *_: Mock(login=login, current_project_id="p"))
    monkeypatch.setattr(project_connection, "state_of", lambda connection: CloudState(issued=made.clock))
    return made


class Time:
    """All clocks of the port, which are stopped."""

    def __init__(self) -> None:
        self.now = 100_000.0

    def monotonic(self) -> float:
        return self.now

    time = monotonic


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    modules = (
        tenant_attach,
        tenant_changes,
        tenant_clouds,
        tenant_lists,
        project_connection,
        transport_login,
        project_session,
    )
    for module in modules:
        monkeypatch.setattr(module, "time", made)
    return made


def clouds(told: list[Any], passwords: dict[str, str] | None = None) -> OpenStackClouds:
    """passwords  by the name of the Secret, of others than `clouds`"""

    async def secrets(key: Any) -> Any:
        auth = {**AUTH, "password": (passwords or {}).get(key[1], "pw-x")}
        text = yaml.safe_dump({"clouds": {"mine": {"auth": auth}}})
        return {"data": {"clouds.yaml": b64encode(text.encode()).decode()}}

    return OpenStackClouds(secrets, lambda controller, key: told.append((controller, key)))


def subscription(number: int, *, waits: bool = False, begun: bool = True) -> Subscription:
    owned = frozenset({("server", str(number))})
    return Subscription("server", ("ns", str(number)), f"{UID}{number}", KINDS, owned, waits, begun)


async def test_a_view_reads_memory_only(lists: Lists, time: Time) -> None:
    lists.things["server"] = [CloudResource("server", "id-1")]
    port_, one = clouds([]), subscription(1)
    await port_.subscribe(CLOUD, one)
    asked = list(lists.asked)
    time.now += 1000
    views = [port_.view(one) for _ in range(3)]
    assert views[0] == views[2]
    assert (lists.asked, port_._projects.popitem()[1].watch) == (asked, None)


async def test_a_call_needs_a_subscription_with_its_credentials(lists: Lists, time: Time) -> None:
    port_ = clouds([])
    deferred = await port_.submit(call("delete", "port", "a", id="1"))
    assert isinstance(deferred, Deferred)
    assert deferred.reason is Reason.CREDENTIALS_CHANGED


async def test_500_healthy_servers_cost_one_list(lists: Lists) -> None:
    lists.things["server"] = [CloudResource("server", str(n), state="ACTIVE") for n in range(500)]
    port_ = clouds([])
    looks = await asyncio.gather(*(look(port_, CLOUD, subscription(n)) for n in range(500)))
    assert lists.asked == [("server", False)]
    assert all(len(view.things) == 1 for view in looks)
    assert looks[0].unlisted_types == {"port", "trunk", "volume"}
    await port_.close()


async def test_a_call_decided_with_other_credentials_is_not_executed(lists: Lists, time: Time) -> None:
    """They may lead to another project. A plan with ten removals takes seconds, and the Secret may change meanwhile."""
    passwords = {"clouds": "pw-1"}
    port_ = clouds([], passwords)
    await look(port_, CLOUD, replace(subscription(1), uid=UID))
    for password in ("pw-2", "pw-1"):
        passwords["clouds"] = password
        time.now += transport_login.READ_AGAIN
        with pytest.raises(TransientCloudError, match=r"Secret ns/clouds changed .* are listed again") as told:
            await submit(port_, call("delete", "port", "a", id="1"))
        assert told.value.reason == "CredentialsChanged"
        passwords["clouds"] = "pw-2"
        time.now += transport_login.READ_AGAIN
        await look(port_, CLOUD, replace(subscription(1), uid=UID))
    await port_.close()


async def test_who_cannot_read_the_credentials_changes_nothing(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator that is cut off from the Kubernetes API: another one may run already."""
    sent: list[Any] = []
    monkeypatch.setattr(tenant_changes, "run", lambda *call: sent.append(call) or ("1", None))
    port_ = clouds([])
    await look(port_, CLOUD, replace(subscription(1), uid=UID))
    await submit(port_, call("delete", "port", "a", id="1"))
    assert len(sent) == 1

    async def cut_off(key: Any) -> Any:
        raise Unreachable("get Secret ns/clouds: the Kubernetes API cannot be reached")

    monkeypatch.setattr(port_._logins, "_secrets", cut_off)
    time.now += transport_login.READ_AGAIN
    with pytest.raises(Unreachable):
        await submit(port_, call("delete", "port", "b", id="2"))
    assert len(sent) == 1
    await port_.close()


async def test_changed_credentials_in_the_same_secret_are_used_at_once(lists: Lists, time: Time) -> None:
    """A namespace that is deleted and recreated may belong to another project."""
    passwords = {"clouds": "pw-1"}
    port_ = clouds([], passwords)
    lists.things["server"] = [CloudResource("server", "1")]
    assert (await look(port_, CLOUD, subscription(1))).things
    passwords["clouds"] = "pw-2"
    lists.things["server"] = []
    time.now += 3
    assert not (await look(port_, CLOUD, subscription(1))).things
    await port_.close()


async def test_requests_of_an_earlier_process_are_not_settled_at_once(lists: Lists) -> None:
    lists.things["server"] = [CloudResource("server", "1"), CloudResource("server", "2")]
    port_ = clouds([])
    assert not (await look(port_, CLOUD, subscription(1, waits=True))).settled
    assert (await look(port_, CLOUD, subscription(2, waits=True, begun=False))).settled
    assert (await look(port_, CLOUD, subscription(2, waits=True))).settled
    await port_.close()


async def test_resources_of_an_earlier_process_are_searched_when_all_is_settled(lists: Lists, time: Time) -> None:
    port_ = clouds([])
    assert not (await look(port_, CLOUD, subscription(1, waits=True))).settled
    before = len(lists.asked)
    time.now += SETTLE + 1
    assert (await look(port_, CLOUD, subscription(1, waits=True))).settled
    assert {what for what, _ in lists.asked[before:]} == set(KINDS)
    await port_.close()


async def test_only_waiting_subscribers_are_woken_by_changes(lists: Lists, monkeypatch: pytest.MonkeyPatch) -> None:
    listed_often(monkeypatch)
    told: list[Any] = []
    port_ = clouds(told)
    lists.things["server"] = [CloudResource("server", "1", state="BUILD"), CloudResource("server", "2", state="ACTIVE")]
    await look(port_, CLOUD, subscription(1, waits=True, begun=False))
    await look(port_, CLOUD, subscription(2))
    told.clear()
    lists.things["server"] = [CloudResource("server", "1", state="ACTIVE"), CloudResource("server", "2", state="ERROR")]
    for _ in range(100):
        await asyncio.sleep(0.01)
        if told:
            break
    assert set(told) == {("server", ("ns", "1"))}
    assert [partly for what, partly in lists.asked if what == "server"] == [False], "by a peek, not by a list"
    await port_.close()


async def refresh(port_: OpenStackClouds) -> Project:
    """Like the watch, which sleeps while the clock is stopped."""
    (project,) = port_._projects.values()
    await port_._lists.refresh(CLOUD, project, "server", True)
    return project


async def test_a_slow_list_delays_no_peek(lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()

    def fetch(connection: Any, what: str, since: str = "") -> list[CloudResource]:
        if since:
            free.wait(100)
        return lists(connection, what, since)

    monkeypatch.setattr(tenant_lists, "fetch", fetch)
    told: list[Any] = []
    port_ = clouds(told)
    lists.things["server"] = [CloudResource("server", "1", state="BUILD")]
    await look(port_, CLOUD, subscription(1, waits=True, begun=False))
    lists.things["server"] = [CloudResource("server", "1", state="ACTIVE")]
    told.clear()
    time.now += tenant_snapshot.PART
    try:
        await asyncio.wait_for(refresh(port_), 60)
        assert told == [("server", ("ns", "1"))]
    finally:
        free.set()
        await port_.close()


async def test_peeks_run_twice_a_second_and_changes_are_listed_when_a_server_is_deleted(
    lists: Lists, time: Time
) -> None:
    port_, waiting = clouds([]), subscription(1, waits=True, begun=False)
    lists.things["server"] = [CloudResource("server", "1", state="BUILD"), CloudResource("server", "2", state="ACTIVE")]

    async def asked(seconds: float) -> tuple[int, int]:
        """Numbers of peeks, and of lists of changes."""
        peeks, parts = lists.peeks, lists.asked.count(("server", True))
        time.now += seconds
        await refresh(port_)
        await asyncio.sleep(0.01)
        state = (await look(port_, CLOUD, waiting)).things[0].state
        assert state == lists.things["server"][0].state
        return lists.peeks - peeks, lists.asked.count(("server", True)) - parts

    await look(port_, CLOUD, waiting)
    assert [await asked(0.5) for _ in range(3)] == [(1, 0)] * 3
    lists.things["server"][0] = CloudResource("server", "1", state="ACTIVE")
    assert [await asked(0.5) for _ in range(2)] == [(1, 0)] * 2
    assert await asked(tenant_snapshot.PART) == (1, 1), "what else changed is told now and then, beside"
    project = await refresh(port_)
    project.snapshot.leaving(("server", "2"), time.now)
    assert await asked(1) == (1, 0), "nobody who waits has it"
    project.snapshot.leaving(("server", "1"), time.now)
    assert [await asked(1) for _ in range(2)] == [(1, 1), (1, 0)], "until it is known not to be going"
    await port_.close()


def test_a_peek_shows_only_that_a_server_is_built() -> None:
    """Nova's data of a server in creation, for example without volumes, would look like a loss."""
    building = {"task_state": "spawning", "addresses": {}, "volumes": [], "tags": ["a"], "metadata": {}}
    running = {**building, "task_state": "deleting", "volumes": ["v"]}
    snapshot = Snapshot()
    for id_, state, facts in (("1", "BUILD", building), ("2", "ACTIVE", running), ("3", "BUILD", building)):
        snapshot.write(CloudResource("server", id_, state=state, facts=facts), now=1)
    assert snapshot.peek("server", ["1", "2", "unknown"], began=2) == {("server", "1")}
    found = {id_: (thing.state, thing.facts) for (_, id_), thing in snapshot.things.items()}
    lasting = {"tags": ["a"], "metadata": {}}
    assert found == {"1": ("ACTIVE", lasting), "2": ("ACTIVE", running), "3": ("BUILD", building)}
    snapshot.write(CloudResource("server", "1", state="SHUTOFF"), now=3)
    assert not snapshot.peek("server", ["1"], began=2.5), "it began before"
    snapshot.leaving(("server", "3"), now=3)
    assert not snapshot.peek("server", ["3"], began=4), "it was told to go, which is not to be asked for again"


async def test_a_waiting_subscriber_uses_a_recent_snapshot_as_it_is(lists: Lists, time: Time) -> None:
    """Otherwise an object that is woken for its new server would wait for the next request to the cloud."""
    port_ = clouds([])
    await look(port_, CLOUD, subscription(1, waits=True, begun=False))
    await asyncio.sleep(0.01)
    before = lists.peeks
    time.now += 2
    await look(port_, CLOUD, subscription(1, waits=True))
    assert lists.peeks == before
    time.now += 2
    lists.fail = TransientCloudError("ServerError", "HTTP 500")
    with pytest.raises(TransientCloudError, match="HTTP 500"):
        await look(port_, CLOUD, subscription(1, waits=True))
    await port_.close()


async def test_a_wait_for_a_server_needs_no_list_of_other_types(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no volumes to list, and a list of many ports takes Neutron seconds."""
    free, slow = threading.Event(), False

    def fetch(connection: Any, what: str, since: str = "") -> list[CloudResource]:
        if slow:
            free.wait(100)
        return lists(connection, what, since)

    monkeypatch.setattr(tenant_lists, "fetch", fetch)
    port_ = clouds([])
    await look(port_, CLOUD, subscription(1, waits=True, begun=False))
    await asyncio.sleep(0.01)
    for _ in range(2):
        time.now += ListPolicy.waiting / 2 + 1
        project = await refresh(port_)
        await look(port_, CLOUD, subscription(1, waits=True))
    await until(lambda: not any(flight.flies for flight in project.lists.values()))
    lists.asked.clear()
    slow = True
    time.now += ListPolicy.waiting / 2 + 1
    await refresh(port_)
    await look(port_, CLOUD, subscription(1, waits=True))
    time.now += ListPolicy.waiting / 2 + 1
    await refresh(port_)
    try:
        await asyncio.wait_for(look(port_, CLOUD, subscription(1, waits=True)), 60)
    finally:
        free.set()
    await until(lambda: len(lists.asked) >= 3)
    await asyncio.sleep(0.05)
    assert sorted(what for what, _ in lists.asked) == ["port", "server", "trunk"]
    await port_.close()


def test_a_peek_requests_ids_of_active_servers() -> None:
    services = Services(lambda method, path, params: Response(200, {"servers": [{"id": "1"}, {"id": "2"}]}))
    assert peek(services, "server", "T") == ["1", "2"]  # type: ignore[arg-type]
    assert services.asked == [("GET", "/servers", {"limit": 500, "changes-since": "T", "status": "ACTIVE"})]


async def test_servers_are_created_in_turn_and_the_next_is_woken_when_a_slot_frees(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    port_, least = clouds(told), BUILDS[0]
    bodies = {n: {"id": str(n), "status": "BUILD"} for n in range(least + 1)}
    monkeypatch.setattr(tenant_changes, "run", lambda made, call, _: (call.body["id"], bodies[int(call.body["id"])]))

    async def make(n: int) -> str:
        return await submit(port_, CloudCall(CLOUD, "create", SERVER_KEY, f"{UID}{n}", body=bodies[n]))

    for n in bodies:
        await look(port_, CLOUD, subscription(n, waits=True, begun=False))
    assert [await make(n) for n in range(least)] == [str(n) for n in range(least)]
    with pytest.raises(
        TransientCloudError, match="Waiting for a free slot: other servers of this project are being created"
    ):
        await make(least)
    lists.things["server"] = [
        CloudResource("server", str(n), state="ACTIVE" if n == 1 else "BUILD") for n in range(least)
    ]
    told.clear()
    time.now += 2
    await refresh(port_)
    assert ("server", ("ns", str(least))) in told
    assert await make(least) == str(least)
    await port_.close()


async def test_a_deferred_request_holds_no_worker_and_is_woken_when_a_slot_frees(
    lists: Lists, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    port_, done = clouds(told), threading.Event()
    made = {"id": "s", "status": "BUILD"}
    monkeypatch.setattr(tenant_changes, "run", lambda _, call, data: (done.wait(100) and call.uid, made))
    least = REQUESTS[0]
    calls = [CloudCall(CLOUD, "create", SERVER_KEY, f"{UID}{n}") for n in range(least + 1)]
    for n in range(least + 1):
        await look(port_, CLOUD, subscription(n, waits=True, begun=False))
    first = [asyncio.create_task(submit(port_, each)) for each in calls[:least]]
    try:
        await asyncio.sleep(0)
        text = "Waiting for a free slot: other requests of this project to create server are in progress"
        with pytest.raises(TransientCloudError, match=text) as raised:
            await asyncio.wait_for(submit(port_, calls[least]), 60)
        assert raised.value.reason == "WaitingForTurn"
        delete = CloudCall(CLOUD, "delete", SERVER_KEY, f"{UID}1", id="other")
        other = asyncio.create_task(submit(port_, delete))
        await asyncio.sleep(0)
        assert not other.done(), "another kind of request has turns of its own"
    finally:
        told.clear()
        done.set()
    await asyncio.gather(*first, other)
    assert told == [("server", ("ns", str(least)))]
    await port_.close()


async def test_a_failed_request_for_a_server_frees_its_slot(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    port_ = clouds([])
    monkeypatch.setattr(tenant_changes, "run", Mock(side_effect=TerminalCloudError("Rejected", "no")))
    for n in range(BUILDS[0] + 1):
        await look(port_, CLOUD, subscription(n, waits=True, begun=False))
        with pytest.raises(TerminalCloudError, match="no"):
            await submit(port_, CloudCall(CLOUD, "create", SERVER_KEY, f"{UID}{n}"))
    await port_.close()


async def test_a_wait_for_user_data_blocks_no_other_object(lists: Lists, monkeypatch: pytest.MonkeyPatch) -> None:
    port_ = clouds([])
    monkeypatch.setattr(tenant_changes, "run", lambda made, call, _: (call.uid, {}))
    for n in range(BUILDS[0] + 1):
        await look(port_, CLOUD, subscription(n, waits=True, begun=False))
    for n in range(BUILDS[0]):
        await submit(port_, CloudCall(CLOUD, "create", ("port", "p"), f"{UID}{n}"))
        with pytest.raises(TransientCloudError, match="Waiting for Secret ns/none with the key value"):
            data = (("ns", "none"), "value")
            await submit(port_, CloudCall(CLOUD, "create", SERVER_KEY, f"{UID}{n}", user_data=data))
    assert await submit(port_, CloudCall(CLOUD, "create", ("port", "p"), f"{UID}{BUILDS[0]}"))
    await port_.close()


async def test_user_data_of_another_owner_are_not_sent(lists: Lists, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    clouds_yaml = base64.b64encode(b"clouds: {mine: {auth: {auth_url: 'https://k'}}}").decode()
    owner = {"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "name": "k"}

    async def secrets(key: Any) -> Any:
        if key != ("ns", "kubeconfig"):
            return {"data": {"clouds.yaml": clouds_yaml}}
        return {"metadata": {"ownerReferences": [owner | {"controller": True}]}, "data": {"value": "eA=="}}

    monkeypatch.setattr(tenant_changes, "run", lambda made, call, user_data: sent.append(user_data))
    port_ = OpenStackClouds(secrets, lambda controller, key: None)
    await look(port_, CLOUD, subscription(0, waits=True, begun=False))
    call_ = CloudCall(CLOUD, "create", SERVER_KEY, f"{UID}0", user_data=(("ns", "kubeconfig"), "value"))
    with pytest.raises(
        TransientCloudError, match="ns/kubeconfig belongs to KubeadmControlPlane k; name one of your own"
    ):
        await submit(port_, call_)
    assert sent == []
    await port_.close()


async def test_a_secret_value_that_is_no_text_is_an_error_of_the_user(
    lists: Lists, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packed user data is sent unchanged, other keys are not read, and a certificate must be text."""
    packed = gzip.compress(b"#cloud-config")
    written = b"clouds: {mine: {auth: {auth_url: 'https://k'}}}"
    found: dict[str, bytes] = {"clouds.yaml": written, "trust.jks": b"\xfe\xed", "value": packed}

    async def secrets(key: Any) -> Any:
        return {"data": {name: base64.b64encode(value).decode() for name, value in found.items()}}

    monkeypatch.setattr(tenant_changes, "run", lambda made, call, user_data: (user_data.hex(), {}))
    port_ = OpenStackClouds(secrets, lambda controller, key: None)
    await look(port_, CLOUD, subscription(0, waits=True, begun=False))
    call_ = CloudCall(CLOUD, "create", SERVER_KEY, f"{UID}0", user_data=(("ns", "data"), "value"))
    assert bytes.fromhex(await submit(port_, call_)) == packed
    for part, value in (("cacert", b"\x30\x82\xff"), ("clouds.yaml", written + b"\xff")):
        found = {"clouds.yaml": written, part: value}
        with pytest.raises(TransientCloudError, match=part) as raised:
            await look(OpenStackClouds(secrets, lambda controller, key: None), CLOUD, subscription(1))
        assert raised.value.reason == "CredentialsInvalid"
    await port_.close()


async def test_servers_are_listed_only_for_objects_that_need_them(
    lists: Lists, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed_often(monkeypatch)
    port_ = clouds([])
    await look(port_, CLOUD, Subscription("capicluster", ("ns", "c"), UID, ("network",), waits=True, begun=False))
    await asyncio.sleep(0.1)
    assert {what for what, _ in lists.asked} == {"network"}
    await port_.close()


async def test_a_router_with_a_new_interface_changes_the_picture_of_the_port(
    lists: Lists, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists.things["port"] = [port("p")]
    monkeypatch.setattr(tenant_changes, "run", lambda made, call, data: ("r", INTERFACE))
    port_ = clouds([])
    asks = Subscription("capicluster", ("ns", "c"), UID, ("port",), frozenset({("port", "p")}), waits=True, begun=False)
    await look(port_, CLOUD, asks)
    await submit(port_, call(**ATTACH))
    (found,) = (await look(port_, CLOUD, asks)).things
    assert found.facts["device_id"] == "r"
    await port_.close()


async def test_tags_that_were_set_back_are_not_set_back_again(lists: Lists, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neutron answers with the tags and no port, Nova with nothing."""
    lists.things["port"] = [CloudResource("port", "p", "web-0", facts={"tags": ["theirs"], "device_id": "s"})]
    monkeypatch.setattr(tenant_changes, "run", lambda made, call, data: ("p", {}))
    port_ = clouds([])
    asks = Subscription("server", ("ns", "c"), UID, ("port",), frozenset({("port", "p")}), waits=True, begun=False)
    await look(port_, CLOUD, asks)
    await submit(port_, CloudCall(CLOUD, "update", ("port", "0"), UID, id="p", body={"tags": ["ours", "theirs"]}))
    (found,) = (await look(port_, CLOUD, asks)).things
    assert found.facts == {"tags": ["ours", "theirs"], "device_id": "s"}
    await port_.close()


@pytest.mark.parametrize(
    "error", [TransientCloudError(Reason.NOT_FOUND, "HTTP 404"), TerminalCloudError(Reason.SERVICE_MISSING, "no such")]
)
async def test_a_cloud_without_volumes_is_a_cloud(
    lists: Lists, time: Time, error: TransientCloudError | TerminalCloudError
) -> None:
    asked: list[str] = []

    def fetch(connection: Any, what: str, since: str = "") -> list[CloudResource]:
        asked.append(what)
        if what == "volume":
            raise error
        return [CloudResource("server", "1")] if what == "server" else []

    tenant_lists.fetch = fetch  # type: ignore[assignment]
    port_ = clouds([])
    for _ in range(2):
        view = await look(port_, CLOUD, subscription(1, waits=True, begun=False))
        assert view.certain == isinstance(error, TerminalCloudError), "one answer of 404 proves nothing"
    time.now += CONFIRM
    for _ in range(2):
        view = await look(port_, CLOUD, subscription(1, waits=True, begun=False))
        assert view.certain
    assert asked.count("volume") == (1 if isinstance(error, TerminalCloudError) else 2)
    await port_.close()


@pytest.mark.parametrize("own", [True, False], ids=["own", "of a proxy"])
async def test_one_404_makes_no_service_missing(lists: Lists, time: Time, own: bool) -> None:
    """A volume with a mark and without a record would be left behind or created again."""
    wrong = [problem_of((Response if own else answer_without_id)(404, "default backend"))]  # type: ignore[arg-type]

    def fetch(connection: Any, what: str, since: str = "") -> list[CloudResource]:
        if what == "volume" and wrong:
            raise wrong.pop()
        return [CloudResource("volume", "v", mark=mark(f"{UID}1", ("volume", "root")))] if what == "volume" else []

    tenant_lists.fetch = fetch  # type: ignore[assignment]
    told: list[Any] = []
    port_, one = clouds(told), replace(subscription(1, waits=True, begun=False), ids=frozenset())
    if own:
        assert not (await look(port_, CLOUD, one)).certain
    else:
        with pytest.raises(TransientCloudError, match="without the header"):
            await look(port_, CLOUD, one)
    time.now += CONFIRM
    view = await look(port_, CLOUD, one)
    assert view.certain
    assert [thing.id for thing in view.things] == ["v"]
    await port_.close()


@pytest.mark.parametrize("lacking", [frozenset({"volume"}), frozenset({"trunk"}), frozenset({"volume", "trunk"})])
@pytest.mark.parametrize("begun", [False, True])
async def test_after_a_restart_lists_settle_in_a_cloud_that_lacks_a_service(
    lists: Lists, time: Time, lacking: frozenset[str], begun: bool
) -> None:
    """A server of an earlier process could never be deleted: absent types counted as lists of time 0."""

    def fetch(connection: Any, what: str, since: str = "") -> list[CloudResource]:
        if what in lacking:
            raise TransientCloudError("NotFound", "HTTP 404")
        return []

    tenant_lists.fetch = fetch  # type: ignore[assignment]
    port_ = clouds([])
    await look(port_, CLOUD, subscription(1, waits=True, begun=begun))
    for _ in range(3):
        time.now += SETTLE + 1
        view = await look(port_, CLOUD, subscription(1, waits=True, begun=begun))
    assert not view.unlisted_types
    assert view.settled
    await port_.close()


async def test_a_missing_service_does_not_hide_its_recorded_resources(lists: Lists, time: Time) -> None:
    """One wrong 404 must not make a volume look deleted; the service is queried again later."""
    lacking = {"volume"}
    things = [CloudResource("volume", "v1")]

    def fetch(connection: Any, what: str, since: str = "") -> list[CloudResource]:
        if what in lacking:
            raise TransientCloudError("NotFound", "HTTP 404")
        return things if what == "volume" else []

    tenant_lists.fetch = fetch  # type: ignore[assignment]
    port_ = clouds([])
    recorded = replace(subscription(1, waits=True), ids=frozenset({("volume", "v1")}))
    for expected in ({}, {"volume": "block_storage"}):
        view = await look(port_, CLOUD, recorded)
        assert "volume" in view.unlisted_types
        assert not view.certain
        assert view.lacking == expected, "one answer of 404 proves nothing"
        time.now += SETTLE + 1
    lacking.clear()
    time.now += tenant_snapshot.ABSENT
    view = await look(port_, CLOUD, recorded)
    assert [thing.id for thing in view.things] == ["v1"]
    assert not view.certain, "by its first list"
    time.now += CONFIRM
    assert (await look(port_, CLOUD, recorded)).certain
    lacking.add("volume")
    for expected in ({}, {"volume": "block_storage"}):
        time.now += CONFIRM
        view = await look(port_, CLOUD, recorded)
        assert view.lacking == expected
        assert [thing.id for thing in view.things] == ([] if expected else ["v1"]), "they can no longer be listed"
    assert not view.certain
    await port_.close()


async def test_the_deletion_of_an_unrecorded_marked_resource_is_visible(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example a volume whose creator ended before it wrote the id."""
    monkeypatch.setattr(tenant_changes, "run", lambda made, call, user_data: (call.id, {}))
    lists.things["volume"] = [CloudResource("volume", "v", state="available", mark=mark(UID, ("volume", "root")))]
    port_, one = clouds([]), Subscription("server", ("ns", "web"), UID, KINDS, waits=True)
    time.now += SETTLE
    assert [each.id for each in (await look(port_, CLOUD, one)).things] == ["v"]
    await submit(port_, call("delete", "volume", "root", id="v"))
    lists.things["volume"] = []
    time.now += 60
    await asyncio.sleep(0.05)
    assert (await look(port_, CLOUD, one)).things == ()
    await port_.close()


async def test_an_error_of_a_list_reaches_the_caller_of_view(lists: Lists) -> None:
    lists.fail = TransientCloudError("ServerError", "HTTP 500")
    port_ = clouds([])
    with pytest.raises(TransientCloudError, match="HTTP 500"):
        await look(port_, CLOUD, subscription(1))
    await port_.close()


async def test_after_a_429_no_object_of_the_project_sends_requests(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Any] = []
    monkeypatch.setattr(tenant_clouds, "find", lambda made, asked: answers.append(asked) or ())
    monkeypatch.setattr(tenant_changes, "run", lambda made, call, data: answers.append(call) or ("1", {}))
    lists.things["server"] = [CloudResource("server", str(n)) for n in range(4)]
    port_ = clouds([], {"theirs": "pw-y"})
    await look(port_, CLOUD, subscription(1, waits=True, begun=False))
    time.now += 4
    lists.fail = problem(429, "Too many", "90")
    with pytest.raises(TransientCloudError):
        await look(port_, CLOUD, subscription(1, waits=True))
    lists.fail = None
    lists.asked.clear()
    await look(port_, CLOUD, subscription(2))  # for this one the picture is good enough
    time.now += 60
    told = await asyncio.gather(
        look(port_, CLOUD, subscription(2)),
        look(port_, CLOUD, subscription(3, waits=True)),
        port_.find(CLOUD, query("image", name="a")),
        submit(port_, CloudCall(CLOUD, "create", ("port", "n"), f"{UID}1")),
        return_exceptions=True,
    )
    for error in told:
        assert isinstance(error, TransientCloudError)
        assert (error.reason, str(error)) == ("RateLimited", "HTTP 429: Too many")
        assert error.after and 30 <= error.after <= 36
    await asyncio.sleep(0.01)
    assert (lists.asked, answers) == ([], [])
    assert (await look(port_, CloudRef(("ns", "theirs"), "mine"), subscription(4))).things == (), (
        "another project may ask"
    )
    time.now += 30
    await look(port_, CLOUD, subscription(2))
    await submit(port_, CloudCall(CLOUD, "create", ("port", "n"), f"{UID}1"))
    assert len(lists.asked) == 2 and len(answers) == 1
    await port_.close()


async def test_an_unused_subscription_is_forgotten_with_its_data(lists: Lists, time: Time) -> None:
    lists.things["server"] = [CloudResource("server", str(n), state="ACTIVE") for n in range(50)]
    port_ = clouds([])
    for number in range(50):
        await look(port_, CLOUD, subscription(number, waits=True, begun=False))
    (project,) = port_._projects.values()
    project.snapshot.write(port("old"), time.now)
    project.snapshot.drop(("port", "old"), time.now)
    port_._changes._uncertain[f"{UID}1", "server"] = time.now + 8
    for _ in range(65):
        time.now += 60
        await look(port_, CLOUD, subscription(1))
    assert list(project.subscriptions) == [f"{UID}1"]
    assert not project.snapshot.written
    assert not project.snapshot._owned
    assert not port_._changes._uncertain
    await port_.close()


async def test_a_returning_subscription_starts_unsettled(lists: Lists, time: Time) -> None:
    lists.things["server"] = [CloudResource("server", "1"), CloudResource("server", "2")]
    port_ = clouds([])
    await look(port_, CLOUD, subscription(1, begun=False))
    time.now += 2 * project_session.FORGET
    await look(port_, CLOUD, subscription(2))
    lists.asked.clear()
    assert not (await look(port_, CLOUD, subscription(1, waits=True))).settled
    assert {what for what, _ in lists.asked} >= {"port", "volume"}, "by lists of today"
    time.now += CONFIRM
    assert (await look(port_, CLOUD, subscription(1, waits=True))).settled
    await port_.close()


async def test_a_session_with_changed_credentials_is_closed(lists: Lists, time: Time) -> None:
    passwords = {"clouds": "old"}
    port_ = clouds([], passwords)
    await look(port_, CLOUD, subscription(1))
    (old,) = port_._projects.values()
    used = old.connection._connection
    passwords["clouds"] = "new"
    for _ in range(65):
        time.now += 60
        await look(port_, CLOUD, subscription(1))
    (new,) = port_._projects.values()
    assert new is not old
    used.close.assert_called_once()  # type: ignore[union-attr]
    assert new.connection.threads is old.connection.threads, "those of the namespace"
    await port_.close()


async def test_threads_end_with_the_last_credentials_of_a_namespace(lists: Lists, time: Time) -> None:
    port_ = clouds([])
    await look(port_, CLOUD, subscription(1))
    (old,) = port_._projects.values()
    time.now += 2 * project_session.FORGET
    await look(port_, CloudRef(("other", "theirs"), "mine"), subscription(2))
    with pytest.raises(RuntimeError, match="after shutdown"):
        old.connection.threads.submit(len, "")
    (new,) = port_._projects.values()
    assert new.connection.threads.submit(len, "").result(5) == 0
    await port_.close()


async def test_questions_are_forgotten_too(lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant_clouds, "find", lambda made, asked: (CloudResource("image", "1"),))
    port_ = clouds([])
    for number in range(130):
        time.now += 60
        await port_.find(CLOUD, query("image", name=str(number)))
    (project,) = port_._projects.values()
    assert len(project.answers) <= 2, "an answer holds for a minute"
    await port_.close()


@pytest.mark.parametrize(
    ("count", "text", "many"), [(300, "", 100), (2000, "x" * 10_000, 0)], ids=["answers", "questions"]
)
async def test_queries_and_responses_of_a_project_use_little_memory(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch, count: int, text: str, many: int
) -> None:
    """Thirty queries with a full list as response used 233 MiB for an hour."""
    things = tuple(CloudResource("image", f"{n:036}", "name of an image") for n in range(many))
    monkeypatch.setattr(tenant_clouds, "find", lambda made, asked: things)
    port_ = clouds([])
    for number in range(count):
        assert await port_.find(CLOUD, query("image", name=f"{text}{number}")) == things
    (project,) = port_._projects.values()
    weighed = sum(
        1000 + len(str(asked)) + sum(t.weight for t in answer.things) for asked, answer in project.answers.items()
    )
    assert ANSWERS / 2 < weighed < ANSWERS * 1.1
    assert query("image", name=f"{text}{count - 1}") in project.answers, "the oldest go"
    assert query("image", name=f"{text}0") not in project.answers
    await port_.close()


async def test_a_query_in_progress_is_not_forgotten(lists: Lists, monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()
    monkeypatch.setattr(tenant_clouds, "find", lambda made, asked: free.wait(100) and ())
    monkeypatch.setattr(project_session, "ANSWERS", 0)
    port_ = clouds([])
    asking = asyncio.create_task(port_.find(CLOUD, query("image", name="a")))
    await until(lambda: any(project.answers for project in port_._projects.values()))
    (project,) = port_._projects.values()
    project.trim()
    project.forget(0.0)
    assert list(project.answers) == [query("image", name="a")]
    free.set()
    assert await asking == ()
    project.trim()
    assert not project.answers
    await port_.close()


async def test_a_cloud_that_hangs_keeps_no_other_waiting(lists: Lists, monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()
    monkeypatch.setattr(tenant_clouds, "find", lambda made, asked: free.wait(100) and ())
    port_ = clouds([], {"theirs": "pw-y"})
    hanging = [asyncio.create_task(port_.find(CLOUD, query("image", name=str(n)))) for n in range(30)]
    await asyncio.sleep(0.05)
    try:
        async with asyncio.timeout(60):
            await look(port_, CloudRef(("ns", "theirs"), "mine"), subscription(1))
    finally:
        free.set()
        await asyncio.gather(*hanging, return_exceptions=True)
        await port_.close()


async def test_many_credentials_of_a_namespace_have_no_more_threads_than_it_has(
    lists: Lists, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenant may name any number of clouds, all of which hang, and others still have threads."""
    monkeypatch.setattr(project_connection, "SHARED", 4)
    free, busy = threading.Event(), set()

    def hangs(made: Any, asked: Any) -> tuple[CloudResource, ...]:
        busy.add(threading.get_ident())
        free.wait(100)
        return ()

    monkeypatch.setattr(tenant_clouds, "find", hangs)
    names = [f"c{n}" for n in range(40)]
    port_ = clouds([], {name: f"pw-{name}" for name in names} | {"theirs": "pw-y"})
    refs = [CloudRef(("ns", name), "mine") for name in names]
    hanging = [asyncio.create_task(port_.find(ref, query("image", name="i"))) for ref in refs]
    try:
        async with asyncio.timeout(60):
            while len(port_._projects) < 40 or len(busy) < 4:
                await asyncio.sleep(0.01)
            await look(port_, CloudRef(("other", "theirs"), "mine"), subscription(1))
    finally:
        free.set()
        await asyncio.gather(*hanging, return_exceptions=True)
        await port_.close()
    assert len(busy) == 4


async def test_no_object_waits_for_the_probe_of_a_hanging_service(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or workers that all wait for one cloud would have no time for the others."""
    free, tries = threading.Event(), 0

    def hangs(made: Any, what: str, since: str = "") -> list[CloudResource]:
        nonlocal tries
        tries += 1
        if tries > 1:
            free.wait(100)
        time.now += 30
        raise TransientCloudError("Unreachable", "timed out")

    monkeypatch.setattr(tenant_lists, "fetch", hangs)
    port_ = clouds([])
    first = await asyncio.gather(*(look(port_, CLOUD, subscription(n)) for n in range(8)), return_exceptions=True)
    assert {str(each) for each in first} == {"timed out"}
    assert tries == 1, "who came meanwhile takes what it brought"
    time.now += 10
    one = asyncio.create_task(look(port_, CLOUD, subscription(1)))
    try:
        async with asyncio.timeout(60):
            while tries < 2:
                await asyncio.sleep(0.01)
            for number in range(2, 50):
                with pytest.raises(TransientCloudError, match="timed out"):
                    await look(port_, CLOUD, subscription(number))
    finally:
        free.set()
    assert tries == 2
    with pytest.raises(TransientCloudError, match="timed out"):
        await one
    await port_.close()


def test_a_floating_ip_is_free_as_soon_as_the_port_that_had_it_is_deleted() -> None:
    snapshot = Snapshot()
    for thing in (
        CloudResource("port", "p"),
        CloudResource("floating-ip", "f", facts={"port_id": "p", "floating_ip_address": "a"}),
    ):
        snapshot.write(thing, 1.0)
    snapshot.deleted(("port", "p"), 2.0)
    assert snapshot.things["floating-ip", "f"].facts == {"port_id": None, "floating_ip_address": "a"}


def test_a_floating_ip_is_visible_to_the_object_with_its_port() -> None:
    snapshot = Snapshot()
    address = CloudResource("floating-ip", "f", facts={"port_id": "p"})
    for thing in (CloudResource("port", "p", mark=mark(UID, ("port", "0"))), address):
        snapshot.write(thing, 1.0)
    subscription = Subscription("server", ("ns", "web"), UID, KINDS)
    assert address in snapshot.of(subscription)
    snapshot.changed(("floating-ip", "f"), {"port_id": "other"}, 2.0)
    assert [thing.id for thing in snapshot.of(subscription)] == ["p"]


async def test_the_object_of_a_port_is_woken_at_once_by_a_new_floating_ip(
    lists: Lists, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    body = {"port_id": "p"}
    monkeypatch.setattr(tenant_changes, "run", lambda connection, call, data: ("f", {"id": "f", **body}))
    port_ = clouds(told)
    server = Subscription("server", ("ns", "web"), f"{UID}1", KINDS, frozenset({("port", "p")}))
    for each in (server, subscription(2), Subscription("floatingippool", ("ns", "pool"), UID, ("floating-ip",))):
        await look(port_, CLOUD, each)
    await submit(port_, call("update", "floating-ip", id="f", body=body))
    assert told == [("server", ("ns", "web"))]
    assert [thing.id for thing in (await look(port_, CLOUD, server)).things] == ["f"]
    await port_.close()


def test_a_response_without_tags_does_not_mean_no_tags() -> None:
    """A caller that reverts tags or adds a mark would delete unknown tags."""
    assert "tags" not in resource_of("server", {"id": "s"}).facts
    assert resource_of("server", {"id": "s", "tags": ["t"]}).facts["tags"] == ["t"]


@pytest.mark.parametrize("stamp", [None, "", "yesterday"])
def test_the_creation_time_is_in_seconds(stamp: str | None) -> None:
    for what in ("port", "security-group"):
        assert resource_of(what, {"id": "x", "created_at": "2026-11-25T22:00:00Z"}).facts["created_at"] == 1795644000.0
    assert resource_of("server", {"id": "s", "created": "2026-11-25T22:00:00Z"}).facts["created_at"] == 1795644000.0
    assert "created_at" not in resource_of("port", {"id": "x", "created_at": stamp}).facts
    raw = {"id": "v", "created_at": "2026-11-25T22:00:00.250000"}
    assert resource_of("volume", raw).facts["created_at"] == 1795644000.25
    assert resource_of("volume", {**raw, "created_at": "2026-11-25T22:00:00+00:00"}).facts["created_at"] == 1795644000.0
    assert resource_of("volume", {**raw, "created_at": stamp}).facts["created_at"] is None
