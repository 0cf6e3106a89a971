"""`stackwright pause`: the operator does not change a cloud, a service or a server until `stackwright resume`."""

from __future__ import annotations

from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, NamespaceOption
from stackwright.cli.pausing import WhatArgument, change


def pause(what: WhatArgument, namespace: NamespaceOption = NAMESPACE, kubeconfig: KubeconfigOption = None) -> None:
    """Pause a cloud, a service or a server: the operator does not change it until it is resumed.

    Running pods continue to run. The status is still reported, failover of the database continues, and a cloud
    or service can be deleted. A paused cloud pauses its services. A server or cluster is paused as Cluster API
    pauses it, including its deletion.

    For example:

      stackwright pause cloud

      stackwright pause keystone

      stackwright pause OpenStackServer/web -n demo
    """
    change(what, namespace, kubeconfig, paused=True)
