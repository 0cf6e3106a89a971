"""Prerequisites of a virtual machine: a project, an image, flavors, a network with a router to the outside."""

from __future__ import annotations

from stackwright.runtime.x509 import ssh_keypair
from stackwright.smoke import leftovers
from stackwright.smoke.ports import Failed
from stackwright.smoke.stage import GUEST_IMAGE, Stage
from stackwright.smoke.tenant import Flavor, Rule

CIDR = "192.168.213.0/24"
ICMP = Rule("icmp")
SSH = Rule("tcp", 22)


def login(stage: Stage) -> str:
    swept = leftovers.sweep_abandoned(stage)
    stage.project = stage.projects.create(stage.name, leftovers.note())
    stage.member = stage.projects.enter(stage.project)
    private, public = ssh_keypair()
    stage.key.touch(mode=0o600)
    stage.key.write_text(private)
    if not stage.user.computing.keypair(stage.name, public):
        raise Failed(f"The new user already has a key pair {stage.name} with another key")
    return f"deleted remains of {', '.join(swept)}" if swept else ""


def image(stage: Stage) -> str:
    """Use the public guest image, or upload a private one."""
    found = stage.user.computing.image(GUEST_IMAGE)
    if found is None:
        file = stage.guest()
        size = file.stat().st_size / 1e6
        stage.report(f"uploading {size:.0f} MB")
        found = stage.user.computing.upload(f"{stage.name}-guest", file, public=False)
        stage.made.image = found
        return f"{size:.0f} MB uploaded"
    stage.made.image = found
    return f"{GUEST_IMAGE} exists"


def flavors(stage: Stage) -> str:
    tiny, larger = Flavor(f"{stage.name}-tiny", 1, 128, 1), Flavor(f"{stage.name}-larger", 1, 256, 2)
    stage.made.tiny = stage.admin.computing.flavor(tiny)
    stage.made.larger = stage.admin.computing.flavor(larger)
    return ""


def network(stage: Stage) -> str:
    api = stage.user.networking
    external = api.external()
    if external is None:
        raise Failed("The cloud has no external network; spec.features.neutron.floating_network creates one")
    stage.made.network, subnet = api.network(stage.name, CIDR)
    stage.made.group = api.group(stage.name, (ICMP, SSH))
    port = api.port(stage.name, stage.made.network, stage.made.group)
    stage.made.port, stage.made.address = port.id, port.address
    stage.report("router")
    api.router(stage.name, external, subnet)
    stage.made.floating = api.floating(port.id, external)
    return f"{port.address}, floating {stage.made.floating}"
