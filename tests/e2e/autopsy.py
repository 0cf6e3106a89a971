"""The state of the nodes' networks after a failed test, because an unreachable machine does not show the cause."""

from __future__ import annotations

import subprocess

from harness import Cloud

LIMIT = 30
SWITCH = r"""
for bridge in $(ovs-vsctl list-br); do
    flows=$(ovs-ofctl dump-flows "$bridge" | grep -c cookie=)
    echo "$bridge: $flows flows, ports $(ovs-vsctl list-ports "$bridge" | tr '\n' ' ')"
done
ovs-vsctl --bare --columns=name,error find Interface error!='[]'
for tap in /sys/class/net/tap*; do
    [ -e "$tap" ] && echo "${tap##*/}: $(cat "$tap/operstate"), tag $(ovs-vsctl --if-exists get Port "${tap##*/}" tag)"
done
echo "$(awk '$5 == -1' /proc/net/packet | wc -l) sockets whose device is gone"
"""
AGENTS = ("neutron-ovs-agent", "neutron-l3-agent", "neutron-dhcp-agent", "nova-compute")


def autopsy(cloud: Cloud) -> str:
    """For each node: flows, ports and taps of its switch, and the last errors in the logs of agents."""
    try:
        pods = cloud.get("pods", "-n", cloud.namespace)["items"]
        found = sorted((str(pod["spec"].get("nodeName")), pod["metadata"]["name"]) for pod in pods)
        told = ((node, name, _told(cloud, name)) for node, name in found)
        return "\n".join(f"{node} {name}:\n{text}" for node, name, text in told if text.strip())
    except (AssertionError, subprocess.TimeoutExpired, OSError, ValueError) as failed:
        return str(failed)


def _told(cloud: Cloud, name: str) -> str:
    where = ("-n", cloud.namespace, name)
    if name.startswith("openvswitch-"):
        return cloud.kubectl("exec", *where, "-c", "vswitchd", "--", "sh", "-c", SWITCH, code=None, limit=LIMIT)
    if not name.startswith(AGENTS):
        return ""
    log = cloud.kubectl("logs", *where, "--all-containers", "--since=10m", code=None, limit=LIMIT)
    return "\n".join([line[:300] for line in log.splitlines() if " ERROR " in line or " WARNING " in line][-4:])
