"""A cluster whose API address was deleted."""

from __future__ import annotations

from clusters import CLUSTERS, cluster
from harness import eventually
from infra import Infra
from storage import Storage


def test_a_lost_address_of_the_api_is_reported_until_it_is_restored(member: Infra, storage: Storage) -> None:
    member.cloud.apply(cluster(bastion={"enabled": False}, recreatePolicy="Always"))
    member.ready(CLUSTERS, "shop")
    api = member.status(CLUSTERS, "shop")["apiServerFloatingIP"]
    network = member.sdk.network.get_ip(api["id"]).floating_network_id
    member.sdk.network.delete_ip(api["id"])
    told = eventually(lambda: member.told(CLUSTERS, "shop") == "BlockedResourceNotFound", limit=330, pause=2)
    assert member.told(CLUSTERS, "shop", "APIEndpointReady") == "BlockedResourceNotFound"
    mine = {"floating_ip_address": api["address"], "project_id": member.sdk.current_project_id}
    again = storage.vms.sdk.network.create_ip(floating_network_id=network, **mine)
    member.patch(CLUSTERS, "shop", apiServer={"floatingIP": api["address"]})
    back = eventually(lambda: member.told(CLUSTERS, "shop") == "Ready", limit=120, pause=1)
    assert member.status(CLUSTERS, "shop")["apiServerFloatingIP"] == {**api, "id": again.id}
    print(f"a deleted floating IP is told after {told:.0f} s; had back, the cluster is ready after {back:.0f} s")
    member.delete(CLUSTERS, "shop")
    member.only({("ip", again.id)})
    member.sdk.network.delete_ip(again)
