"""The committed schema of the workers' template is that of the pinned Strimzi, or fields are judged by another one."""

from kafka_replication.components.checks.worker_template import FILE
from tests.contract.worker_template import generated


def test_the_schema_is_that_of_the_pinned_definitions() -> None:
    assert generated() == FILE.read_text(), "run `make properties`"
