"""Builds the server of a machine and its providerID. Pure."""

from __future__ import annotations

from stackwright.controllers.infra.clusterapi import CONTROL_PLANE
from stackwright.controllers.infra.clusterapi import NAME as CLUSTER_NAME
from stackwright.controllers.infra.server_template import ClusterDefaults, cluster_defaults, server_object, server_spec
from stackwright.controllers.machine.observe import Observed
from stackwright.core.objects import annotation, key_of, label
from stackwright.core.plan import Object

BOOTSTRAP = "stackwright.dev/bootstrap-secret"  # annotation of a machine without a Machine of Cluster API


def provider_id(seen: Observed, server_id: str) -> str:
    """The format of Cluster API Provider OpenStack: the region is that of the machine's own identityRef, or empty."""
    region = (seen.spec.get("identityRef") or {}).get("region") or ""
    return f"openstack://{region}/{server_id}"


def place(seen: Observed) -> ClusterDefaults:
    assert seen.cluster is not None
    is_first = CONTROL_PLANE in (seen.obj["metadata"].get("labels") or {})
    group = "controlPlaneSecurityGroup" if is_first else "workerSecurityGroup"
    return cluster_defaults(seen.cluster["spec"], seen.cluster.get("status") or {}, group)


def bootstrap_secret(seen: Observed) -> str:
    """Name of the Secret with the bootstrap data; empty while unknown."""
    if seen.machine is not None:
        return str(((seen.machine.get("spec") or {}).get("bootstrap") or {}).get("dataSecretName") or "")
    return annotation(seen.obj, BOOTSTRAP)


def server_of(seen: Observed) -> Object:
    zone = ((seen.machine or {}).get("spec") or {}).get("failureDomain")
    data = bootstrap_secret(seen)
    spec = server_spec(seen.spec, place(seen), availabilityZone=zone, userDataRef={"name": data} if data else None)
    return server_object(key_of(seen.obj), seen.obj, spec, label(seen.obj, CLUSTER_NAME))
