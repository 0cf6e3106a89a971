"""Image pre-caching: a DaemonSet pulls every image of the cloud, so that replaced pods do not wait for pulls.

The pod mounts the images as image volumes: kubelet pulls them before it starts the container that mounts them, and no
process of the images runs. So a pod is ready when its node has all images. Kubelet starts a container that does not
mount a volume although its image could not be pulled; such pods (UNMOUNTED) are for nodes with imported images, which
may lack the names by which containerd finds images to mount (docs/howto/existing-cluster.md). Nodes without image
volumes get an init container for each image (INIT), which runs a program that exits immediately.

The pod has the tolerations of all charts of the cloud. A release is changed only when its images are on all available
nodes whose taints it tolerates. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from stackwright.api.kinds import DAEMONSET
from stackwright.core.kubernetes.nodes import is_up
from stackwright.core.kubernetes.tolerations import Toleration, is_tolerated
from stackwright.core.objects import generation, owned
from stackwright.core.plan import Object
from stackwright.core.settings import Precaching

NAME = "image-precaching"
LABELS = {"application": NAME, "component": "images"}
MOUNTED: Precaching = "mounted"
UNMOUNTED: Precaching = "unmounted"
INIT: Precaching = "init"
NODE_LABELS = ("openstack-control-plane", "openstack-compute-node", "openvswitch", "openstack-gateway")


def daemonset(
    cloud: Object,
    images: Iterable[str],
    holder: str,
    tolerations: Iterable[Toleration] = (),
    pull_secrets: Iterable[str] = (),
    how: Precaching = MOUNTED,
    idle: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Object:
    """The DaemonSet for a set of images.

    holder  image of a process that only waits
    idle    for INIT: image → command that exits immediately, if the image has no program `true`
    """
    secrets = [{"name": name} for name in pull_secrets]
    tolerated = [json.loads(each) for each in sorted({json.dumps(dict(each), sort_keys=True) for each in tolerations})]
    places = [{"matchExpressions": [{"key": label, "operator": "In", "values": ["enabled"]}]} for label in NODE_LABELS]
    named = {f"image-{index}": image for index, image in enumerate(sorted(images))}
    none: dict[str, Any] = {
        "capabilities": {"drop": ["ALL"]},
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
    }
    pod: dict[str, Any] = {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": places}}},
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65535,
            "runAsGroup": 65535,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [{"name": "holder", "image": holder, "imagePullPolicy": "IfNotPresent", "securityContext": none}],
        **({"tolerations": tolerated} if tolerated else {}),
        **({"imagePullSecrets": secrets} if secrets else {}),
    }
    if how == INIT:
        pod["initContainers"] = [
            {
                "name": name,
                "image": image,
                "imagePullPolicy": "IfNotPresent",
                "command": [*idle.get(image, ("true",))],
                "securityContext": none,
            }
            for name, image in named.items()
        ]
    else:
        source = {"pullPolicy": "IfNotPresent"}
        pod["volumes"] = [{"name": name, "image": {"reference": image, **source}} for name, image in named.items()]
    if how == MOUNTED:
        mounts = [{"name": name, "mountPath": f"/images/{name}", "readOnly": True} for name in named]
        pod["containers"][0]["volumeMounts"] = mounts
    spec = {
        "selector": {"matchLabels": LABELS},
        # All nodes at once: these pods serve nothing, and releases wait for them.
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
        "template": {"metadata": {"labels": LABELS}, "spec": pod},
    }
    return owned(DAEMONSET, (cloud["metadata"]["namespace"], NAME), cloud, spec, LABELS)


def lacking(
    holder: Object | None, nodes: Iterable[Object], images: Iterable[str], tolerations: Iterable[Toleration] = ()
) -> str:
    """Nodes that still lack these images, for pods with these tolerations; empty if none.

    Unavailable nodes, and those with taints that are not tolerated, are ignored.
    """
    if holder is None:
        return f"DaemonSet {NAME}: it does not exist"
    if missing := sorted(set(images) - _held(holder)):
        return f"DaemonSet {NAME} to name {', '.join(missing)}"
    tolerated = _pod(holder).get("tolerations") or ()
    if unknown := sorted(str(each.get("key", "")) for each in tolerations if each not in tolerated):
        return f"DaemonSet {NAME} to tolerate {', '.join(unknown)}"
    status = holder.get("status") or {}
    wanted = sum(1 for node in nodes if _counts(node) and is_tolerated(node, tolerated))
    current = (status.get("observedGeneration") or 0) >= generation(holder)
    there = min(status.get("updatedNumberScheduled") or 0, status.get("numberReady") or 0) if current else 0
    if there < wanted:
        return f"images on {wanted - there} of {wanted} nodes (DaemonSet {NAME})"
    return ""


def references(holder: Object) -> set[str]:
    """All images that the DaemonSet pulls, including that of its own process."""
    return _held(holder) | {str(container["image"]) for container in _pod(holder)["containers"]}


def images_of(values: Mapping[str, Any]) -> set[str]:
    """The images in the values of a chart. The values may have any shape, because overrides can replace any part."""
    images = values.get("images")
    tags = images.get("tags") if isinstance(images, Mapping) else None
    found = tags.values() if isinstance(tags, Mapping) else ()
    return {image for image in found if isinstance(image, str) and image}


def _held(holder: Object) -> set[str]:
    pod = _pod(holder)
    volumes = {str((volume.get("image") or {}).get("reference")) for volume in pod.get("volumes") or ()}
    return volumes | {str(each.get("image")) for each in pod.get("initContainers") or ()}


def _pod(holder: Object) -> dict[str, Any]:
    found: dict[str, Any] = ((holder.get("spec") or {}).get("template") or {}).get("spec") or {}
    return found


def _counts(node: Object) -> bool:
    labels = node["metadata"].get("labels") or {}
    return is_up(node) and any(labels.get(label) == "enabled" for label in NODE_LABELS)
