"""Several source connectors in one flow, for real: disjoint topics; one can stop, or its partition at a gap, alone."""

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.flows.selections import source_settings
from kafka_replication.components.render.connector_config import transform_properties
from kafka_replication.components.topology.connectors import Transforms
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import Example, end_offsets, make_example_traffic
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.operate.keep.keeper import LookResult, StackKeeper
from kafka_replication.infra.operate.status.look import look
from kafka_replication.infra.operate.status.text import flow_lines
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings
from tests.local.example.test_interventions import replicate
from tests.local.flows import ARRIVAL_SECONDS, Deployed, check_named, outcome_text, write_edited
from tests.local.observed import RecordBytes, expect_records, records
from tests.topics import remove_records

pytestmark = pytest.mark.usefixtures("spark")

#: Records that the source still has after a gap.
LEFT = 10
TRAFFIC = Example(topics={"carts": 2, "views-web": 2}, groups={"basket": (("carts", "views-web"), 0.8)})


def _divide(topology: dict[str, Any]) -> None:
    split = topology["replications"].pop("traffic")
    topology["replications"]["shop"] = {
        "kind": "flow",
        **{key: split[key] for key in ("source", "target", "offsetSyncs", "intervals")},
        "groups": ["basket"],
        "onLoss": "stop",
        "connect": {
            "replicas": 1,
            "jvmOptions": {"-Xmx": "256m"},
            "config": {"offset.flush.interval.ms": 5000},
        },
        "connectors": {
            "sources": {
                "carts": {"topics": ["carts"]},
                "views": {"topics": ["views-.*"], "config": {"producer.override.compression.type": "zstd"}},
            }
        },
    }


