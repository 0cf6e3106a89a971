"""Creates the pools and keys of clients: watches the ConfigMap of requests and writes the Secret of keys.

When a request is removed, its client is deleted. Its pools are kept, because they may contain users' data.
"""

import base64
import json
import os
import time
from typing import Any

import identity
import rados
from kubernetes import Kubernetes

REQUESTS = "openstack-ceph-requests"
KEYS = "openstack-ceph-keys"
MANAGED = {"app.kubernetes.io/managed-by": "stackwright"}
MONITORS = "mon_endpoints"
PATIENCE = 20  # seconds that an OSD may be laggy before it is marked down
EVERY = 5  # seconds between two checks, because other clients may change keys and capabilities in Ceph
SIZE, PG_NUM = int(os.environ["POOL_SIZE"]), int(os.environ["POOL_PG_NUM"])
DEVICE_CLASS = os.environ["POOL_DEVICE_CLASS"]
CLIENT_OPTIONS = json.loads(os.environ["CLIENT_OPTIONS"])
TIMEOUTS = {"client_mount_timeout": "10", "rados_mon_op_timeout": "10"}


def say(text: str) -> None:
    print(time.strftime("%FT%TZ", time.gmtime()), f"[provide] {text}", flush=True)


class Ceph:
    def __init__(self) -> None:
        self.monitors = identity.write(["client.admin"])
        self._rados = rados.Rados(rados_id="admin", conffile="/etc/ceph/ceph.conf", conf=TIMEOUTS)
        self._rados.connect()

    def ask(self, prefix: str, **arguments: Any) -> Any:
        command = json.dumps({"prefix": prefix, "format": "json", **arguments})
        code, output, message = self._rados.mon_command(command, b"", timeout=10)
        if code:
            raise rados.Error(f"{prefix}: {message or os.strerror(-code)}")
        return json.loads(output) if output.strip() else None

    def laggy(self) -> set[int]:
        """OSDs with placement groups that serve no reads; empty while no manager responds."""
        command = json.dumps({"prefix": "pg ls", "states": ["laggy"], "format": "json"})
        code, output, _ = self._rados.mgr_command(command, b"", timeout=10)
        found = json.loads(output) if code == 0 and output.strip() else {}
        return {int(pg["acting_primary"]) for pg in found.get("pg_stats") or ()}

    def close(self) -> None:
        self._rados.shutdown()


def provide_pools(ceph: Ceph, wanted: set[str]) -> None:
    pools = {pool["pool_name"]: pool for pool in ceph.ask("osd pool ls", detail="detail")}
    for name in sorted(wanted - pools.keys()):
        say(f"pool {name}")
        # Ceph sets pgp_num to the same value itself.
        ceph.ask("osd pool create", pool=name, pg_num=PG_NUM, pool_type="replicated", size=SIZE)
    for name in sorted(wanted):
        if name not in pools or not pools[name]["application_metadata"]:
            ceph.ask("osd pool application enable", pool=name, app="rbd")
    # Applies to all pools, including the gateway's.
    for name in sorted(name for name, pool in pools.items() if pool["size"] != SIZE):
        say(f"pool {name}: {SIZE} copies")
        ceph.ask("osd pool set", pool=name, var="size", val=str(SIZE), yes_i_really_mean_it=True)


def provide_clients(ceph: Ceph, wanted: dict[str, dict[str, str]]) -> dict[str, str]:
    """Entity → key."""
    found = {entry["entity"]: entry for entry in ceph.ask("auth ls")["auth_dump"]}
    keys = {}
    for entity, caps in wanted.items():
        flat = [word for pair in sorted(caps.items()) for word in pair]
        if entity not in found:
            say(entity)
            [found[entity]] = ceph.ask("auth get-or-create", entity=entity, caps=flat)
        elif found[entity]["caps"] != caps:
            say(f"{entity}: {caps}")
            ceph.ask("auth caps", entity=entity, caps=flat)
        keys[entity] = found[entity]["key"]
    return keys


