"""A flow that starts at the latest offset, for real: it replicates only later records."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.contract.report import FindingSeverity, Verdict
from kafka_replication.infra.local.endpoints import Endpoints, Region
from kafka_replication.infra.local.traffic import create_topics, end_offsets, produce
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.stack.settings import read_settings
from tests.commits import commit
from tests.local.flows import ARRIVAL_SECONDS, Deployed, check_named, outcome_text, write_edited
from tests.repository import STACKS

pytestmark = pytest.mark.usefixtures("spark")

BEFORE, AFTER = 300, 200
REMOTE = "useast.arrivals"


def test_only_records_produced_after_the_start_arrive(endpoints: Endpoints, tmp_path: Path) -> None:
    example = yaml.safe_load((STACKS / "topologies" / "local.yaml").read_text())["replications"]["orders"]
    given: dict[str, Any] = {**example, "topics": ["arrivals"], "groups": ["arrivals-.*"], "startFrom": "latest"}
    write_edited(tmp_path, "local-pair", lambda topology: topology.update(replications={"arrivals": given}))
    stack = Deployed(read_settings("local-pair", tmp_path), endpoints)
    source, target = (endpoints.regions[alias] for alias in ("useast", "uswest"))
    create_topics(source, {"arrivals": 2})
    produce(source, "arrivals", BEFORE, seed=1)
    commit(source, "arrivals-before", {("arrivals", 0): 10})
    with stack.running():
        sentinels = produce_until_all_partitions_arrive(source, target)
        produce(source, "arrivals", AFTER, seed=2, first=BEFORE + sentinels)
        commit(source, "arrivals-after", end_offsets(source, ["arrivals"]))
        outcome = stack.validate("arrivals", catch_up_seconds=60)
        arrived = sum(end_offsets(target, [REMOTE]).values())
    assert outcome.verdict is Verdict.PASS, outcome_text(outcome)
    parity = check_named(outcome, "parity")
    left_out = sum(finding.count for finding in parity.findings if finding.code == "before-the-start")
    assert BEFORE <= left_out < BEFORE + sentinels, outcome_text(outcome)
    assert arrived == BEFORE + sentinels + AFTER - left_out
    assert (parity.counts["beforeStart"], parity.counts["targetRecords"]) == (left_out, arrived)
    notes = {finding.message.split()[1]: finding for finding in check_named(outcome, "offsets-translate").findings}
    assert {(group, note.code, note.severity) for group, note in notes.items()} == {
        ("arrivals-before", "group-before-the-start", FindingSeverity.NOTE)
    }, outcome_text(outcome)
    assert check_named(outcome, "offsets-translate").counts["proven"] == 2
    assert outcome.advice[0].startswith("The flow starts at latest")


def produce_until_all_partitions_arrive(source: Region, target: Region) -> int:
    """Produce sentinels until one has arrived from each partition, so every task polls; returns their number."""
    sent = 0

    def all_arrive() -> int:
        nonlocal sent
        produce(source, "arrivals", 8, seed=3, first=BEFORE + sent)
        sent += 8
        try:
            ends = end_offsets(target, [REMOTE])
        except KeyError as absent:
            raise NotYetError(f"no topic {absent}") from absent
        if not all(ends.values()):
            raise NotYetError(f"the target ends at {ends}")
        return sent

    return wait_for("a sentinel of each partition to arrive", all_arrive, ARRIVAL_SECONDS)
