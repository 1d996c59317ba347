"""A flow switches to the operator's newer API, for real: every custom resource is updated in place."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import consume_to, create_topics, produce
from kafka_replication.infra.stack.settings import read_settings
from tests.local.flows import Deployed, check_named, outcome_text, write_edited
from tests.repository import STACKS

pytestmark = pytest.mark.usefixtures("spark")

PLURALS = ("kafkaconnects", "kafkaconnectors")


@pytest.mark.parametrize(
    ("operator", "topic"),
    [pytest.param("0.45", "bills", id="values in a file"), pytest.param("0.48", "invoices", id="values in Secrets")],
)
def test_a_switch_of_the_api_version_updates_the_resources_in_place(
    endpoints: Endpoints, tmp_path: Path, operator: str, topic: str
) -> None:
    """Otherwise running connectors would be deleted and created again, and replication would stop in between."""
    example = yaml.safe_load((STACKS / "topologies" / "local.yaml").read_text())["replications"]["orders"]
    # The stand-in for the operator gives all workers of v1beta2 the truststore file of 0.45. With 0.45, workers at the
    # source send the heartbeats. With 0.48, the flow's workers would send them, which fails with that file.
    heartbeats = {"heartbeat": {"enabled": operator == "0.45"}}
    flow = {**example, "topics": [topic], "groups": [f"{topic}-.*"], "connectors": heartbeats}

    def step(version: str) -> Deployed:
        folder = tmp_path / version.replace("/", "-")
        folder.mkdir()
        write_edited(
            folder, "local-pair", lambda topology: topology.update(strimzi=version, replications={topic: flow})
        )
        return Deployed(read_settings("local-pair", folder), endpoints)

    older, between, newer = step(operator), step("0.51/v1beta2"), step("1.2")
    source = endpoints.regions["useast"]
    create_topics(source, {topic: 2})
    with older.running():
        produce(source, topic, 200, seed=1)
        before = _uids(older, topic)
        if operator == "0.45":
            arriving = older.heartbeats(topic, catch_up_seconds=60)
            assert arriving.verdict is Verdict.PASS, arriving.findings
            assert before.pop(f"kafkaconnects/{topic}-heartbeats", None) is not None
        with pytest.raises(CannotRunError, match="api-switch-in-one-step"):
            newer.up()
        between.up()
        newer.up()
        produce(source, topic, 200, seed=2, first=200)
        consume_to(source, f"{topic}-app", {(topic, 0): 80, (topic, 1): 80})
        outcome = newer.validate(topic, catch_up_seconds=60)
        assert _uids(newer, topic) == before
    parity = check_named(outcome, "parity")
    assert parity.verdict is Verdict.PASS, outcome_text(outcome)
    assert (parity.counts["sourceRecords"], parity.counts["duplicated"]) == (400, 0), outcome_text(outcome)


def _uids(stack: Deployed, flow: str) -> dict[str, str]:
    custom: Any = client.CustomObjectsApi(stack.api)
    found = {}
    for plural in PLURALS:
        for item in custom.list_namespaced_custom_object("kafka.strimzi.io", "v1", f"mirror-{flow}", plural)["items"]:
            found[f"{plural}/{item['metadata']['name']}"] = item["metadata"]["uid"]
    return found