@pytest.fixture(scope="module")
def divided(endpoints: Endpoints, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """A flow whose topics are divided between two source connectors, one of them with its own compression."""
    folder = write_edited(tmp_path_factory.mktemp("divided"), "local-split", _divide)
    stack = Deployed(read_settings("local-split", folder), endpoints)
    make_example_traffic(endpoints.regions["useast"], 200, 1, TRAFFIC)
    with stack.running():
        with OpenStack(stack.settings) as opened:
            # Nothing crosses before a keeper has committed where partitions start.
            assert all(isinstance(kept, LookResult) for _, kept in StackKeeper().look(opened))
        yield stack


def test_every_record_arrives_once_and_each_topic_belongs_to_one_connector(divided: Deployed) -> None:
    make_example_traffic(divided.endpoints.regions["useast"], 200, 1, TRAFFIC)
    outcome = divided.validate("shop")
    assert outcome.verdict is Verdict.PASS, outcome_text(outcome)
    parity = check_named(outcome, "parity").counts
    assert (parity["sourceRecords"], parity["targetRecords"], parity["duplicated"]) == (800, 800, 0)
    assert check_named(outcome, "topics-divided").verdict is Verdict.PASS


def test_only_the_stopped_source_connector_is_reported_with_its_lag(divided: Deployed) -> None:
    with divided.edited("shop-source-views", {"state": "stopped"}, {"state": "running"}):
        source, target = (divided.endpoints.regions[alias] for alias in ("useast", "uswest"))
        views = sum(end_offsets(source, ["views-web"]).values())
        make_example_traffic(source, 100, 1, TRAFFIC)
        carts = sum(end_offsets(source, ["carts"]).values())
        wait_for("carts to arrive", lambda: expect_records(target, "useast.carts", carts), ARRIVAL_SECONDS)
        listed_when_stored(divided, carts + views)
        # Nothing can arrive from the stopped connector, however long the job waits.
        outcome = divided.validate("shop", catch_up_seconds=1)
    assert outcome.verdict is Verdict.FAIL
    assert check_named(outcome, "parity").counts["lagging"] == 100, outcome_text(outcome)
    moved = check_named(outcome, "connectors-run").counts
    assert (moved["storedOffsets"], moved["offsetsBehind"]) == (4, 100), outcome_text(outcome)
    behind = [
        finding.message for check in outcome.checks for finding in check.findings if finding.code == "part-behind"
    ]
    assert len(behind) == 1, outcome_text(outcome)
    assert "shop-source-views" in behind[0]


#: Copies each key into a header, marks each record and drops a header. Classes have short names where there is one.
KEY_IN_A_HEADER = {
    "wrap": {"type": "org.apache.kafka.connect.transforms.HoistField$Key", "config": {"field": "content"}},
    "copy": {
        "type": "org.apache.kafka.connect.transforms.HeaderFrom$Key",
        "config": {"fields": "content", "headers": "original", "operation": "copy"},
    },
    "unwrap": {"type": "org.apache.kafka.connect.transforms.ExtractField$Key", "config": {"field": "content"}},
    "clean": {
        "type": "DropHeaders",
        "config": {"headers": "seed"},
        "predicate": {"type": "TopicNameMatches", "config": {"pattern": r"useast\.views-.*"}},
    },
    "mark": {"type": "InsertHeader", "config": {"header": "copied", "value.literal": "null"}},
}
TEXT_IN_A_HEADER = {"stamp": {"type": "InsertHeader", "config": {"header": "stage", "value.literal": "prod"}}}


def with_key_in_a_header(record: RecordBytes) -> RecordBytes:
    key, value, headers = record
    return key, value, [*(each for each in headers if each[0] != "seed"), ("original", key), ("copied", None)]


def transformed(divided: Deployed, before: dict[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The configuration of a source connector with this chain, and the problems that the check finds in it."""
    transforms, flow = Transforms.model_validate({"before": before}), divided.flow("shop").settings
    sources = dict(flow.connectors.sources)
    sources["views"] = sources["views"].model_copy(update={"transforms": transforms})
    flow = flow.model_copy(update={"connectors": flow.connectors.model_copy(update={"sources": sources})})
    topology = divided.settings.topology.model_copy(update={"replications": {"shop": flow}})
    found = [each for each in check_topology(topology) if ".transforms." in each.where]
    return transform_properties(source_settings(flow, "views")), found


def test_a_transform_chain_that_passes_the_check_changes_records_exactly_as_expected(divided: Deployed) -> None:
    source, target = (divided.endpoints.regions[alias] for alias in ("useast", "uswest"))
    config, found = transformed(divided, KEY_IN_A_HEADER)
    assert found == []
    before = end_offsets(source, ["views-web"])
    untouched = sum(before.values())
    wait_for("earlier views to arrive", lambda: expect_records(target, "useast.views-web", untouched), ARRIVAL_SECONDS)
    before_remote = end_offsets(target, ["useast.views-web"])
    with divided.edited("shop-source-views", {"config": config}, {"config": dict.fromkeys(config)}):
        make_example_traffic(source, 100, 1, TRAFFIC)
        wanted = sum(end_offsets(source, ["views-web"]).values())
        wait_for("views to arrive", lambda: expect_records(target, "useast.views-web", wanted), ARRIVAL_SECONDS)
    sent, arrived = records(source, "views-web", before), records(target, "useast.views-web", before_remote)
    assert arrived == {partition: list(map(with_key_in_a_header, each)) for partition, each in sent.items()}
    assert sum(map(len, sent.values())) == 100


def test_a_transform_chain_that_the_check_refuses_fails_its_task_for_the_same_reason(divided: Deployed) -> None:
    config, (found,) = transformed(divided, TEXT_IN_A_HEADER)
    assert found.code == "header-refused"
    assert "the header `stage` is text or a number, but the header converter writes only bytes" in found.what
    with divided.edited("shop-source-views", {"config": config}, {"config": dict.fromkeys(config)}):
        make_example_traffic(divided.endpoints.regions["useast"], 100, 1, TRAFFIC)

        def failed() -> None:
            status = divided.connector("shop-source-views").get("status") or {}
            tasks = (status.get("connectorStatus") or {}).get("tasks") or []
            if not any("Invalid schema type for ByteArrayConverter: STRING" in task.get("trace", "") for task in tasks):
                raise NotYetError(str(tasks))

        wait_for("the task to fail", failed, ARRIVAL_SECONDS)


def offsets(divided: Deployed, *given: str) -> tuple[int, str]:
    """Exit code of `replicate offsets` for the flow, and what it printed."""
    answer = replicate(divided, "offsets", "shop", *given)
    return answer.returncode, answer.stdout + answer.stderr


def listed_when_stored(divided: Deployed, replicated: int) -> list[dict[str, Any]]:
    """What `offsets list` says once Connect has stored the offsets of everything that was replicated.

    Connectors store offsets every 5 s. A list from before would set back the offsets that were stored since.
    """
    listed: list[dict[str, Any]] = []

    def stored() -> None:
        listed[:] = json.loads(replicate(divided, "offsets", "shop", "list", "--json").stdout)
        offsets = [each["offset"] for each in listed]
        if "earliest" in offsets or sum(offsets) != replicated:
            raise NotYetError(f"{replicated} records were replicated, and stored are {listed}")

    wait_for("the offsets to be stored", stored, ARRIVAL_SECONDS)
    return listed


def test_listed_offsets_can_be_edited_and_set_and_nothing_else_changes(divided: Deployed, tmp_path: Path) -> None:
    """Sets both source connectors: one goes back to its first record, the other continues where it was."""
    source, target = (divided.endpoints.regions[alias] for alias in ("useast", "uswest"))
    sent, carts = (sum(end_offsets(source, [topic]).values()) for topic in ("views-web", "carts"))
    wait_for("earlier views to arrive", lambda: expect_records(target, "useast.views-web", sent), ARRIVAL_SECONDS)
    wait_for("earlier carts to arrive", lambda: expect_records(target, "useast.carts", carts), ARRIVAL_SECONDS)
    listed = listed_when_stored(divided, sent + carts)
    assert {(each["source"], each["topic"]) for each in listed} == {("useast", "carts"), ("useast", "views-web")}
    for each in listed:
        if each["topic"] == "views-web":
            each["offset"] = "earliest"
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps(listed))
    code, said = offsets(divided, "plan", str(file))
    assert (code, "views-web-0: now " in said, "nothing was changed" in said) == (0, True, True)
    code, said = offsets(divided, "set", str(file), "--yes")
    assert (code, "✓ shop-source-views is RUNNING" in said) == (0, True)
    wait_for("views to arrive again", lambda: expect_records(target, "useast.views-web", 2 * sent), ARRIVAL_SECONDS)
    assert sum(end_offsets(target, ["useast.carts"]).values()) == carts
    connector = divided.connector("shop-source-views")
    assert "alterOffsets" not in connector["spec"]
    assert {each["manager"] for each in connector["metadata"]["managedFields"]}.isdisjoint({"kafka-replication"})
    wait_for("no drift", divided.expect_no_drift, ARRIVAL_SECONDS)


def stopped_at(divided: Deployed) -> str:
    """What `replicate status` says about a connector that has stopped at a gap; "" if none has."""
    (flow,) = look([OpenStack(divided.settings)]).stacks[0].flows
    return "\n".join(fact.text for fact in flow_lines("local-split", flow) if fact.title == "stopped")


def test_a_partition_stops_at_a_gap_until_the_printed_command_continues_with_what_is_there(
    divided: Deployed, tmp_path: Path
) -> None:
    """Without `onLoss: stop`, the connector passes over the gap, and only a warning in its log says so."""
    source, target = (divided.endpoints.regions[alias] for alias in ("useast", "uswest"))

    def arrived(wanted: int) -> None:
        wait_for("carts to arrive", lambda: expect_records(target, "useast.carts", wanted), ARRIVAL_SECONDS)

    before = end_offsets(source, ["carts"])
    arrived(sum(before.values()))
    with divided.edited("shop-source-carts", {"state": "stopped"}, {"state": "running"}):
        make_example_traffic(source, 100, 1, TRAFFIC)
        ends, crossed = end_offsets(source, ["carts"]), before["carts", 0]
        start, end = ends["carts", 0] - LEFT, ends["carts", 0]
        assert start > crossed
        remove_records(source, "carts", 0, start)

    def expect_stop() -> str:
        if not (line := stopped_at(divided)):
            raise NotYetError("no stop is reported")
        return line

    line = wait_for("status to say where the connector stopped", expect_stop, ARRIVAL_SECONDS)
    assert f"at offset {crossed} of carts-0, of which useast holds offsets {start} to {end - 1}; " in line
    # The other partition of the connector goes on.
    arrived(crossed + ends["carts", 1])
    assert list(end_offsets(target, ["useast.carts"]).values()) == [crossed, ends["carts", 1]]
    write, command = line.partition("continue with what is there: ")[2].split(" && ")
    subprocess.run(["bash", "-euc", write], cwd=tmp_path, check=True)
    *words, file = shlex.split(command)
    assert words == ["replicate", "offsets", "local-split", "shop", "set"]
    code, said = offsets(divided, "set", str(tmp_path / file), "--yes")
    assert code == 0, said
    arrived(crossed + LEFT + ends["carts", 1])
    assert stopped_at(divided) == ""
