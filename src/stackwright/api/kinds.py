"""The kinds of Kubernetes that Stackwright reads or writes, as values.

Kinds of our own are defined with their models and collected in `registry.py`.
"""

from __future__ import annotations

from stackwright.api.meta import Kind

POD = Kind("", "v1", "Pod", "pods")
SECRET = Kind("", "v1", "Secret", "secrets")
CONFIGMAP = Kind("", "v1", "ConfigMap", "configmaps")
SERVICE = Kind("", "v1", "Service", "services")
NODE = Kind("", "v1", "Node", "nodes", namespaced=False)
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")
EVENT = Kind("", "v1", "Event", "events")
PV = Kind("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
PVC = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments")
STATEFULSET = Kind("apps", "v1", "StatefulSet", "statefulsets")
DAEMONSET = Kind("apps", "v1", "DaemonSet", "daemonsets")
JOB = Kind("batch", "v1", "Job", "jobs")
INGRESS_CLASS = Kind("networking.k8s.io", "v1", "IngressClass", "ingressclasses", namespaced=False)
STORAGE_CLASS = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
VALIDATING_WEBHOOK = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
MUTATING_WEBHOOK = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
)
ACCESS_REVIEW = Kind(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)
CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False)

WORKLOADS = (DEPLOYMENT, STATEFULSET, DAEMONSET)
