"""The tests of Tempest's plug-in for Heat that are run, and reasons for the others. Pure."""

from __future__ import annotations

PLUGIN = "heat_tempest_plugin.tests"
FUNCTIONAL = (
    "create_update_neutron_port",
    "create_update_neutron_subnet",
    "external_ref",
    "hooks",
    "preview",
    "resources_list",
    "stack_events",
    "stack_outputs",
    "stack_tags",
    "template_validate",
    "templates",
    "unicode_template",
)
SELECTED = rf"heat_tempest_plugin\.tests\.(api|functional\.test_({'|'.join(FUNCTIONAL)}))\."
LEFT_OUT = {
    "scenario": "boot machines whose images need cloud-init, an agent or a web server; the guest has none, so the pack "
    "`orchestration` tests servers, signals and deployments of its own",
    "functional.test_encrypted_parameter": "boots a machine; the pack `orchestration` does, too",
    "functional.test_encryption_vol_type": "needs volumes, which this cloud lacks",
    "functional.test_create_update_neutron_trunk": "time: those of ports and subnets update resources of Neutron, too",
    "functional.test_extra_route_set": "time: those of ports and subnets update resources of Neutron, too",
    "functional.test_nova_server_networks": "boots a machine for each test",
    "functional.test_os_wait_condition": "boots a machine whose image needs curl",
    "functional.test_software_config": "boots machines, or needs Zaqar",
    "functional.test_event_sinks": "needs Zaqar",
    "functional.test_waitcondition": "needs Zaqar",
    "functional.test_remote_stack": "stacks in other clouds; an engine reaches no public name from inside this one",
}
"""Part of the name of tests → the reason."""


def table() -> str:
    """The table of the documentation."""
    rows = [f"| `{part}` | {reason} |\n" for part, reason in LEFT_OUT.items()]
    return "| tests | reason |\n|---|---|\n" + "".join(rows)
