"""A KafkaMirrorMaker2 that copies becomes a flow while records are produced: each arrives exactly once, in order."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.deploy.adoption.carry_out import MoveRun
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.local.endpoints import Endpoints, Region
from kafka_replication.infra.local.traffic import Example, end_offsets, make_example_traffic, produce
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.stack.settings import read_settings
from tests.local.example.test_interventions import replicate
from tests.local.flows import ARRIVAL_SECONDS, Deployed, outcome_text, write_edited
from tests.local.observed import Contents, contents
from tests.repository import STACKS

pytestmark = pytest.mark.usefixtures("spark", "stopped_programs")

FLOW = "stock-flow"
SEED = 7
#: Topics that `local-mirrormaker2` selects. Other tests replicate records of its usual topics twice.
GOODS = Example(
    topics={"stock-shelves": 2, "stock-returns": 1},
    groups={"warehouse-shelves": (("stock-shelves", "stock-returns"), 0.7)},
)


def stores_often(topology: dict[str, Any]) -> None:
    topology["replications"]["stock"]["connect"]["config"] = {"offset.flush.interval.ms": 1000}


def as_a_flow(topology: dict[str, Any]) -> None:
    mirror = yaml.safe_load((STACKS / "topologies" / "local-mirrormaker2.yaml").read_text())
    topology |= {**mirror, "replications": {FLOW: {**mirror["replications"]["stock"], "kind": "flow"}}}


@contextmanager
def producing(source: Region) -> Iterator[None]:
    """Records are produced to every topic while the body runs."""
    ended, failures = threading.Event(), []

    def work() -> None:
        first = dict.fromkeys(GOODS.topics, 100000)
        try:
            while not ended.wait(0.1):
                for topic in GOODS.topics:
                    produce(source, topic, 20, seed=SEED, first=first[topic])
                    first[topic] += 20
        except CannotRunError as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert not failures


@contextmanager
def interrupted_before(step: str) -> Iterator[None]:
    """Interrupt a move with Ctrl-C before this step."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MoveRun, step, interrupted)
        yield


def expect_copied(source: Region, target: Region) -> None:
    for topic in GOODS.topics:
        wanted, found = end_offsets(source, [topic]), end_offsets(target, [f"useast.{topic}"])
        if sum(found.values()) < sum(wanted.values()):
            raise NotYetError(f"{topic}: {found} of {wanted}")


def expect_each_once(found: Contents, wanted: Contents) -> None:
    for partition, records in wanted.items():
        copies = Counter(found[partition])
        twice = [at for at, each in enumerate(records) if copies[each] > 1]
        missing = [at for at, each in enumerate(records) if not copies[each]]
        assert (twice, missing) == ([], []), f"partition {partition} of {len(records)} records"
    assert found == wanted


def test_a_mirror_becomes_a_flow_with_no_record_missing_or_duplicated(endpoints: Endpoints, tmp_path: Path) -> None:
    source, target = endpoints.regions["useast"], endpoints.regions["uswest"]
    for name in ("mirror", "flow"):
        (tmp_path / name).mkdir()
    mirrored = write_edited(tmp_path / "mirror", "local-mirrormaker2", stores_often)
    old = Deployed(read_settings("local-mirrormaker2", mirrored), endpoints)
    new = Deployed(read_settings("local", write_edited(tmp_path / "flow", "local", as_a_flow)), endpoints)
    make_example_traffic(source, 300, 1, GOODS)
    with old.running():
        wait_for("the mirror to copy", lambda: expect_copied(source, target), ARRIVAL_SECONDS)
        try:
            with producing(source):
                words = ("adopt", "--from", "mirror-stock/stock", "--agree", "released:pulumi-kubernetes", "--yes")
                with interrupted_before("_carry"):
                    assert replicate(new, *words).returncode == 130
                answer = replicate(new, *words)
            assert answer.returncode == 0, answer.stderr
            assert "offsets copied to stock-flow, and read back from Connect" in answer.stdout
            make_example_traffic(source, 300, 1, GOODS)
            wait_for("the flow to copy", lambda: expect_copied(source, target), ARRIVAL_SECONDS)
            outcome = new.validate(FLOW)
            assert outcome.verdict is Verdict.PASS, outcome_text(outcome)
            for topic in GOODS.topics:
                expect_each_once(contents(target, f"useast.{topic}"), contents(source, topic))
        finally:
            deployment.destroy(new.settings, lambda _: None)
