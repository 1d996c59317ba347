"""A topic that somebody deletes while the job reads it."""

import pytest

from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.local.endpoints import Endpoints
from tests.spark.outcomes import CheckWhile, named
from tests.spark.scenes import Scene
from tests.topics import delete_topics


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
            delete_topics(scene.source, [scene.name])
        else:
            delete_topics(scene.target, [scene.remote(scene.name)])

    outcome = check_while(scene.parameters(), step, delete_topic)
    assert outcome.verdict is Verdict.ERROR, outcome.document()
    (finding,) = named(outcome, "parity").findings
    assert finding.code == "topic-gone", finding
