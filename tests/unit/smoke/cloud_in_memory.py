"""A cloud in memory and a machine in front of it: observations of checks can be set, and calls are recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stackwright.core.openstack.deployed.agents import Agent
from stackwright.smoke.ports import Failed, Login
from stackwright.smoke.stage import Stage
from stackwright.smoke.tenant import Boot, Flavor, Leftover, Order, Port, Project, Rule, Server, Stack, Tenant

READY = "stackwright-guest: ready after 3.1 s; key from metadata"
LEASE = "stackwright-guest: eth0 has 192.168.213.5/24, router 192.168.213.1, mtu 1450, by DHCP"


@dataclass
class World:
    """The things in it, and how it behaves."""

    servers: dict[str, Server] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    images: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    rules: set[Rule] = field(default_factory=set)
    things: list[str] = field(default_factory=list)
    projects: dict[str, Project] = field(default_factory=dict)
    log: str = f"{LEASE}\n{READY}\n"
    external: str | None = "public"
    boot_status: str = "ACTIVE"
    fault: str = ""
    agents: list[Agent] = field(default_factory=lambda: [Agent("L3 agent", "node1", True)])
    computes: list[Agent] = field(default_factory=lambda: [Agent("nova-compute", "node1", True)])
    unwired: str | None = None
    leaky: bool = False
    """Security groups drop nothing."""
    memory: int = 100_000
    starts: int = 1
    resize_is_put_back: bool = False
    services: frozenset[str] = frozenset()
    stacks: dict[str, Stack] = field(default_factory=dict)
    stack_status: str = "CREATE_COMPLETE"
    text: str = "x" * 24
    """The output of a stack."""
    stacks_stay: bool = False
    """Stacks are not deleted when they should be."""
    secrets: dict[str, str] = field(default_factory=dict)
    orders: dict[str, Order] = field(default_factory=dict)
    order_status: str = "ACTIVE"
    forgetful: bool = False
    """Secrets that are read are others than those that were stored."""
    zones: dict[str, str] = field(default_factory=dict)
    """Id of a zone or a recordset → status."""
    zone_status: str = "ACTIVE"
    zones_stay: bool = False
    """Zones are not deleted when they should be."""
    during: Callable[[str], None] = lambda what: None
    """Called with the name of each call: a test may raise there."""

    def tenant(self) -> Tenant:
        return Tenant(Computing(self), Networking(self), Orchestration(self), KeyManager(self), Names(self))


class Clock:
    """Time passes only during sleeps."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


@dataclass
class Computing:
    world: World

    def image(self, name: str) -> str | None:
        return self.world.images.get(name)

    def upload(self, name: str, file: Path, *, public: bool) -> str:
        self.world.images[name] = f"image-{name}"
        return self.world.images[name]

    def flavor(self, wanted: Flavor) -> str:
        self.world.things.append(f"flavor {wanted.name}")
        return wanted.name

    def keypair(self, name: str, public_key: str) -> bool:
        return self.world.keys.setdefault(name, public_key) == public_key

    def find(self, name: str) -> Server | None:
        return self.world.servers.get(self.world.named.get(name, ""))

    def boot(self, wanted: Boot) -> Server:
        self.world.during("boot")
        if found := self.find(wanted.name):
            return found
        id_ = f"server-{len(self.world.servers)}-{wanted.name}"
        self.world.named[wanted.name] = id_
        self.world.servers[id_] = Server(id_, self.world.boot_status, "", self.world.fault, "node1", wanted.key)
        return Server(id_, "BUILD")

    def server(self, id_: str) -> Server | None:
        return self.world.servers.get(id_)

    def start(self, id_: str) -> None:
        self._set(id_, "ACTIVE")

    def reboot(self, id_: str) -> None:
        self.world.starts += 1

    def resize(self, id_: str, flavor: str) -> None:
        if not self.world.resize_is_put_back:
            self._set(id_, "VERIFY_RESIZE")
            self.world.memory *= 2

    def confirm(self, id_: str) -> None:
        self._set(id_, "ACTIVE")

    def delete(self, id_: str) -> None:
        del self.world.servers[id_]

    def log(self, id_: str) -> str:
        return self.world.log

    def console(self, id_: str) -> str:
        return "https://novncproxy.cloud.example/vnc_auto.html?path=%3Ftoken%3Dt"

    def services(self) -> list[Agent]:
        return self.world.computes

    def _set(self, id_: str, status: str) -> None:
        self.world.servers[id_] = replace(self.world.servers[id_], status=status)


@dataclass
class Networking:
    world: World

    def external(self) -> str | None:
        return self.world.external

    def network(self, name: str, cidr: str) -> tuple[str, str]:
        return "net", "subnet"

    def router(self, name: str, external: str, subnet: str) -> str:
        return "router"

    def group(self, name: str, rules: Iterable[Rule]) -> str:
        self.world.rules |= set(rules)
        return "group"

    def allow(self, group: str, rule: Rule) -> None:
        self.world.rules.add(rule)

    def forbid(self, group: str, rule: Rule) -> None:
        self.world.rules.discard(rule)

    def port(self, name: str, network: str, group: str) -> Port:
        return Port("port", "192.168.213.5")

    def floating(self, port: str, external: str) -> str:
        return "172.24.4.9"

    def unwired(self, port: str) -> str | None:
        return self.world.unwired

    def agents(self) -> list[Agent]:
        return self.world.agents


