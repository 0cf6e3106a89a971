"""Missing systems are named as the cause, and a process that has just started reports no wrong status."""

from __future__ import annotations

import os
import signal
import subprocess

from faults.kills import operator_processes
from harness import SMALL, Cloud, eventually

from stackwright.local import tools

AT_ONCE = """
import concurrent.futures, time, openstack, requests
cloud = openstack.connect()
url, headers = cloud.config.get_auth_args()["auth_url"], {"X-Auth-Token": cloud.session.get_token()}

def ask(path=""):
    try:
        return requests.get(url + path, headers=headers, timeout=30).status_code
    except requests.ConnectionError:
        return 0

print("begin", flush=True)
end = time.monotonic() + 100
while ask() == 200 and time.monotonic() < end:
    time.sleep(0.02)
while ask() != 200 and time.monotonic() < end:
    time.sleep(0.02)
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(*pool.map(ask, 16 * ["/projects"]))
"""


def test_an_absent_mariadb_is_named_as_the_cause(cloud: Cloud) -> None:
    cloud.kubectl("delete", "pod", "mariadb-server-0", "-n", "openstack", "--wait=false")
    eventually(lambda: "MariaDB" in cloud.condition()["message"], limit=30, pause=0.1)
    assert "mariadb-server" in cloud.condition()["message"]
    cloud.wait_ready()
    assert cloud.token()


def test_a_keystone_that_has_just_started_forbids_no_user(cloud: Cloud) -> None:
    """Neither the first client nor concurrent clients are rejected."""
    pod = ("exec", "-n", "openstack", "deployment/keystone-client", "--", "python3", "-c", AT_ONCE)
    command = [tools.binary("kubectl"), "--kubeconfig", cloud.cluster.kubeconfig, *pod]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout
        assert asking.stdout.readline() == "begin\n"
        cloud.kubectl("delete", "pod", "-n", "openstack", "-l", "application=keystone,component=api")
        assert set(asking.communicate()[0].split()) == {"200"}
    cloud.wait_ready()


def test_a_repeatedly_killed_operator_completes_the_cloud(cloud: Cloud) -> None:
    cloud.kubectl("delete", "openstackdeployment", "cloud", "-n", "openstack")
    cloud.wait_gone("openstack", limit=90)
    cloud.kubectl("apply", "--server-side", "-f", SMALL)
    for releases in (1, 3, 4):  # of five
        cloud.wait_for_releases(releases)
        eventually(lambda: bool(operator_processes()))  # the previously killed process is restarted
        for process in operator_processes():
            os.kill(process, signal.SIGKILL)
    cloud.wait_ready(limit=400)
    assert cloud.token()
