"""Stacks: servers that scale, signals of machines, results of deployments, lost engines, a service that was away."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from full import FullCloud
from harness import eventually
from openstack.exceptions import NotFoundException
from vms import DEMO, FLAVOR, GUEST_IMAGE, Vms

LIMIT = 240
Resources = dict[str, Any]
VERSION = "2021-04-16"
SERVER = {
    "type": "OS::Nova::Server",
    "properties": {
        "image": GUEST_IMAGE,
        "flavor": FLAVOR.name,
        "networks": [{"network": DEMO}],
        "user_data_format": "RAW",
    },
}


def template(resources: Resources, **outputs: Any) -> dict[str, Any]:
    made = {name: {"value": value} for name, value in outputs.items()}
    return {"heat_template_version": VERSION, "resources": resources, "outputs": made}


class Stacks:
    """Stacks of the administrator, and requests to addresses that they give to machines."""

    def __init__(self, vms: Vms) -> None:
        self.vms = vms
        self.api: Any = vms.sdk.orchestration

    def create(self, name: str, content: dict[str, Any]) -> str:
        return str(self.api.create_stack(name=name, template=content, timeout_mins=10).id)

    def status(self, id_: str) -> str:
        """Empty for a deleted stack. Raises RuntimeError for a failed one."""
        try:
            found = self.api.get_stack(id_)
        except NotFoundException:
            return ""
        if str(found.status).endswith("_FAILED"):
            raise RuntimeError(f"{found.name} is {found.status}: {found.status_reason}")
        return str(found.status)

    def wait(self, id_: str, status: str, limit: float = LIMIT) -> None:
        eventually(lambda: self.status(id_) == status, limit=limit, pause=1)

    def output(self, id_: str, name: str) -> str:
        outputs = {each["output_key"]: each.get("output_value") for each in self.api.get_stack(id_).outputs}
        return str(outputs[name] or "")

    def delete(self, id_: str) -> None:
        self.api.delete_stack(id_)
        self.wait(id_, "")

    def post(self, url: str, body: object = None) -> int:
        """A request without a token of a user, over TLS that is verified."""
        answer = self.vms.sdk.session.session.post(url, json=body, verify=str(self.vms.ca), timeout=60)
        return int(answer.status_code)

    def signed(self, url: str, fields: dict[str, str], secret: str) -> tuple[int, str]:
        """A request with the signature of version 2, in the form of CloudFormation."""
        where = urlsplit(url)
        query = "&".join(f"{name}={quote(value, safe='-_~')}" for name, value in sorted(fields.items()))
        text = f"GET\n{where.netloc.lower()}\n{where.path}\n{query}"
        signature = base64.b64encode(hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()).decode()
        full = f"{url}?{query}&Signature={quote(signature, safe='')}"
        answer = self.vms.sdk.session.session.get(full, verify=str(self.vms.ca), timeout=60)
        return int(answer.status_code), str(answer.text)

    def metadata(self, server: str) -> list[dict[str, Any]]:
        """The deployments of a server, as an agent in it reads them."""
        found = self.vms.sdk.orchestration.get(f"/software_deployments/metadata/{server}").json()
        return list(found["metadata"])

    def servers(self, prefix: str) -> list[Any]:
        return [each for each in self.vms.sdk.compute.servers() if str(each.name).startswith(prefix)]


@pytest.fixture(scope="module")
def stacks(heat_cloud: FullCloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stacks]:
    """A client that logged in when the catalog had the service."""
    vms = Vms(heat_cloud, tmp_path_factory.mktemp("stacks"))
    made = Stacks(vms)
    for left in list(made.api.stacks()):  # of a killed run
        made.delete(left.id)
    yield made
    vms.sdk.close()


@pytest.fixture
def created(stacks: Stacks) -> Iterator[Callable[[str, dict[str, Any]], str]]:
    """Creates stacks, which are deleted at the end."""
    made: list[str] = []

    def create(name: str, content: dict[str, Any]) -> str:
        made.append(stacks.create(name, content))
        return made[-1]

    yield create
    for each in made:
        if stacks_has(stacks, each):
            stacks.delete(each)


def stacks_has(stacks: Stacks, id_: str) -> bool:
    return any(each.id == id_ for each in stacks.api.stacks())


Create = Callable[[str, dict[str, Any]], str]


def test_smoke_tests_a_stack(heat_cloud: FullCloud, stacks: Stacks) -> None:
    assert "3 of 3 passed" in heat_cloud.stackwright("smoke", "--checks", "stack")  # with login and clean-up
    assert list(stacks.api.stacks()) == []


def test_a_stack_of_servers_scales_by_a_signal(stacks: Stacks, created: Create) -> None:
    """The signal has no token, but a signed URL. The engine creates the second server by a trust of the owner."""
    group = {"min_size": 1, "max_size": 2, "resource": SERVER}
    policy = {
        "adjustment_type": "change_in_capacity",
        "auto_scaling_group_id": {"get_resource": "group"},
        "scaling_adjustment": 1,
        "cooldown": 1,
    }
    id_ = created(
        "scaling",
        template(
            {
                "group": {"type": "OS::Heat::AutoScalingGroup", "properties": group},
                "more": {"type": "OS::Heat::ScalingPolicy", "properties": policy},
            },
            url={"get_attr": ["more", "alarm_url"]},
        ),
    )
    stacks.wait(id_, "CREATE_COMPLETE")
    assert len(stacks.servers("scaling")) == 1
    url = stacks.output(id_, "url")
    assert url.startswith("https://heat-cfn.")
    assert stacks.post(url.replace("Signature=", "Signature=A")) == 403, "a wrong signature"
    assert stacks.post(url) == 200
    eventually(lambda: [each.status for each in stacks.servers("scaling")] == ["ACTIVE"] * 2, limit=LIMIT, pause=1)
    stacks.delete(id_)
    eventually(lambda: stacks.servers("scaling") == [], limit=60, pause=1)  # Nova lists a deleted one for a moment


def test_a_machine_ends_a_wait_by_a_signal(heat_cloud: FullCloud, stacks: Stacks, created: Create) -> None:
    """The guest does not know the public names, and its wget does not verify certificates."""
    script = """\
