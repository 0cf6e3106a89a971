"""The periodic removal of rows that a service marked as deleted: `features.database.cleanup`."""

from __future__ import annotations

from pydantic import Field

from stackwright.api.fields.cron import Schedule
from stackwright.api.meta import Model
from stackwright.services.context import Values


class Cleanup(Model):
    enabled: bool = Field(True, description="Purge rows of deleted resources from the database.")
    schedule: Schedule = Field("1 0 * * 1", description="Schedule in cron format.")
    age: int = Field(30, ge=1, description="Days for which deleted rows are kept.")
    batch: int = Field(1000, ge=1, description="Maximum rows per transaction.")


def cleanup_values(cleanup: Cleanup) -> Values:
    """`cron.db_purge` of a chart; with an empty schedule no CronJob exists."""
    return {
        "schedule": cleanup.schedule if cleanup.enabled else "",
        "age": cleanup.age,
        "batch": cleanup.batch,
    }
