"""Declares which end-to-end test uses each value of a service's features.

The named test uses a value in a real cloud; a value without a test is only rendered into charts. `plan` reports a
cloud's values without a test; docs/reference/support.md lists all. A unit test compares the declarations with the API.
"""

from __future__ import annotations

from stackwright.api.meta import Model

Value = str | bool
RENDERED_ONLY = ""
UNTESTED = "only rendered in tests; no test uses it in a real cloud"  # what `plan` reports for such a value
ANY_OTHER = "any other"  # for free text: each value without a declaration of its own

UP = "test_up_ends_with_a_vm_that_is_active_pinged_and_logged_in_to_by_its_floating_ip"
SMOKE = "test_smoke_passes_every_check"
SMALL_CLOUD = "test_audit_events_create_a_messaging_account_and_delete_it"
REMOVED = "test_a_removed_service_leaves_only_its_database_and_can_be_added_again"
IN_CEPH = "test_then_images_and_disks_are_in_ceph"
VOLUME = "test_a_machine_boots_from_a_volume"
WITHOUT_CEPH = "test_the_example_becomes_a_server_without_storage"


class Alternative(Model):
    """A part whose presence is a choice of its parent field: `features.glance.backends` is `file` or `rbd`."""


def switch(on: str, off: str = RENDERED_ONLY) -> dict[Value, str]:
    return {True: on, False: off}


def service(name: str, there: str = RENDERED_ONLY, away: str = RENDERED_ONLY) -> dict[Value, str]:
    """Tests of a service in `features.services`, and of its removal."""
    return {name: there, f"~{name}": away}


def levels(info: str) -> dict[Value, str]:
    """Tests of the levels in `features.logging`: all tests use the default, INFO."""
    return {"INFO": info, **dict.fromkeys(("DEBUG", "WARNING", "ERROR", "CRITICAL"), RENDERED_ONLY)}
