"""A topic that somebody deletes while the job reads it."""

import pytest
from confluent_kafka.admin import AdminClient

from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.local.endpoints import Endpoints, Region
from tests.spark.outcomes import CheckWhile, named
from tests.spark.scenes import CALL_SECONDS, Scene


def delete(region: Region, topic: str) -> None:
    admin = AdminClient(region.client_config("admin"))
    for future in admin.delete_topics([topic]).values():
        future.result(CALL_SECONDS)


@pytest.mark.parametrize(
    ("side", "step"),
    [pytest.param("source", "reading offset syncs", id="early"), pytest.param("target", "comparing", id="late")],
)
def test_a_topic_that_is_deleted_during_the_run_is_reported_as_an_error(
    check_while: CheckWhile, endpoints: Endpoints, side: str, step: str
) -> None:
    scene = Scene(endpoints, f"gone-{side}-{len(step)}").replicate()
    scene.translate(f"{scene.name}-a", 45, 41)

    def delete_topic() -> None:
        if side == "source":
            delete(scene.source, scene.name)
        else:
            delete(scene.target, scene.remote(scene.name))

    outcome = check_while(scene.parameters(), step, delete_topic)
    assert outcome.verdict is Verdict.ERROR, outcome.document()
    (finding,) = named(outcome, "parity").findings
    assert finding.code == "topic-gone", finding
