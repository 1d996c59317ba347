"""Several source connectors on one KafkaConnect: one flow with `connectors.sources`, or the reason why not."""

from pathlib import Path

import pytest
import yaml

from tests.infra.onboard.importing.resources import FLOW, NONE, edited, run

WORKERS, SOURCE, CHECKPOINT = FLOW.split("\n---\n")
ORDERS = edited(SOURCE, ("name: source,", "name: orders,"), ("topics: orders,payments", "topics: orders"))
PAYMENTS = edited(
    SOURCE,
    ("name: source,", "name: payments,"),
    ("topics: orders,payments", "topics: payments\n    heartbeats.replication.enabled: false"),
)


def imported(folder: Path, *objects: str) -> tuple[int, str, dict[str, object]]:
    code, output, topology = run(folder, "\n---\n".join((WORKERS, *objects)))
    return code, output, yaml.safe_load(topology)["replications"]["workers"] if topology else {}


def test_several_source_connectors_become_one_flow_and_keep_their_topics(tmp_path: Path) -> None:
    code, output, flow = imported(tmp_path, ORDERS, PAYMENTS, CHECKPOINT)
    assert (code, NONE in output, "Not taken over" in output) == (0, True, False)
    config = {"replication.factor": 2, "offset-syncs.topic.replication.factor": 3}
    each = {"tasksMax": 2, "autoRestart": {"enabled": False}, "config": config}
    assert "topics" not in flow
    assert flow["connectors"] == {
        "heartbeat": {"enabled": False},
        "checkpoint": {
            "name": "checkpoint",
            "autoRestart": {"enabled": False},
            "config": {"checkpoints.topic.replication.factor": 3},
        },
        "sources": {
            "orders": {"name": "orders", "topics": ["orders"], **each},
            "payments": {"name": "payments", "topics": ["payments"], **each},
        },
    }


def test_the_connector_that_replicates_heartbeats_comes_first(tmp_path: Path) -> None:
    """Only the first one does; another order would move the heartbeats to the other connector."""
    code, output, flow = imported(tmp_path, PAYMENTS, ORDERS, CHECKPOINT)
    assert (code, NONE in output) == (0, True)
    assert list(flow["connectors"]["sources"]) == ["orders", "payments"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("source.consumer.auto.offset.reset: latest", {"startFrom": "latest"}),
        ("offset.lag.max: 7", {"offsetSyncs": {"lagMax": 7}}),
        (
            "transforms: a\n    transforms.a.type: org.apache.kafka.connect.transforms.DropHeaders\n"
            "    transforms.a.headers: x",
            {
                "transforms": {
                    "before": {
                        "a": {"type": "org.apache.kafka.connect.transforms.DropHeaders", "config": {"headers": "x"}}
                    }
                }
            },
        ),
        ("producer.override.linger.ms: 5", {}),
    ],
    ids=["start", "offset syncs", "transforms", "client"],
)
@pytest.mark.parametrize("first", [True, False], ids=["of the first", "of the second"])
def test_a_setting_of_one_connector_stays_with_that_connector(
    tmp_path: Path, given: str, kept: dict[str, object], first: bool
) -> None:
    changed = edited(ORDERS if first else PAYMENTS, ("    topics:", f"    {given}\n    topics:"))
    code, output, flow = imported(tmp_path, *((changed, PAYMENTS) if first else (ORDERS, changed)), CHECKPOINT)
    assert (code, NONE in output) == (0, True)
    own = flow["connectors"]["sources"]["orders" if first else "payments"]  # type: ignore[index]
    assert {key: own[key] for key in kept} == kept


@pytest.mark.parametrize(
    ("before", "after", "differing"),
    [
        ("east:9092", "elsewhere:9092", "`clusters`"),
        (": east\n", ": north\n", "`clusters`, `source`"),
        ("    topics:", "    replication.policy.separator: _\n    topics:", "`separator`"),
        ("    topics:", "    refresh.topics.interval.seconds: 7\n    topics:", "`intervals`"),
    ],
    ids=["address", "source", "separator", "interval"],
)
def test_connectors_that_need_several_flows_are_refused(
    tmp_path: Path, before: str, after: str, differing: str
) -> None:
    code, output, flow = imported(tmp_path, ORDERS, edited(PAYMENTS, (before, after)), CHECKPOINT)
    assert f"several-flows-on-one-connect: {tmp_path}/read.yaml, KafkaConnect kafka/workers." in output
    assert f"Its source connectors differ in {differing}, which must be the same within one flow." in output
    assert (code, flow) == (1, {})


def test_connectors_that_replicate_the_same_topic_are_an_error(tmp_path: Path) -> None:
    code, output, _ = imported(tmp_path, ORDERS, edited(PAYMENTS, ("topics: payments", "topics: orders")), CHECKPOINT)
    assert code == 1
    assert "1 error" in output


def test_topics_that_the_checkpoint_connector_lacks_are_named(tmp_path: Path) -> None:
    narrow = edited(CHECKPOINT, ("topics: orders,payments", "topics: orders"))
    code, output, _ = imported(tmp_path, ORDERS, PAYMENTS, narrow)
    assert code == 1
    assert "topics-differ: " in output
    assert "differs connector checkpoint: topics: `orders` -> `orders,payments`" in output
