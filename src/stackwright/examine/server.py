"""Checks of the API server, of the cluster's DNS, and of Pod Security. Pure."""

from __future__ import annotations

import re

from stackwright.api.kinds import NAMESPACE, SERVICE
from stackwright.core.findings import Finding
from stackwright.core.kubernetes.versions import OLDEST, OLDEST_TEXT, lacks_image_volumes, release
from stackwright.core.objects import label
from stackwright.examine.demand import CLUSTER_DOMAIN, Demand
from stackwright.examine.observe import DNS, SYSTEM, Observed

ENFORCE = "pod-security.kubernetes.io/enforce"
# The setting applies to all nodes: init containers then pull the images.
WITHOUT_IMAGE_VOLUMES = "install the operator's chart with images.volumes: false"
NAMED = 5  # maximum number of workloads that a finding names
_DOMAIN = re.compile(r"^\s*kubernetes\s+([a-z0-9.-]{1,253})", re.MULTILINE)  # CoreDNS's plugin, and its first zone


def version(seen: Observed) -> list[Finding]:
    subject = "Kubernetes"
    found = release(seen.version)
    if found is None:
        text = f"The version {seen.version!r} is not understood; {OLDEST_TEXT} or later is required."
        return [Finding(subject, "note", text, "`kubectl version` shows it.")]
    if found < OLDEST:
        text = f"The API server runs {seen.version}; {OLDEST_TEXT} or later is required."
        return [Finding(subject, "problem", text, f"Upgrade the cluster to Kubernetes {OLDEST_TEXT} or later.")]
    return [Finding(subject, "ok", f"version {seen.version}")]


def image_volumes(seen: Observed) -> list[Finding]:
    subject = "image volumes"
    if lacks_image_volumes(seen.version):
        return [Finding(subject, "ok", f"They are not used with {seen.version}; init containers pull the images.")]
    if seen.image_volumes is None:
        text = "It is not known whether the API server accepts image volumes: it refuses any pod of this user."
        return [Finding(subject, "note", text, "Enable the feature gate ImageVolume, if it is disabled.")]
    if seen.image_volumes:
        text = "The API server refuses pods with image volumes, by which images are pulled before an upgrade."
        remedy = "Start kube-apiserver and all kubelets with --feature-gates=ImageVolume=true"
        return [Finding(subject, "note", text, f"{remedy}, or {WITHOUT_IMAGE_VOLUMES}.")]
    return [Finding(subject, "ok", "The API server accepts them.")]


def dns(seen: Observed, demand: Demand) -> list[Finding]:
    subject = "cluster DNS"
    if not seen.knows(SERVICE):
        return [Finding(subject, "note", *seen.unknown(SERVICE, "Services"))]
    servers = [
        each
        for each in seen.all(SERVICE)
        if each["metadata"].get("namespace") == SYSTEM
        and all(label(each, name) == value for name, value in DNS.items())
    ]
    if not servers:
        text = f"No Service in namespace {SYSTEM} has the label k8s-app=kube-dns, so pods may not resolve names."
        return [Finding(subject, "problem", text, "Install CoreDNS, with a Service of that label.")]
    domain = _DOMAIN.search(seen.corefile)
    if domain is None:
        return [Finding(subject, "ok", "Its Service exists; its domain is not known.")]
    return domains(subject, domain[1], demand)


def domains(subject: str, served: str, demand: Demand) -> list[Finding]:
    """Checks whether the clouds name the DNS domain that the cluster serves."""
    wrong = sorted((demand.domains or {CLUSTER_DOMAIN}) - {served})
    if not wrong:
        return [Finding(subject, "ok", f"domain {served}")]
    text = f"The domain of this cluster is {served}, not {', '.join(wrong)}."
    level = "problem" if demand.clouds else "note"
    return [Finding(subject, level, text, f"Set spec.internal_domain_name: {served} in the manifest of the cloud.")]


def pod_security(seen: Observed, demand: Demand) -> list[Finding]:
    """Checks whether the namespaces of the clouds accept pods with access to their nodes."""
    found: list[Finding] = []
    spaces = {each["metadata"]["name"]: each for each in seen.all(NAMESPACE)}
    for name in demand.namespaces:
        level = label(spaces.get(name), ENFORCE)
        hosts = [pods.name for pods in demand.pods or () if pods.host and pods.name.startswith(f"{name}/")]
        if level in ("", "privileged") or (demand.pods is not None and not hosts):
            continue
        which = f": {', '.join(hosts[:NAMED])}{' …' if len(hosts) > NAMED else ''}" if hosts else ""
        text = f"Pod Security of the namespace is {level}; it refuses pods of this cloud that need their node{which}."
        remedy = f"`kubectl label --overwrite namespace {name} {ENFORCE}=privileged`"
        found.append(Finding(f"namespace {name}", "problem", text, remedy))
    return found
