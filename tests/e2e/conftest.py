"""The real cloud on the local cluster: started once, and stopped again unless it ran before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from harness import Cloud

from stackwright.local import state


@pytest.fixture(scope="session")
def cloud() -> Iterator[Cloud]:
    ran_before = state.cluster_state().state == "ready"
    made = Cloud()
    print(made.stackwright("up", limit=3000))
    # What an earlier run that was killed left in the cloud's spec must not decide about this one.
    made.kubectl("label", "node", "node1", "--overwrite", "openstack-control-plane=enabled")
    made.kubectl("delete", "secret", "directory", "-n", made.namespace, "--ignore-not-found")
    if "cloud" in made.kubectl("get", "openstackdeployments", "-n", made.namespace, "--output", "name"):
        made.kubectl("replace", "--filename", "examples/cloud.yaml")
    else:
        made.kubectl("apply", "--server-side", "--filename", "examples/cloud.yaml")
    made.wait_ready()
    yield made
    if not ran_before:
        made.stackwright("down", limit=300)
