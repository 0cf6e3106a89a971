"""The regular removal of rows that a service deleted long ago: `features.database.cleanup`."""

from __future__ import annotations

from pydantic import Field

from stackwright.api.fields.cron import Schedule
from stackwright.api.meta import Model
from stackwright.services.context import Values


class Cleanup(Model):
    enabled: bool = Field(True, description="Remove what was deleted long ago from the database.")
    schedule: Schedule = Field("1 0 * * 1", description="When, as cron has it.")
    age: int = Field(30, ge=1, description="Days that a deleted thing is kept.")
    batch: int = Field(1000, ge=1, description="Rows of one step.")


def cleanup_values(cleanup: Cleanup) -> Values:
    """`cron.db_purge` of a chart; without a schedule no CronJob exists."""
    return {
        "schedule": cleanup.schedule if cleanup.enabled else None,
        "age": cleanup.age,
        "batch": cleanup.batch,
    }