@dataclass
class Orchestration:
    """A stack changes when it is looked at."""

    world: World

    def create(self, name: str, template: Mapping[str, Any]) -> str:
        self.world.during("stack")
        self.world.stacks[name] = Stack(name, "CREATE_IN_PROGRESS")
        return name

    def stack(self, id_: str) -> Stack | None:
        found = self.world.stacks.get(id_)
        if found and found.status == "CREATE_IN_PROGRESS":
            done = Stack(id_, self.world.stack_status, "no engine", {"text": self.world.text})
            self.world.stacks[id_] = done
        if found and found.status == "DELETE_IN_PROGRESS" and not self.world.stacks_stay:
            del self.world.stacks[id_]
        return found

    def delete(self, id_: str) -> None:
        self.world.stacks[id_] = replace(self.world.stacks[id_], status="DELETE_IN_PROGRESS")


@dataclass
class KeyManager:
    """A key is generated after the first look at its order."""

    world: World

    def store(self, name: str, payload: str) -> str:
        self.world.during("secret")
        self.world.secrets[name] = payload
        return name

    def payload(self, id_: str) -> str:
        return "another" if self.world.forgetful else self.world.secrets[id_]

    def order(self, name: str) -> str:
        self.world.orders[f"order-{name}"] = Order("PENDING")
        return f"order-{name}"

    def ordered(self, id_: str) -> Order:
        found = self.world.orders[id_]
        if found.status == "PENDING" and self.world.order_status == "ACTIVE":
            self.world.secrets["key"] = "generated"
            self.world.orders[id_] = Order("ACTIVE", "key")
        elif self.world.order_status != "ACTIVE":
            self.world.orders[id_] = Order(self.world.order_status)
        return found

    def forget(self, order: str) -> None:
        del self.world.orders[order]

    def delete(self, id_: str) -> None:
        del self.world.secrets[id_]


@dataclass
class Names:
    """What is pending changes when it is looked at."""

    world: World

    def create(self, name: str) -> str:
        self.world.during("zone")
        self.world.zones[name] = "PENDING"
        return name

    def add(self, zone: str, name: str, address: str) -> str:
        self.world.zones[f"{zone}/{name}"] = "PENDING"
        return name

    def state(self, zone: str, recordset: str = "") -> str | None:
        id_ = f"{zone}/{recordset}" if recordset else zone
        found = self.world.zones.get(id_)
        if found == "PENDING":
            self.world.zones[id_] = self.world.zone_status
        if found == "DELETED" and not self.world.zones_stay:
            self.world.zones.clear()
        return found

    def delete(self, zone: str) -> None:
        self.world.zones[zone] = "DELETED"


@dataclass
class Projects:
    world: World

    def create(self, name: str, note: str) -> Project:
        self.world.projects[name] = Project(name, name, note)
        return self.world.projects[name]

    def enter(self, project: Project) -> Tenant:
        return self.world.tenant()

    def named(self, prefix: str) -> list[Project]:
        return [each for name, each in self.world.projects.items() if name.startswith(prefix)]

    def leftovers(self, project: Project) -> list[Leftover]:
        servers = [Leftover("server", id_, id_) for id_ in self.world.servers]
        flavors = [Leftover("flavor", each, each) for each in self.world.things]
        stacks = [Leftover("stack", id_, id_) for id_ in self.world.stacks]
        return [*stacks, *servers, *flavors, Leftover("project", project.id, project.name)]

    def delete(self, thing: Leftover) -> None:
        if thing.kind == "stack":
            del self.world.stacks[thing.id]
        elif thing.kind == "server":
            del self.world.servers[thing.id]
        elif thing.kind == "flavor":
            self.world.things.remove(thing.id)
        else:
            del self.world.projects[thing.id]


@dataclass
class Host:
    """It reaches the addresses that the security group permits."""

    world: World

    def ping(self, address: str) -> bool:
        self.world.during("ping")
        return not self.world.unwired and (self.world.leaky or Rule("icmp") in self.world.rules)

    def open(self, address: str, port: int) -> bool:
        return self.world.leaky or Rule("tcp", port) in self.world.rules

    def ssh(self, login: Login, command: str) -> str:
        self.world.during("ssh")
        if not self.open(login.address, 22):
            raise Failed("ssh: timed out")
        (name, id_), *_ = self.world.named.items()
        answers: dict[str, Any] = {
            "hostname": name,
            "wget": f'{{"uuid": "{id_}"}}',
            "cat": self.world.starts if "boot_id" in command else self.world.memory * 10,
            "awk": self.world.memory,
            "true": "",
        }
        return f"{answers[command.split()[0]]}\n"

    def page(self, url: str) -> int:
        return 200

    def websocket(self, url: str) -> bytes:
        return b"RFB 003.008\n"


def stage(world: World, folder: Path) -> Stage:
    """The stage of the checks in this cloud."""
    guest = folder / "guest.qcow2"
    guest.touch()
    made = Stage("smoke-1", Projects(world), world.tenant(), Host(world), lambda: guest, folder)
    made.services = world.services
    made.clock = Clock()
    return made
