"""The target of each value of our charts in those of OpenStack-Helm, or the reason for omitting it. Pure.

docs/howto/use-openstack-helm-charts.md shows this table; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass

REST = "**"


@dataclass(frozen=True)
class Rule:
    """One line of the table.

    ours    path of a value of our chart; `**` at its end matches everything below
    theirs  target paths in the published chart, with `**` as in `ours`; empty: omitted
    why     the reason for the omission
    made    whether `theirs` is built from this value and others, not copied
    """

    ours: str
    theirs: tuple[str, ...] = ()
    why: str = ""
    made: bool = False

    def fits(self, path: tuple[str, ...]) -> bool:
        head = self._head()
        if not self.ours.endswith(REST):
            return head == path
        return path[: len(head)] == head and len(path) > len(head)

    def target(self, theirs: str, path: tuple[str, ...]) -> tuple[str, ...]:
        """The target of a path that matches."""
        parts = tuple(theirs.split("."))
        return (*parts[:-1], *path[len(self._head()) :]) if parts[-1] == REST else parts

    def _head(self) -> tuple[str, ...]:
        return tuple(part for part in self.ours.split(".") if part != REST)


def rules(chart: str) -> tuple[Rule, ...]:
    """The table of one chart. The first matching rule applies."""
    return _KEYSTONE if chart == "keystone" else _GLANCE


def _same(*paths: str) -> tuple[Rule, ...]:
    return tuple(Rule(path, (path,)) for path in paths)


def _left(path: str, why: str) -> Rule:
    return Rule(path, why=why)


def _made(path: str, *theirs: str) -> Rule:
    return Rule(path, theirs, made=True)


def _every(prefix: str, *names: str, rest: str = "") -> tuple[str, ...]:
    return tuple(f"{prefix}{name}{rest}" for name in names)


def _common(chart: str, endpoint: str, container: str, jobs: tuple[str, ...]) -> tuple[Rule, ...]:
    sources = _every(f"pod.etcSources.{chart}_", "api", *jobs)
    allowed = "pod.lifecycle.disruption_budget.api"
    return (
        *_same(f"images.tags.{chart}_api", "images.pull_policy", "release_group", "labels.api.**", "labels.job.**"),
        Rule(f"images.tags.{chart}_db_sync", _every(f"images.tags.{chart}_", *jobs)),
        Rule("images.pull_secrets", ("pod.image_pull_secrets.default",)),
        _made("pod.requests.cpu", "pod.resources.api.requests.cpu", "pod.resources.jobs.db_sync.requests.cpu"),
        *_same("pod.replicas.api", "pod.resources.api.**", "pod.affinity.anti.**", f"pod.tolerations.{chart}.**"),
        Rule("pod.resources.db-sync.**", _every("pod.resources.jobs.", *jobs, rest=".**")),
        *(Rule(f"pod.annotations.{name}.**", (f"annotations.pod.{chart}_api.**",)) for name in ("default", "api")),
        _left("pod.annotations.db-sync.**", "pods of their Jobs support no annotations"),
        Rule("pod.priorityClassName.api", (f"pod.priorityClassName.{chart}_api",)),
        Rule("pod.priorityClassName.db-sync", ("pod.priorityClassName.db_sync",)),
        Rule("pod.probes.api.**", (f"pod.probes.api.{container}.**",)),
        Rule("pod.security_context.api.pod.**", _every("pod.security_context.", chart, *jobs[1:], rest=".pod.**")),
        Rule("pod.security_context.api.container.**", (f"pod.security_context.{chart}.container.{chart}_api.**",)),
        _left(
            "pod.security_context.db-sync.**", "their db-sync Job has no security context; it runs as the image's user"
        ),
        *_same("pod.lifecycle.termination_grace_period.api.timeout"),
        _left("pod.lifecycle.termination_grace_period.db-sync.timeout", "their Jobs have the default of Kubernetes"),
        _made(f"{allowed}.max_unavailable", f"{allowed}.min_available"),
        *_same("endpoints.cluster_domain_suffix"),
        _made("network.policies.api", f"network_policy.{chart}", "manifests.network_policy"),
        _made("network.ingress.**", "extraObjects", f"endpoints.{endpoint}.host_fqdn_override.public.host"),
        _made(f"secrets.oslo_db.{chart}", *sources),
        _made(f"secrets.conf.{chart}.name", *sources),
        _made(f"secrets.conf.{chart}.digest", f"annotations.pod.{chart}_api.**"),
        _left("manifests.**", "they enable objects of our chart; this translation sets those of their chart"),
    )


_OTHER_NAME = "their chart always mounts the Secret of this name, so another name is refused"
_IDENTITY = "endpoints.identity"
_KEYSTONE = (
    *_common("keystone", "identity", "api", ("db_sync",)),
    *_same(f"{_IDENTITY}.name", f"{_IDENTITY}.namespace", f"{_IDENTITY}.auth.admin.**", f"{_IDENTITY}.path.**"),
    Rule(f"{_IDENTITY}.hosts.default", _every(f"{_IDENTITY}.hosts.", "default", "internal")),
    Rule(f"{_IDENTITY}.host_fqdn_override.public", (f"{_IDENTITY}.host_fqdn_override.public.host",)),
    Rule(f"{_IDENTITY}.scheme.default", _every(f"{_IDENTITY}.scheme.", "default", "service")),
    Rule(f"{_IDENTITY}.port.api.default", _every(f"{_IDENTITY}.port.api.", "default", "internal", "service")),
    *_same(*_every(f"{_IDENTITY}.", "hosts", "host_fqdn_override", "scheme", "port.api", rest=".**")),
    _made("secrets.oslo_messaging.keystone", "pod.etcSources.keystone_api", "pod.etcSources.keystone_db_sync"),
    _left("secrets.fernet", _OTHER_NAME),
    _left("secrets.credential", _OTHER_NAME),
    _left("secrets.cache", "their chart starts Keystone without our script, so it has no cache in memcached"),
    _left(
        "secrets.identity.admin", "their Job reads a Secret with keys like OS_PASSWORD, to be created by hand from ours"
    ),
    _left("conf.keystone.cache.**", "their chart starts Keystone without our script, so it has no cache in memcached"),
    _made("conf.keystone_api_uwsgi.**", "conf.wsgi_keystone"),
    *_same("conf.keystone.**", "conf.logging.**"),
)

_JOBS = ("db_sync", "metadefs_load")
_SOURCES = _every("pod.etcSources.glance_", "api", *_JOBS)
_IMAGE = "endpoints.image"
_PURGE = "their chart has no Job that purges the database"
_STORES = "their chart mounts keys of Ceph differently, so a store in Ceph is refused"
_GLANCE = (
    *_common("glance", "image", "glance-api", _JOBS),
    *(_left(f"pod.{kind}.db-purge.**", _PURGE) for kind in ("resources", "security_context")),
    _left("pod.lifecycle.termination_grace_period.db-purge.timeout", _PURGE),
    _left("cron.**", _PURGE),
    *(_left(path, _STORES) for path in ("secrets.ceph.**", "ceph.**")),
    *_same("pod.lifecycle.upgrades.deployments.pod_replacement_strategy"),
    Rule(f"{_IMAGE}.hosts.default", _every(f"{_IMAGE}.hosts.", "default", "public")),
    Rule(f"{_IMAGE}.port.api.default", _every(f"{_IMAGE}.port.api.", "default", "public")),
    _made("secrets.identity.glance", *_SOURCES),
    _made("secrets.oslo_messaging.notifications", *_SOURCES),
    _made(
        "volume.store", "storage", "conf.glance.DEFAULT.enabled_backends", "conf.glance.glance_store.default_backend"
    ),
    Rule("volume.class_name", ("volume.class_name", "volume_staging.class_name")),
    Rule("volume.size", ("volume.size", "volume_staging.size")),
    Rule("volume.access_modes", ("volume.accessModes", "volume_staging.accessModes")),
    _left("conf.glance.oslo_concurrency.lock_path", "their chart mounts a volume there, besides its one at /tmp"),
    _left("conf.glance.os_glance_staging_store.**", "their chart has a volume for it, at /var/lib/glance/tmp"),
    _left("conf.glance.os_glance_tasks_store.**", "their chart has a volume for it, at /var/lib/glance/tmp"),
    _left("conf.glance_api_uwsgi.uwsgi.wsgi-file", "it is a script of our chart, which refuses pickles of memcached"),
    _left(
        "conf.glance.keystone_authtoken.memcached_servers", "without that script Glance keeps tokens in its processes"
    ),
    _left("conf.glance.keystone_authtoken.memcache_use_advanced_pool", "it is of no use without memcached"),
    *_same("conf.glance.**", "conf.glance_api_uwsgi.**", "conf.logging.**"),
)
