"""Restores OVN's northbound database from Neutron's before the maintenance worker starts, if it has lost networks.

Neutron's tool also deletes what only OVN has. So it runs only if OVN lacks networks or routers, and has nothing that
Neutron lacks: otherwise, Neutron's database may be an older dump, and the tool would delete networks in use. It writes each
network in a transaction of its own, and reports success although some failed. A mark in OVN's database lasts until
nothing is missing, so that an incomplete restoration is repeated at the next start.
"""

import json
import os
import re
import subprocess
import sys
from typing import NamedTuple

import schema

TOOL = "neutron-ovn-db-sync-util"
DATABASE = "OVN_Northbound"
MARK = "stackwright-restores"  # an external id of NB_Global
RECENT = 60  # seconds in which Neutron may still write a new resource to OVN
ATTEMPTS = 3
TABLES = {"networks": "Logical_Switch", "routers": "Logical_Router", "ports": "Logical_Switch_Port"}
# Floating IPs are no ports in OVN.
QUERY = (
    "SELECT resource.id, facts.created_at < UTC_TIMESTAMP() - INTERVAL {recent} SECOND FROM {table} AS resource "
    "JOIN standardattributes AS facts ON resource.standard_attr_id = facts.id{condition}"
)
CONDITIONS = {"ports": " WHERE resource.device_owner <> 'network:floatingip'"}
ID = re.compile(r"(?:neutron-)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")  # names of others: provnet-<id>, lrp-<id>
BEGIN = ("insert", ["map", [[MARK, "true"]]])
END = ("delete", ["set", [MARK]])


class State(NamedTuple):
    """missing  Neutron's resource → ids that OVN lacks; unknown  those that Neutron lacks; marked  not complete"""

    missing: dict[str, set[str]]
    unknown: dict[str, set[str]]
    marked: bool


def restore(options: dict[str, str], url: str, arguments: list[str]) -> None:
    """Restore lost networks. `arguments` select the tool's configuration files."""
    state = _state(options, url)
    if not state.marked and not state.missing["networks"] and not state.missing["routers"]:
        return
    if any(state.unknown.values()):
        _say(f"OVN lacks {_counts(state.missing)} and has {_counts(state.unknown)} that Neutron lacks: not restored")
        return
    for _ in range(ATTEMPTS):
        if not any(state.missing.values()):
            break
        _say(f"Restoring OVN's northbound database from Neutron's: it lacks {_counts(state.missing)}")
        _change(options, *BEGIN)
        environment = {**os.environ, "OS_OVN__NEUTRON_SYNC_MODE": "repair"}
        subprocess.run([TOOL, *arguments], env=environment, check=True)  # noqa: S603
        state = _state(options, url)
    if any(state.missing.values()):
        _say(f"OVN still lacks {_counts(state.missing)}: the next start of this program continues")
        return
    _change(options, *END)
    _say("OVN's northbound database is restored")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _counts(ids: dict[str, set[str]]) -> str:
    return ", ".join(f"{len(found)} {name}" for name, found in ids.items() if found) or "nothing"


def _state(options: dict[str, str], url: str) -> State:
    """OVN is read first, so that no resource that is created meanwhile counts as unknown."""
    selects = [{"op": "select", "table": table, "where": [], "columns": ["name"]} for table in TABLES.values()]
    marks = {"op": "select", "table": "NB_Global", "where": [], "columns": ["external_ids"]}
    *listed, rows = _ask(options, "query", *selects, marks)
    ids = [pair for row in rows["rows"] for pair in row["external_ids"][1]]
    names = [{match[1] for row in each["rows"] if (match := ID.fullmatch(row["name"]))} for each in listed]
    there = dict(zip(TABLES, names, strict=True))
    neutron = {name: _resources(url, name) for name in TABLES}
    return State(
        {name: {id_ for id_, is_old in neutron[name].items() if is_old} - there[name] for name in TABLES},
        {name: there[name] - neutron[name].keys() for name in TABLES},
        any(name == MARK for name, _ in ids),
    )


def _resources(url: str, name: str) -> dict[str, bool]:
    """id → whether it is not recent, of all resources of Neutron."""
    with schema.connect(url) as server, server.cursor() as cursor:
        cursor.execute(QUERY.format(table=name, recent=RECENT, condition=CONDITIONS.get(name, "")))
        return {id_: bool(is_old) for id_, is_old in cursor.fetchall()}


def _change(options: dict[str, str], how: str, value: list) -> None:
    """Change the external ids of the only row of NB_Global, as soon as ovn-northd has created it."""
    mutation = {"op": "mutate", "table": "NB_Global", "where": [], "mutations": [["external_ids", how, value]]}
    _ask(options, "transact", mutation)


def _ask(options: dict[str, str], verb: str, *operations: dict) -> list:
    """The results of the operations, as soon as the database's leader responds, and each of them has an effect."""
    files = {"private-key": "private_key", "certificate": "certificate", "ca-cert": "ca_cert"}
    words = [f"--{word}={options[f'ovn_nb_{option}']}" for word, option in files.items()]
    words += ["--timeout=60", verb, options["ovn_nb_connection"], json.dumps([DATABASE, *operations])]
    results: list = []

    def missing() -> str:
        done = subprocess.run(["ovsdb-client", *words], capture_output=True, text=True)  # noqa: S603
        if done.returncode:
            return done.stderr.strip() or f"ovsdb-client exits with {done.returncode}"
        results[:] = json.loads(done.stdout)
        failed = [each for each in results if each is None or "error" in each or each.get("count") == 0]
        return f"{verb}: {failed[0]}" if failed else ""

    schema.wait(missing, "OVN's northbound database")
    return results
