"""Exactly-once on running workers, for real: refused in one step, allowed in two; then the validation passes."""

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import consume_to, create_topics, produce, records
from kafka_replication.infra.stack.settings import read_settings
from tests.local.flows import Deployed, check_named, outcome_text, write_edited
from tests.local.observed import contents, trace
from tests.repository import STACKS

pytestmark = pytest.mark.usefixtures("spark", "stopped_programs")


def test_running_workers_change_to_exactly_once_in_two_steps_and_not_in_one(
    endpoints: Endpoints, tmp_path: Path
) -> None:
    example = yaml.safe_load((STACKS / "topologies" / "local.yaml").read_text())["replications"]["orders"]
    accepted = {"finding": "duplicated-exactly-once", "reason": "workers that restarted before it was enabled"}
    flow = {**example, "topics": ["receipts"], "groups": ["receipts-.*"], "validation": {"accept": [accepted]}}

    def step(exactly_once: str) -> Deployed:
        folder = tmp_path / exactly_once
        folder.mkdir()
        given: dict[str, Any] = {"receipts": {**flow, "exactlyOnce": exactly_once}}
        write_edited(folder, "local-pair", lambda topology: topology.update(replications=given))
        return Deployed(read_settings("local-pair", folder), endpoints)

    steps = {each: step(each) for each in ("disabled", "preparing", "enabled")}
    source, target = endpoints.regions["useast"], endpoints.regions["uswest"]
    create_topics(source, {"receipts": 2})
    produce(source, "receipts", 200, seed=1)
    try:
        for each in steps:
            steps[each].up()
            if each == "disabled":
                with pytest.raises(CannotRunError, match="exactly-once-in-one-step"):
                    deployment.preview(steps["enabled"].settings, lambda _: None)
        produce(source, "receipts", 400, seed=2)
        consume_to(source, "receipts-app", {("receipts", 0): 80, ("receipts", 1): 80})
        outcome = steps["enabled"].validate("receipts", catch_up_seconds=60)
        arrived = Counter(chain(*contents(target, "useast.receipts").values()))
    finally:
        deployment.destroy(steps["enabled"].settings, lambda _: None)
    assert outcome.verdict is Verdict.PASS, outcome_text(outcome)
    assert check_named(outcome, "parity").counts["sourceRecords"] == 600
    assert check_named(outcome, "heartbeats-arrive").verdict is Verdict.PASS, outcome_text(outcome)
    since = [trace(record.headers) for record in records("receipts", 400, seed=2)]
    assert {arrived[each] for each in since} == {1}