def forget_clients(ceph: Ceph, entities: set[str]) -> None:
    for entity in sorted(entities):
        say(f"{entity} is wanted no more")
        ceph.ask("auth del", entity=entity)


def provide(ceph: Ceph, kubernetes: Kubernetes, requests: dict[str, Any]) -> None:
    asked = json.loads(requests["data"]["requests.json"])["clients"]
    # Ignore requests for Ceph's own clients: the operator writes none, and they must not block the other requests.
    clients = {name: client for name, client in asked.items() if f"client.{name}" not in identity.CAPS}
    wanted = {f"client.{name}": client["caps"] for name, client in clients.items()}
    provide_pools(ceph, {pool["name"] for client in clients.values() for pool in client["pools"]})
    keys = provide_clients(ceph, wanted)

    secret = kubernetes.get("secrets", KEYS) or {}
    before = {field: base64.b64decode(text).decode() for field, text in secret.get("data", {}).items()}
    after = {MONITORS: ",".join(f"{address}:{identity.PORT}" for address in ceph.monitors.values())}
    for name, client in clients.items():
        pools = ";".join(f"{pool['name']}:{pool['role']}:{DEVICE_CLASS}" for pool in client["pools"])
        after[name] = f"client.{name};{keys[f'client.{name}']}\n;{pools}"
    # Delete clients before the Secret is written: after an interruption the Secret still lists those to delete.
    forget_clients(ceph, {f"client.{name}" for name in before.keys() - after.keys()} - identity.CAPS.keys())
    if before != after:
        say(f"the Secret {KEYS} holds {', '.join(sorted(after))}")
        data = {field: base64.b64encode(text.encode()).decode() for field, text in after.items()}
        # Copy the owner of the requests, so that the Secret is deleted with it. Requests of another namespace lack one.
        owners = [{**owner, "controller": False} for owner in requests["metadata"].get("ownerReferences", ())]
        kubernetes.apply("secrets", KEYS, {"data": data}, labels=MANAGED, ownerReferences=owners)


def wake(ceph: Ceph, since: dict[int, float]) -> None:
    """Marks OSDs as down that have been laggy for longer than PATIENCE, so that they reconnect.

    An OSD that got no CPU time for longer than its read lease serves no reads until a peer acknowledges a new lease.
    With a single copy no peer exists, so it would wait forever.
    """
    asleep = ceph.laggy() if SIZE == 1 else set()
    for osd in since.keys() - asleep:
        del since[osd]
    for osd in asleep:
        if time.monotonic() - since.setdefault(osd, time.monotonic()) > PATIENCE:
            say(f"osd.{osd} has waited {PATIENCE} s for its own lease: it begins anew")
            ceph.ask("osd down", ids=[str(osd)])
            del since[osd]


def follow(ceph: Ceph, kubernetes: Kubernetes) -> None:
    """Applies requests until an error occurs. Without a ConfigMap, or with an invalid one, nothing is changed."""
    since: dict[int, float] = {}
    while True:
        requests, version = kubernetes.find("configmaps", REQUESTS)
        changed = False
        while not changed:
            if requests:
                provide(ceph, kubernetes, requests)
            wake(ceph, since)
            changed = kubernetes.changed("configmaps", REQUESTS, version, EVERY)


def main() -> None:
    kubernetes = Kubernetes("ceph-provide")
    said = ""
    while True:
        ceph = None
        try:
            ceph = Ceph()
            for name, value in CLIENT_OPTIONS.items():
                ceph.ask("config set", who="client", name=name, value=str(value))
            # Enables RBD's clone v2: clones of unprotected snapshots, which are deleted with their last clone.
            ceph.ask("osd set-require-min-compat-client", version="mimic")
            follow(ceph, kubernetes)
        except Exception as error:  # any error is logged and retried
            trouble = f"{type(error).__name__}: {error}"
            if trouble != said:
                say(trouble)
            said = trouble
            time.sleep(2)
        finally:
            if ceph:
                ceph.close()


if __name__ == "__main__":
    main()
