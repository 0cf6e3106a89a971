"""`stackwright resume`: the end of `stackwright pause`."""

from __future__ import annotations

from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, NamespaceOption
from stackwright.cli.pausing import WhatArgument, change


def resume(what: WhatArgument, namespace: NamespaceOption = NAMESPACE, kubeconfig: KubeconfigOption = None) -> None:
    """Resume a paused object: the operator applies the pending changes.

    For example:

      stackwright resume cloud

      stackwright resume keystone
    """
    change(what, namespace, kubeconfig, paused=False)
