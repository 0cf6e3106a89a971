"""All declarations. A new service adds one module, and one line here."""

from __future__ import annotations

from stackwright.services.ceph.values import SERVICE as ceph
from stackwright.services.ceph_rgw.values import SERVICE as ceph_rgw
from stackwright.services.cinder.values import SERVICE as cinder
from stackwright.services.declaration import Service
from stackwright.services.etcd.values import SERVICE as etcd
from stackwright.services.glance.values import SERVICE as glance
from stackwright.services.horizon.values import SERVICE as horizon
from stackwright.services.ingress.values import SERVICE as ingress
from stackwright.services.keystone.values import SERVICE as keystone
from stackwright.services.mariadb.values import SERVICE as mariadb
from stackwright.services.memcached.values import SERVICE as memcached
from stackwright.services.neutron.values import SERVICE as neutron
from stackwright.services.nova.values import SERVICE as nova
from stackwright.services.placement.values import SERVICE as placement
from stackwright.services.rabbitmq.values import SERVICE as rabbitmq

SERVICES: tuple[Service, ...] = (
    mariadb,
    rabbitmq,
    memcached,
    etcd,
    ceph,
    keystone,
    ingress,
    ceph_rgw,
    glance,
    placement,
    cinder,
    neutron,
    nova,
    horizon,
)

BY_SERVICE = {declared.service: declared for declared in SERVICES}
BY_KIND = {declared.kind.kind: declared for declared in SERVICES}
VOTING = {chart.name: chart for declared in SERVICES for chart in declared.charts if chart.voters}