#!/bin/sh
echo "ADDRESS $(echo ENDPOINT | cut -d / -f 3)" >> /etc/hosts
wget -q -O - --no-check-certificate --header 'X-Auth-Token: TOKEN' --header 'Content-Type: application/json' \
    --post-data '{"status": "SUCCESS", "data": "from the machine"}' ENDPOINT
"""
    values = {
        "ADDRESS": str(heat_cloud.cluster.node(1).address),
        "ENDPOINT": {"get_attr": ["handle", "endpoint"]},
        "TOKEN": {"get_attr": ["handle", "token"]},
    }
    server = {**SERVER["properties"], "user_data": {"str_replace": {"template": script, "params": values}}}  # type: ignore[dict-item]
    wait = {"handle": {"get_resource": "handle"}, "timeout": 300, "count": 1}
    id_ = created(
        "waiting",
        template(
            {
                "handle": {"type": "OS::Heat::WaitConditionHandle"},
                "wait": {"type": "OS::Heat::WaitCondition", "properties": wait},
                "server": {"type": SERVER["type"], "properties": server},
            },
            data={"get_attr": ["wait", "data"]},
        ),
    )
    stacks.wait(id_, "CREATE_COMPLETE", limit=360)
    assert "from the machine" in stacks.output(id_, "data")


def test_a_machine_reads_its_metadata_by_a_signed_request(stacks: Stacks, created: Create) -> None:
    """As the agent os-collect-config does with the credentials of the machine."""
    server = {**SERVER["properties"], "user_data_format": "SOFTWARE_CONFIG"}  # type: ignore[dict-item]
    resource = {"type": SERVER["type"], "properties": server, "metadata": {"told": "by the stack"}}
    id_ = created("described", template({"server": resource}))
    stacks.wait(id_, "CREATE_COMPLETE")
    login = stacks.api.get(f"/stacks/described/{id_}/resources/server/metadata").json()["metadata"][
        "os-collect-config"
    ]["cfn"]
    asked = {
        "Action": "DescribeStackResource",
        "StackName": login["stack_name"],
        "LogicalResourceId": "server",
        "AWSAccessKeyId": login["access_key_id"],
        "SignatureMethod": "HmacSHA256",
        "SignatureVersion": "2",
        "Timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "ContentType": "JSON",
    }
    code, text = stacks.signed(login["metadata_url"], asked, login["secret_access_key"])
    assert code == 200 and "by the stack" in text, text
    code, text = stacks.signed(login["metadata_url"], {**asked, "Action": "ListStacks"}, login["secret_access_key"])
    assert code == 403, "users of machines may read their own resource only"


def test_a_software_deployment_has_the_output_that_an_agent_sends(stacks: Stacks, created: Create) -> None:
    """The guest has no agent, so this test reads the deployment and sends its result, as an agent does."""
    config = {
        "group": "script",
        "config": "echo",
        "inputs": [{"name": "who"}],
        "outputs": [{"name": "told"}],
    }
    deployment = {
        "config": {"get_resource": "config"},
        "server": {"get_resource": "server"},
        "input_values": {"who": "you"},
    }
    server = {**SERVER["properties"], "user_data_format": "SOFTWARE_CONFIG"}  # type: ignore[dict-item]
    id_ = created(
        "deploying",
        template(
            {
                "config": {"type": "OS::Heat::SoftwareConfig", "properties": config},
                "deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": deployment},
                "server": {"type": SERVER["type"], "properties": server},
            },
            told={"get_attr": ["deployment", "told"]},
        ),
    )
    eventually(lambda: bool(stacks.servers("deploying")), limit=LIMIT, pause=1)
    (machine,) = stacks.servers("deploying")
    eventually(lambda: len(stacks.metadata(machine.id)) == 1, limit=LIMIT, pause=1)
    inputs = {each["name"]: each.get("value") for each in stacks.metadata(machine.id)[0]["inputs"]}
    assert inputs["who"] == "you"
    assert stacks.status(id_) == "CREATE_IN_PROGRESS"
    assert stacks.post(str(inputs["deploy_signal_id"]), {"told": "hello you", "deploy_status_code": 0}) == 200
    stacks.wait(id_, "CREATE_COMPLETE")
    assert stacks.output(id_, "told") == "hello you"


def nested(levels: int) -> object:
    """Replacements in each other; each result is ten times as long."""
    value: object = "x"
    for _ in range(levels):
        value = {"str_replace": {"template": "a" * 10, "params": {"a": value}}}
    return value


def of_value(value: object) -> dict[str, Any]:
    return template({"value": {"type": "OS::Heat::Value", "properties": {"value": value}}})


HEAD = f"heat_template_version: {VERSION}\n"
ALIASES = "a0: &a0 {k: v}\n" + "\n".join(
    f"a{number}: &a{number} {{<<: [{', '.join([f'*a{number - 1}'] * 9)}]}}" for number in range(1, 9)
)
MANY = {"count": 10**8, "resource_def": {"type": "OS::Heat::None"}}
PATTERN = {"type": "string", "default": "a" * 40 + "!", "constraints": [{"allowed_pattern": "(a+)+$"}]}
THREE = {f"%{name}%": [str(number) for number in range(120)] for name in "abc"}
HOSTILE: dict[str, Any] = {
    "merge keys": HEAD + ALIASES,
    "a directive": "%YAML 1.3\n---\n" + HEAD + ALIASES,
    "bytes": HEAD + "a: !!binary eA==",
    "depth": HEAD + "a: " + "[" * 100_000 + "]" * 100_000,
    "a number": HEAD + "a: 1" + ":1" * 80_000,
    "a nested template": template({"nested": {"type": "nested.yaml"}}),
    "nested functions": of_value(nested(9)),
    "a function of three lists": of_value({"repeat": {"template": list(THREE), "for_each": THREE}}),
    "an expression": of_value({"yaql": {"expression": "shiftBitsLeft(1, 100000000000)", "data": {}}}),
    "a group": template({"group": {"type": "OS::Heat::ResourceGroup", "properties": MANY}}),
    "a pattern": {**of_value("x"), "parameters": {"text": PATTERN}},
}


def test_hostile_templates_are_refused(heat_cloud: FullCloud, stacks: Stacks) -> None:
    """At once, and by the processes that go on to serve others."""

    def processes() -> dict[str, list[int]]:
        pods = heat_cloud.pods("-l", "application=heat")
        return {uid: [each["restartCount"] for each in pod["status"]["containerStatuses"]] for uid, pod in pods.items()}

    before = processes()
    assert before
    for name, content in HOSTILE.items():
        files = {"nested.yaml": HOSTILE["depth"]} if name == "a nested template" else {}
        body = {"stack_name": "hostile", "template": content, "files": files, "timeout_mins": 1}
        begun = time.monotonic()
        answer = stacks.api.post("/stacks", json=body, raise_exc=False)
        assert answer.status_code == 400, (name, answer.status_code, answer.text[:500])
        assert time.monotonic() - begun < 30, name
    answer = stacks.api.get("/resource_types", params={"name": "(O+)+!"}, raise_exc=False)
    assert answer.json() == {"resource_types": []}
    assert list(stacks.api.stacks()) == []
    assert processes() == before


@pytest.fixture
def credentials(stacks: Stacks) -> Iterator[Callable[[str], tuple[str, str]]]:
    """Creates EC2 credentials of a new user with one role in a project of its own."""
    identity, name = stacks.vms.sdk.identity, "stack-clients"

    def sweep() -> None:
        for user in list(identity.users()):
            if str(user.name).startswith(name):
                identity.delete_user(user)
        if found := identity.find_project(name):
            identity.delete_project(found)

    sweep()
    project = identity.create_project(name=name, domain_id="default")

    def create(role: str) -> tuple[str, str]:
        user = identity.create_user(name=f"{name}-{role}", password=secrets.token_hex(16), domain_id="default")
        identity.assign_project_role_to_user(project, user, identity.find_role(role))
        answer = identity.post(f"/users/{user.id}/credentials/OS-EC2", json={"tenant_id": project.id})
        assert answer.status_code == 201, answer.text
        made = answer.json()["credential"]
        return str(made["access"]), str(made["secret"])

    yield create
    sweep()


def test_a_reader_may_not_change_stacks_in_the_form_of_cloudformation(
    heat_cloud: FullCloud, stacks: Stacks, credentials: Callable[[str], tuple[str, str]]
) -> None:
    url = f"https://heat-cfn.{heat_cloud.spec()['public_domain_name']}/v1/"

    def asked(login: tuple[str, str], action: str) -> int:
        fields = {
            "Action": action,
            "StackName": "absent",
            "TemplateBody": HEAD,
            "AWSAccessKeyId": login[0],
            "SignatureMethod": "HmacSHA256",
            "SignatureVersion": "2",
            "Timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        return stacks.signed(url, fields, login[1])[0]

    changes = ("UpdateStack", "DeleteStack", "CancelUpdateStack")
    reader, member = credentials("reader"), credentials("member")
    assert {action: asked(reader, action) for action in ("CreateStack", *changes)} == dict.fromkeys(
        ("CreateStack", *changes), 403
    )
    assert asked(reader, "ListStacks") == 200
    assert 403 not in {asked(member, action) for action in changes}, "allowed; there is no such stack"


def slow(count: int) -> dict[str, Any]:
    """Resources that are created one after the other, each in some seconds."""
    made: Resources = {}
    for number in range(count):
        after = {"depends_on": f"part{number - 1}"} if number else {}
        made[f"part{number}"] = {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 5}, **after}
    return template(made)


def engine(cloud: FullCloud) -> str:
    (found,) = cloud.pods("-l", "application=heat,component=engine").values()
    return str(found["metadata"]["name"])


def test_an_engine_that_is_replaced_hands_its_stacks_over(
    heat_cloud: FullCloud, stacks: Stacks, created: Create
) -> None:
    id_ = created("handed-over", slow(6))
    eventually(lambda: _has(stacks, id_, "part1"), limit=60, pause=0.5)
    heat_cloud.kubectl("delete", "pod", engine(heat_cloud), "-n", heat_cloud.namespace, limit=200)
    stacks.wait(id_, "CREATE_COMPLETE")
    heat_cloud.wait_ready()


def test_the_stack_of_a_killed_engine_can_be_deleted(heat_cloud: FullCloud, stacks: Stacks, created: Create) -> None:
    """Nobody finishes the resource in work; its lock is that of an engine that does not answer."""
    id_ = created("killed", slow(6))
    eventually(lambda: _has(stacks, id_, "part1"), limit=60, pause=0.5)
    words = ("--grace-period=0", "--force")
    heat_cloud.kubectl("delete", "pod", engine(heat_cloud), "-n", heat_cloud.namespace, *words)
    heat_cloud.wait_ready()
    stacks.delete(id_)
    other = created("afterwards", slow(1))
    stacks.wait(other, "CREATE_COMPLETE")


def _has(stacks: Stacks, id_: str, resource: str) -> bool:
    """Whether the creation of a resource has begun."""
    found = {each.logical_resource_id: each.status for each in stacks.api.resources(id_)}
    return "CREATE" in str(found.get(resource)) or "IN_PROGRESS" in str(found.get(resource))


def test_a_service_that_is_removed_and_added_still_has_its_stacks(
    full_cloud: FullCloud, heat_cloud: FullCloud, stacks: Stacks
) -> None:
    """Database and domain stay, and the key of the credentials in the database."""
    handle = {"handle": {"type": "OS::Heat::WaitConditionHandle"}}
    id_ = stacks.create("kept", template(handle, token={"get_attr": ["handle", "token"]}))
    stacks.wait(id_, "CREATE_COMPLETE")
    token = stacks.output(id_, "token")
    try:
        full_cloud.change()
        eventually(lambda: heat_cloud.traces("openstack", "heat-api", "heat-engine") == [], limit=180, pause=1)
        assert "heat" in heat_cloud.sql("show databases").split()
    finally:
        heat_cloud.change()
    eventually(lambda: stacks.output(id_, "token") == token, limit=60, pause=1)
    stacks.delete(id_)
