"""Durations of states, measured by a monotonic clock."""

import time

from stackwright.controllers.catalog import controllers
from stackwright.core.ages import Ages, Progress
from stackwright.core.settings import Settings


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def test_an_age_counts_from_the_first_observation_and_restarts_with_a_change():
    clock = Clock()
    ages = Ages(clock)
    assert ages.of("a", "pending") == 0
    clock.now += 5
    assert (ages.of("a", "pending"), ages.of("b", "pending")) == (5, 0)
    assert ages.of("a", "deployed", known=60) == 0, "what is written down is of another state"
    clock.now += 2
    assert ages.of("a", "deployed", known=60) == 2


def test_the_record_of_an_earlier_process_counts_only_at_the_first_observation():
    clock = Clock()
    ages = Ages(clock)
    assert ages.of("a", 1, known=120) == 120
    clock.now += 70
    assert ages.of("a", 1, known=180) == 190


def test_a_forecast_treats_existing_objects_as_old():
    ages = Ages(Clock(), at_first=1e5)
    assert ages.of("a", 1) == 1e5
    assert ages.of("a", 2) == 0


def test_progress_is_a_new_maximum_not_a_fluctuation():
    clock = Clock()
    ages, told = Ages(clock), Progress()

    def after(seconds, state=1, **counts):
        clock.now += seconds
        return ages.progress("a", state, counts, told)

    assert after(0, new=1, ready=3) == Progress({"new": 1, "ready": 3}, 0)
    assert after(10, new=1, ready=2).still == 10
    assert after(10, new=1, ready=3).still == 20
    assert after(10, new=2, ready=2) == Progress({"new": 2, "ready": 3}, 0)
    assert after(10).still == 10, "a workload of which nothing is known for a moment is not forgotten"
    assert after(10, new=2, ready=3).still == 20
    assert after(10, 2, ready=1) == Progress({"ready": 1}, 0)


def test_progress_of_an_earlier_process_does_not_count_and_later_progress_does():
    told = Progress({"new": 2, "ready": 3}, 120)
    assert Ages(Clock()).progress("a", 1, {"new": 2, "ready": 1}, told) == told
    assert Ages(Clock()).progress("a", 1, {"new": 3}, told) == Progress({"new": 3, "ready": 3}, 0)
    assert Ages(Clock(), at_first=1e5).progress("a", 1, {"new": 3}, told).still == 1e5


def test_the_operator_measures_by_the_monotonic_clock():
    (bundles,) = [each for each in controllers(Settings()) if each.name == "helmbundle"]
    clocks = [each._monotonic for each in bundles.observe.args if isinstance(each, Ages)]
    assert clocks == [time.monotonic]
