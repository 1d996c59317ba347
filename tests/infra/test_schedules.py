"""Schedules of a CronJob: what the API server would refuse is a problem before anything is deployed."""

import pytest

from infra.stack.validation_job import NAMED, known_time_zones, why_no_schedule


@pytest.mark.parametrize(
    "schedule",
    [
        *NAMED,
        "@every 1h30m",
        "17 */6 * * *",
        "0 1 1,15 jan-MAR mon-fri",
        "5/10 0-23/2 ? * 0",
        "59 23 31 12 6",
        "0,,1 * * * *",
    ],
)
def test_a_schedule_that_kubernetes_accepts_is_accepted(schedule: str) -> None:
    assert why_no_schedule(schedule) is None


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        ("daily", "it has 1 fields instead of five"),
        ("@dayly", "the named schedules are"),
        ("@every", "the named schedules are"),
        ("0 17 */6 * * *", "it has 6 fields instead of five: minute, hour,"),
        ("TZ=UTC 0 1 * * *", "the time zone has its own key"),
        ("60 * * * *", "`60` is not a valid minute: values are 0 to 59"),
        ("0 24 * * *", "`24` is not a valid hour: values are 0 to 23"),
        ("0 0 0 * *", "`0` is not a valid day of the month: values are 1 to 31"),
        ("0 0 * 13 *", "`13` is not a valid month: values are 1 to 12, or names of three letters"),
        ("0 0 * * 7", "`7` is not a valid day of the week: values are 0 to 6, or names of three letters"),
        ("0 0 * * monday", "`monday` is not a valid day of the week"),
        ("0 5-1 * * *", "`5-1` is not a valid hour: the range ends before it begins"),
        ("*/0 * * * *", "`*/0` is not a valid minute: a step must be a whole number from 1"),
        ("*/1.5 * * * *", "`*/1.5` is not a valid minute: a step must be a whole number from 1"),
        ("0 0 - * *", "`-` is not a valid day of the month: `-` is neither a value nor a range"),
        ("0 0 L * *", "`L` is not a valid day of the month"),
    ],
)
def test_a_schedule_that_kubernetes_refuses_is_refused_with_the_reason(schedule: str, why: str) -> None:
    assert (why_no_schedule(schedule) or "").startswith(why)


def test_time_zones_are_those_of_the_iana_database() -> None:
    zones = known_time_zones()
    assert not zones or {"Etc/UTC", "Europe/Berlin"} <= zones
