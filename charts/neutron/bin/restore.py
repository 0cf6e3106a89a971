"""Restores OVN's northbound database from Neutron's before the maintenance worker starts, if it has lost networks.

Neutron's tool writes each network in a transaction of its own. A mark in the database lasts until the tool has ended,
so an interrupted restoration is repeated. The tool also deletes what only OVN has, and so what users create meanwhile:
it runs only after a loss.
"""

import json
import os
import subprocess
import sys

import schema

TOOL = "neutron-ovn-db-sync-util"
DATABASE = "OVN_Northbound"
MARK = "stackwright-restores"  # an external id of NB_Global
RECENT = 60  # seconds in which Neutron may still write a new network to OVN
NETWORKS = (
    "SELECT networks.id FROM networks JOIN standardattributes ON networks.standard_attr_id = standardattributes.id "
    f"WHERE standardattributes.created_at < UTC_TIMESTAMP() - INTERVAL {RECENT} SECOND"
)
SWITCHES = {"op": "select", "table": "Logical_Switch", "where": [], "columns": ["name"]}
GLOBAL = {"op": "select", "table": "NB_Global", "where": [], "columns": ["external_ids"]}
BEGIN = ("insert", ["map", [[MARK, "true"]]])
END = ("delete", ["set", [MARK]])


def restore(options: dict[str, str], url: str, arguments: list[str]) -> None:
    """Options  of the section `ovn`; arguments  of the tool, which name the configuration files"""
    switches, marked = _content(options)
    lost = {f"neutron-{network}" for network in _networks(url)} - switches
    if not lost and not marked:
        return
    cause = f"it lacks {len(lost)} networks, such as {min(lost)}" if lost else "a restoration was interrupted"
    print(f"Restoring OVN's northbound database from Neutron's: {cause}", file=sys.stderr, flush=True)
    _change(options, *BEGIN)
    environment = {**os.environ, "OS_OVN__NEUTRON_SYNC_MODE": "repair"}
    subprocess.run([TOOL, *arguments], env=environment, check=True)
    _change(options, *END)
    print("OVN's northbound database is restored", file=sys.stderr, flush=True)


def _networks(url: str) -> set[str]:
    with schema.connect(url) as server, server.cursor() as cursor:
        cursor.execute(NETWORKS)
        return {row[0] for row in cursor.fetchall()}


def _content(options: dict[str, str]) -> tuple[set[str], bool]:
    """Names of the networks in the database, and whether it has the mark."""
    switches, rows = _ask(options, "query", SWITCHES, GLOBAL)
    ids = [pair for row in rows["rows"] for pair in row["external_ids"][1]]
    return {row["name"] for row in switches["rows"]}, any(name == MARK for name, _ in ids)


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
        done = subprocess.run(["ovsdb-client", *words], capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip() or f"ovsdb-client exits with {done.returncode}"
        results[:] = json.loads(done.stdout)
        failed = [each for each in results if each is None or "error" in each or each.get("count") == 0]
        return f"{verb}: {failed[0]}" if failed else ""

    schema.wait(missing, "OVN's northbound database")
    return results
