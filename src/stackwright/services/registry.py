"""All declarations. A new service adds one module, and one line here."""

from __future__ import annotations

from stackwright.services import (
    ceph,
    ceph_rgw,
    cinder,
    etcd,
    glance,
    horizon,
    ingress,
    keystone,
    mariadb,
    memcached,
    neutron,
    nova,
    placement,
    rabbitmq,
)
from stackwright.services.declaration import Service

SERVICES: tuple[Service, ...] = (
    mariadb.SERVICE,
    rabbitmq.SERVICE,
    memcached.SERVICE,
    etcd.SERVICE,
    ceph.SERVICE,
    keystone.SERVICE,
    ingress.SERVICE,
    ceph_rgw.SERVICE,
    glance.SERVICE,
    placement.SERVICE,
    cinder.SERVICE,
    neutron.SERVICE,
    nova.SERVICE,
    horizon.SERVICE,
)

BY_SERVICE = {declared.service: declared for declared in SERVICES}
BY_KIND = {declared.kind.kind: declared for declared in SERVICES}
VOTING = {chart.name: chart for declared in SERVICES for chart in declared.charts if chart.voters}
