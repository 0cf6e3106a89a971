"""What counts as written: objects with a new version, but not what a schedule started meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.core.versions import versions


def made(kind: str, version: str, generation: int = 1, owner: dict[str, Any] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": kind.lower(),
        "uid": f"{kind}-uid",
        "resourceVersion": version,
        "generation": generation,
    }
    if owner:
        metadata["ownerReferences"] = [{"kind": owner["kind"], "uid": owner["metadata"]["uid"]}]
    return {"kind": kind, "metadata": metadata}


def test_a_job_that_its_schedule_started_is_no_write_of_a_command() -> None:
    before = [made("Deployment", "1"), cron := made("CronJob", "2")]
    job = made("Job", "9", owner=cron)
    started = [made("Deployment", "1"), made("CronJob", "8"), job, made("Pod", "10", owner=job)]
    assert versions(started) == versions(before)


def test_a_new_version_a_new_object_and_a_changed_schedule_are_writes() -> None:
    before = versions([made("Deployment", "1"), made("CronJob", "2")])
    assert versions([made("Deployment", "3"), made("CronJob", "2")]) != before
    assert versions([made("Deployment", "1"), made("CronJob", "4", generation=2)]) != before
    assert versions([made("Deployment", "1"), made("CronJob", "2"), made("Job", "5")]) != before
    assert versions([made("CronJob", "2")]) != before


@pytest.mark.parametrize(
    "field",
    [
        {"labels": {"a": "b"}},
        {"annotations": {"a": "b"}},
        {"finalizers": ["a"]},
        {"ownerReferences": [{"kind": "Deployment", "uid": "another"}]},
    ],
)
def test_changed_metadata_of_a_schedule_is_a_write(field: dict[str, Any]) -> None:
    """The generation of an object does not count changes of its metadata."""
    before, after = made("CronJob", "2"), made("CronJob", "3")
    after["metadata"] |= field
    assert versions([after]) != versions([before])
