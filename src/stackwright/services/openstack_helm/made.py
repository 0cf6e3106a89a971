"""Builds the values of OpenStack-Helm's charts that depend on several values of our charts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stackwright.core.helm.merge import merge
from stackwright.services.context import Values
from stackwright.services.openstack_helm.fixed import IMAGES_DIR

# Files of the configuration directory: path of the Secret's name below `secrets`, key, file.
_FILES: dict[str, tuple[tuple[tuple[str, str], str, str], ...]] = {
    "keystone": (
        (("oslo_db", "keystone"), "database.conf", "database.conf"),
        (("oslo_messaging", "keystone"), "messaging.conf", "messaging.conf"),
    ),
    "glance": (
        (("oslo_db", "glance"), "database.conf", "database.conf"),
        (("identity", "glance"), "keystone_authtoken.conf", "keystone_authtoken.conf"),
        (("oslo_messaging", "notifications"), "notifications.conf", "notifications.conf"),
    ),
}


def _keystone(ours: Values) -> Values:
    made = _common(ours, "keystone", ("db_sync",))
    # Their start script runs `software.apache2`, and `wsgi_keystone` may have any content. So uWSGI runs from our
    # image with our ini, in which the script that only our chart has is replaced. Their chart would corrupt a text
    # without a final line feed.
    own_script = {"uwsgi": {"wsgi-file": "/usr/bin/keystone-wsgi-public"}}
    made["conf"] = {"wsgi_keystone": _ini(merge(ours["conf"]["keystone_api_uwsgi"], own_script))}
    return made


def _glance(ours: Values) -> Values:
    made = _common(ours, "glance", ("db_sync", "metadefs_load"))
    ingress = ours["network"]["ingress"]
    if ingress["enabled"]:
        host = {"public": {"host": f"glance.{ingress['domain']}"}}
        made["endpoints"] = {
            "image": {"host_fqdn_override": host, "scheme": {"public": "https"}, "port": {"api": {"public": 443}}},
            "dashboard": {"host_fqdn_override": {"public": {"host": f"horizon.{ingress['domain']}"}}},
        }
    for client, secret in (ours["secrets"].get("ceph") or {}).items():
        if secret:
            raise ValueError(
                f"secrets.ceph.{client}: the published chart does not support keys of Ceph; use a file store"
            )
    volume = ours["volume"]
    # Without a class, pass null: the default of their charts is a class that the cluster may not have.
    made |= {kind: {"class_name": volume.get("class_name")} for kind in ("volume", "volume_staging")}
    made["storage"] = "pvc" if volume.get("store") else "ephemeral"
    if store := volume.get("store"):
        options = (
            ("DEFAULT", "enabled_backends", [f"{store}:file"]),
            ("glance_store", "default_backend", store),
            (store, "filesystem_store_datadir", IMAGES_DIR),
        )
        said = ours["conf"]["glance"]  # explicit options take precedence
        made["conf"] = {"glance": {s: {o: value} for s, o, value in options if o not in said.get(s, {})}}
    return made


MADE: Mapping[str, Callable[[Values], Values]] = {"keystone": _keystone, "glance": _glance}


def _common(ours: Values, chart: str, jobs: tuple[str, ...]) -> Values:
    sources = _sources(ours, chart)
    pod: Values = {"etcSources": {f"{chart}_{where}": sources for where in ("api", *jobs)}}
    pod["lifecycle"] = {"disruption_budget": {"api": {"min_available": _min_available(ours["pod"])}}}
    if cpu := ours["pod"].get("requests", {}).get("cpu"):
        asked = {"requests": {"cpu": cpu}}
        pod["resources"] = {"api": asked, "jobs": dict.fromkeys(jobs, asked)}
    made: Values = {"pod": pod}
    rules = ours["network"].get("policies", {}).get("api")
    if rules is not None:
        made["network_policy"] = {chart: {"policyTypes": ["Ingress"], "ingress": rules}}
        made["manifests"] = {"network_policy": True}
    if ours["network"]["ingress"]["enabled"]:
        made["extraObjects"] = [_ingress(ours, chart)]
    if digest := ours["secrets"].get("conf", {}).get(chart, {}).get("digest"):  # a changed digest restarts the pods
        made["annotations"] = {"pod": {f"{chart}_api": {"stackwright.dev/overrides": digest}}}
    return made


def _sources(ours: Values, chart: str) -> list[Values]:
    """Sources of the projected volume; the file of sensitive options is read last."""
    secrets = ours["secrets"]
    named = [(secrets.get(kind, {}).get(who), key, file) for (kind, who), key, file in _FILES[chart]]
    named.append((secrets.get("conf", {}).get(chart, {}).get("name"), "overrides.conf", "zz-overrides.conf"))
    return [
        {"secret": {"name": name, "items": [{"key": key, "path": file}]}}
        for name, key, file in named
        if name is not None
    ]


def _min_available(pod: Values) -> int:
    path = "pod.lifecycle.disruption_budget.api.max_unavailable"
    replicas, gone = pod["replicas"]["api"], pod["lifecycle"]["disruption_budget"]["api"]["max_unavailable"]
    if not isinstance(gone, int):
        raise ValueError(f"{path}: the published chart takes numbers of pods, not {gone}")
    return max(int(replicas) - gone, 0)


def _ingress(ours: Values, chart: str) -> Values:
    """The Ingress of our chart, because theirs have none. Their `extraObjects` are complete objects."""
    asked = ours["network"]["ingress"]
    host = f"{chart}.{asked['domain']}"
    endpoint = ours["endpoints"]["identity" if chart == "keystone" else "image"]
    service = {"name": endpoint["hosts"]["default"], "port": {"number": endpoint["port"]["api"]["default"]}}
    path = {"path": "/", "pathType": "Prefix", "backend": {"service": service}}
    uwsgi = ours["conf"][f"{chart}_api_uwsgi"]["uwsgi"]
    uploads = max(1, uwsgi["processes"] * uwsgi["threads"] // 2)  # as in lib.uploads of our charts
    annotations = {"stackwright.dev/uploads": str(uploads), **(asked.get("annotations") or {})}
    meta: Values = {"name": f"{chart}-api", "annotations": annotations}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": meta,
        "spec": {
            "ingressClassName": asked["class_name"],
            "tls": [{"hosts": [host], "secretName": asked["tls_secret"]}],
            "rules": [{"host": host, "http": {"paths": [path]}}],
        },
    }


def _ini(sections: Mapping[str, Mapping[str, Any]]) -> str:
    """The format of our charts: sorted, lists joined by commas, one line per value of a repeated option."""
    lines = []
    for section, options in sorted(sections.items()):
        lines.append(f"[{section}]")
        for option, value in sorted(options.items()):
            several = value["values"] if isinstance(value, Mapping) else [value]
            lines += [f"{option} = {_text(each)}" for each in several]
    return "\n".join(lines) + "\n"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(_text(each) for each in value)
    return str(value).lower() if isinstance(value, bool) else str(value)
