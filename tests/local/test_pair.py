"""A prefixless pair, for real: every record on each side, no loop, across a kill -9 of a worker on each side."""

from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components import checks
from kafka_replication.components.contract.problems import ReplicationError
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.render.flow_acls import Acl
from kafka_replication.infra.local.acls import apply_acls
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.local.traffic import create_topics, end_offsets, produce, records
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.stack.settings import read_settings
from tests.local.flows import ARRIVAL_SECONDS, Deployed, check_named, kill, outcome_text, write_edited
from tests.local.observed import contents, trace
from tests.repository import STACKS

pytestmark = pytest.mark.usefixtures("spark", "stopped_programs")

RECORDS = 2_000
SENT = 30
HALVES = ("ledger-to-uswest", "ledger-to-useast")
EXACTLY_ONCE = {"exactlyOnce": "enabled"}


@contextmanager
def a_pair(endpoints: Endpoints, folder: Path, replications: Mapping[str, Any], topic: str) -> Iterator[Deployed]:
    """The stack `local-pair` with other replications, deployed while the body runs."""
    write_edited(folder, "local-pair", lambda topology: topology.update(replications=dict(replications)))
    stack = Deployed(read_settings("local-pair", folder), endpoints)
    for region in endpoints.regions.values():
        create_topics(region, {topic: 3})
    # Another stack of these tests calls useast `useast-tls`; its heartbeats travel one hop further and need this ACL.
    hop = Acl("useast", "User:mirror", "topic", "literal", "uswest.useast-tls.heartbeats", ("CREATE", "WRITE"))
    apply_acls(endpoints.regions["useast"], [hop])
    with stack.running():
        yield stack


@pytest.mark.parametrize(
    ("topic", "overrides"),
    [pytest.param("journal", {}, id="at least once"), pytest.param("journal-once", EXACTLY_ONCE, id="exactly once")],
)
def test_both_sides_hold_every_record_although_a_worker_on_each_side_is_killed(
    endpoints: Endpoints, tmp_path: Path, topic: str, overrides: dict[str, Any]
) -> None:
    example = yaml.safe_load((STACKS / "topologies" / "local-pair.yaml").read_text())["replications"]["ledger"]
    pair = {"ledger": {**example, "topics": [topic], **overrides}}
    with a_pair(endpoints, tmp_path, pair, topic) as stack:
        _produce_and_kill(stack, topic)
        for half in HALVES:
            wait_for("fresh heartbeats", partial(_expect_fresh_heartbeats, stack, half), ARRIVAL_SECONDS)
        outcomes = [stack.validate(half, catch_up_seconds=120) for half in HALVES]
        for outcome in outcomes:
            assert outcome.verdict is Verdict.PASS, outcome_text(outcome)
            parity = check_named(outcome, "parity").counts
            assert (parity["sourceRecords"], parity["missing"], parity["extra"]) == (RECORDS, 0, 0), outcome_text(
                outcome
            )
        duplicated = sum(check_named(outcome, "parity").counts["duplicated"] for outcome in outcomes)
        if overrides:
            assert duplicated == 0
        else:
            assert _held(stack, topic) == 4 * RECORDS + duplicated
        _expect_no_loop(stack, topic)


def _expect_fresh_heartbeats(stack: Deployed, half: str) -> None:
    """Heartbeats arrive late until the flow has caught up with what was produced while its worker was down."""
    heartbeats = stack.heartbeats(half)
    if heartbeats.verdict is not Verdict.PASS:
        raise NotYetError(str(heartbeats.findings))


def _produce_and_kill(stack: Deployed, topic: str) -> None:
    """Produce on both sides at once, and kill a worker on each side once a part of the records is replicated."""
    regions = list(stack.endpoints.regions.values())
    with ThreadPoolExecutor(len(regions)) as pool:
        for region_seed, region in enumerate(regions, start=1):
            produce(region, topic, RECORDS // 4, seed=region_seed, header="replicated-from-eucentral")
        wait_for("a part to be replicated", lambda: _expect_held(stack, topic, RECORDS // 2 + 2), ARRIVAL_SECONDS)
        running = [
            pool.submit(
                produce,
                region,
                topic,
                RECORDS - RECORDS // 4,
                seed=seed,
                first=RECORDS // 4,
                header="replicated-from-eucentral",
            )
            for seed, region in enumerate(regions, start=1)
        ]
        kill(worker for worker in operator_part.workers() if any(half in worker.name for half in HALVES))
        for each in running:
            each.result(ARRIVAL_SECONDS)


def _held(stack: Deployed, topic: str) -> int:
    return sum(sum(end_offsets(region, [topic]).values()) for region in stack.endpoints.regions.values())


def _expect_held(stack: Deployed, topic: str, wanted: int) -> None:
    if (held := _held(stack, topic)) < wanted:
        raise NotYetError(f"{held} of {wanted} records")


def _expect_no_loop(stack: Deployed, topic: str) -> None:
    """Send records from each side twice, and assert that nothing else arrives.

    A partition keeps its order, so a record that loops comes back before one that is sent after it.
    """
    regions = list(stack.endpoints.regions.values())
    before = {region.alias: end_offsets(region, [topic]) for region in regions}
    sent: Counter[bytes] = Counter()

    def arrived() -> list[Counter[bytes]]:
        return [Counter(chain(*contents(each, topic, before[each.alias]).values())) for each in regions]

    def expect_everywhere() -> None:
        if missing := [sent - found for found in arrived() if sent - found]:
            raise NotYetError(f"{[len(each) for each in missing]} records have not arrived")

    for seed, region in enumerate([*regions, *regions], start=11):
        counts = produce(region, topic, SENT, seed=seed)
        assert all(counts.values()), f"each partition must get a record: {counts}"
        sent.update(trace(record.headers) for record in records(topic, SENT, seed))
        wait_for("the records to cross", expect_everywhere, ARRIVAL_SECONDS)
    assert arrived() == [sent, sent], "the topic holds more than was produced"


def test_a_pair_without_loop_protection_is_refused_and_its_loop_is_reported_if_forced(
    endpoints: Endpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two identity flows in opposite directions: `up` refuses them; if forced, the validation finds the loop."""
    flow = {"kind": "flow", "topics": ["carousel"], "groups": ["none"], "policy": "identity"}
    # Otherwise the records would go round as fast as both processors let them.
    slow = {"connectors": {"source": {"config": {"producer.override.linger.ms": 200}}}}
    common = {
        **slow,
        "intervals": {"refreshTopicsSeconds": 5},
        "connect": {"replicas": 1, "jvmOptions": {"-Xmx": "256m"}},
    }
    replications = {
        "out": {**flow, **common, "source": "useast", "target": "uswest"},
        "back": {**flow, **common, "source": "uswest", "target": "useast"},
    }
    for folder in ("refused", "forced"):
        (tmp_path / folder).mkdir()
    with pytest.raises(ReplicationError, match="useast -> uswest -> useast"):
        a_pair(endpoints, tmp_path / "refused", replications, "carousel").__enter__()
    monkeypatch.setattr(checks, "check_loops", lambda _: ())
    with a_pair(endpoints, tmp_path / "forced", replications, "carousel") as stack:
        produce(endpoints.regions["useast"], "carousel", 50, seed=1)
        wait_for("the records to go round", lambda: _expect_held(stack, "carousel", 500), ARRIVAL_SECONDS)
        outcome = stack.validate("out", catch_up_seconds=5)
    assert outcome.verdict is Verdict.FAIL
    assert "records-loop" in outcome_text(outcome), outcome_text(outcome)
