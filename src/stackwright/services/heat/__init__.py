"""Heat: the orchestration service. Users describe stacks of resources; engines create, change and delete them.

Engines act for users by trusts. Users that a stack contains, such as those by which its virtual machines send signals,
are in a domain of their own in Keystone, which an administrator of that domain manages.
"""

from __future__ import annotations

from stackwright.services.declaration import INGRESS, Chart, Listener, Public, Service
from stackwright.services.heat.features import HeatSettings
from stackwright.services.heat.kind import Heat
from stackwright.services.heat.values import CFN, CFN_PORT, PORT, chart_values, contracts, secrets
from stackwright.services.tested import RENDERED_ONLY, levels, service, switch

_STACK = "test_a_stack_of_servers_scales_by_a_signal"

__all__ = ["SERVICE"]

SERVICE = Service(
    service="orchestration",
    name="heat",
    group="openstack",
    resource=Heat,
    charts=(
        Chart(
            "heat",
            chart_values,
            images=lambda settings: dict.fromkeys(("heat_api", "heat_cfn", "heat_engine", "heat_db_sync"), "heat"),
            options=("heat", "heat_api_uwsgi", "heat_cfn_uwsgi", "logging"),
            listens=(
                Listener("api", (PORT,), sources=("horizon", "keystoneclient", INGRESS)),
                Listener("cfn", (CFN_PORT,), sources=("keystoneclient", INGRESS)),
                Listener("engine"),
            ),
            confined=True,  # templates of tenants name addresses
            # Longer than graceful_shutdown_timeout; other resources are finished, or handed over to a new engine.
            replaced={"engine": "a resource in work for more than 2 minutes stays IN_PROGRESS; update its stack then"},
            calls=(
                *("mariadb", "rabbitmq", "memcached", "keystone"),
                *("glance", "nova", "neutron", "cinder", "barbican", "designate", "ceph-rgw"),
            ),
        ),
    ),
    secrets=secrets,
    contracts=contracts,
    settings=HeatSettings,
    from_cloud=lambda cloud: {"messaging_instance": cloud.bus("heat"), "cleanup": cloud.cleanup("heat")},
    conf_files={"heat": "heat"},
    requires=lambda settings: ("database", "messaging", "identity"),
    lost_with_object="the trusts by which {} acts for the owners of stacks; their resources stay",
    panels="python3-heat-dashboard",
    public=(Public("heat"), Public(CFN)),
    logging=True,
    cleanup=True,
    section="heat",
    programs={"heatAPI": "api", "heatCfnAPI": "cfn", "heatEngine": "engine"},
    tested={
        "features.services": service("orchestration", _STACK),
        "features.logging.heat.level": levels(_STACK),
        "features.database.cleanup.heat.enabled": switch(RENDERED_ONLY),  # weekly, so no test waits for it
    },
)
