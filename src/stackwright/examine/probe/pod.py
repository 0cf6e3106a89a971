"""The namespace and the DaemonSet of the examination of nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from stackwright.core.objects import MANAGED
from stackwright.core.plan import Object

LABELS = {**MANAGED, "application": "stackwright", "component": "doctor"}
PYTHON = "/opt/stackwright/bin/python3"
PROBE = "probe"  # the container with the report
NAME = "kubernetes.default"  # a name in every cluster's DNS
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
_DISK = "/disk"
_REPORT = "/dev/termination-log"


def namespace(name: str) -> Object:
    return {"metadata": {"name": name, "labels": {**LABELS, **RESTRICTED}}}


def daemonset(
    space: str, image: str, script: str, places: Iterable[tuple[str, str]] = (), secrets: Iterable[str] = ()
) -> Object:
    """A pod on each Linux node, also on tainted ones: an init container reports, and another container waits.

    script   the program, which the image need not contain
    places   labels of nodes, of which a node needs one; none: all nodes
    secrets  names of the Secrets with credentials of registries
    """
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]} for key, value in places]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    none = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    small = {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"}}
    base = {"image": image, "imagePullPolicy": "IfNotPresent", "securityContext": none, "resources": small}
    pod = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 0,
        "imagePullSecrets": [{"name": name} for name in secrets],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        **({"affinity": {"nodeAffinity": required}} if terms else {}),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [
            {
                **base,
                "name": PROBE,
                "command": [PYTHON, "-c", script, _REPORT, _DISK, NAME],
                "volumeMounts": [{"name": "disk", "mountPath": _DISK, "readOnly": True}],
            }
        ],
        "containers": [{**base, "name": "wait", "command": [PYTHON, "-c", "import signal; signal.pause()"]}],
        "volumes": [{"name": "disk", "emptyDir": {}}],
    }
    return {
        "metadata": {"namespace": space, "name": "nodes", "labels": LABELS},
        "spec": {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": pod}},
    }
