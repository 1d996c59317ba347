"""Exactly-once on running workers, for real: one step is refused, two lead there, and everything passes after them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from components.contract.problems import CannotRunError
from components.contract.report import Verdict
from infra.engine import deployment
from infra.local.endpoints import Endpoints
from infra.local.traffic import consume_to, create_topics, produce
from infra.settings import read_settings
from tests.local.flows import Deployed, check_named, told, write_edited
from tests.repository import STACKS

pytestmark = pytest.mark.usefixtures("spark", "stopped_programs")


def test_running_workers_get_there_in_two_steps_and_not_in_one(endpoints: Endpoints, tmp_path: Path) -> None:
    example = yaml.safe_load((STACKS / "topologies" / "local.yaml").read_text())["replications"]["orders"]
    flow = {**example, "topics": ["receipts"], "groups": ["receipts-.*"]}

    def step(exactly_once: str) -> Deployed:
        folder = tmp_path / exactly_once
        folder.mkdir()
        given: dict[str, Any] = {"receipts": {**flow, "exactlyOnce": exactly_once}}
        write_edited(folder, "local-pair", lambda topology: topology.update(replications=given))
        return Deployed(read_settings("local-pair", folder), endpoints)

    steps = {each: step(each) for each in ("disabled", "preparing", "enabled")}
    source = endpoints.regions["useast"]
    create_topics(source, {"receipts": 2})
    produce(source, "receipts", 200, seed=1)
    try:
        for each in steps:
            steps[each].up()
            if each == "disabled":
                with pytest.raises(CannotRunError, match="exactly-once-in-one-step"):
                    deployment.preview(steps["enabled"].settings, lambda _: None)
        produce(source, "receipts", 200, seed=2, first=200)
        consume_to(source, "receipts-app", {("receipts", 0): 80, ("receipts", 1): 80})
        outcome = steps["enabled"].validate("receipts", catch_up_seconds=60)
    finally:
        deployment.destroy(steps["enabled"].settings, lambda _: None)
    assert outcome.verdict is Verdict.PASS, told(outcome)
    assert check_named(outcome, "parity").counts["sourceRecords"] == 400
    assert check_named(outcome, "heartbeats-arrive").verdict is Verdict.PASS, told(outcome)
