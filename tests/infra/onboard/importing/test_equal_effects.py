"""Differences in form that an import must not report as changes, and what it prints and writes for such resources."""

import re
from pathlib import Path

import pytest

from tests.infra.onboard.importing.resources import FLOW, MIRROR, NONE, OLD_MIRROR, edited, run, twice

ALIKE = {
    "the same resource twice": twice(MIRROR),
    "transforms with blanks between them": edited(
        FLOW,
        (
            "topics: orders,payments\n",
            "topics: orders,payments\n    transforms: a, b\n"
            "    transforms.a.type: org.apache.kafka.connect.transforms.DropHeaders\n    transforms.a.headers: x\n"
            "    transforms.b.type: org.apache.kafka.connect.transforms.DropHeaders\n    transforms.b.headers: y\n",
        ),
    ),
    "topics in another order": edited(FLOW, ("orders,payments # of", "payments,orders # of")),
    "headers of checkpoints, which have none": edited(
        FLOW,
        ("    header.converter: org.apache.kafka.connect.converters.ByteArrayConverter\n", ""),
        (
            "topics: orders,payments\n",
            "topics: orders,payments\n    header.converter: org.apache.kafka.connect.converters.ByteArrayConverter\n",
        ),
    ),
    "the start that is the default": edited(
        FLOW,
        ("topics: orders,payments\n", "topics: orders,payments\n    source.consumer.auto.offset.reset: earliest\n"),
    ),
    "two names of one property": edited(
        FLOW,
        (
            "topics: orders,payments\n",
            "topics: orders,payments\n    consumer.auto.offset.reset: latest\n"
            "    source.consumer.auto.offset.reset: earliest\n",
        ),
    ),
    "Kafka 4.1, whose definitions are those of 3.9": edited(MIRROR, ("version: 4.2.0", "version: 4.1.0")),
    "exactly-once in capital letters": edited(
        FLOW,
        ("  config:\n    key.conv", "  config:\n    exactly.once.source.support: ENABLED\n    key.conv"),
        (
            "topics: orders,payments\n",
            "topics: orders,payments\n    exactly.once.support: required\n"
            "    consumer.isolation.level: read_committed\n",
        ),
    ),
    "Kafka 4.0, too": edited(MIRROR, ("version: 4.2.0", "version: 4.0.1")),
}


@pytest.mark.parametrize("text", ALIKE.values(), ids=ALIKE.keys())
def test_a_resource_that_differs_only_in_form_is_not_reported_as_changed(tmp_path: Path, text: str) -> None:
    code, output, _ = run(tmp_path, text)
    assert "differs connector" not in output
    assert (code, NONE in output) == (0, True)


def test_labels_of_one_tool_are_reported_on_one_line(tmp_path: Path) -> None:
    labels = "labels: {app.kubernetes.io/instance: a, helm.sh/chart: b}"
    code, output, _ = run(tmp_path, edited(MIRROR, ("namespace: kafka", f"namespace: kafka, {labels}")))
    assert "metadata.labels.app.kubernetes.io/instance, metadata.labels.helm.sh/chart. It comes from the tool" in output
    assert (code, output.count("label-of-a-tool")) == (0, 1)


def test_the_next_steps_are_commands_that_work(tmp_path: Path) -> None:
    """A project with a mistake cannot be rendered."""
    assert (
        "replicate validate prod --declared replicate adopt prod replicate render prod --out rendered/prod "
        "replicate runbook prod" in run(tmp_path, MIRROR)[1]
    )
    wrong = run(tmp_path / "wrong", edited(MIRROR, ("orders", "'['")))[1]
    assert wrong.endswith("replicate check")


def test_topics_blacklist_is_read_as_topics_exclude_until_kafka_4(tmp_path: Path) -> None:
    excluded = ".*[\\-\\.]internal,.*\\.replica,__.*,secret"
    mirror = edited(
        OLD_MIRROR, ("{tasksMax: 2}", f"{{tasksMax: 2, config: {{topics.blacklist: '{excluded}'}}}}")
    ).replace("checkpointConnector: {}", f"checkpointConnector: {{config: {{topics.blacklist: '{excluded}'}}}}")
    code, output, topology = run(tmp_path, mirror)
    assert (code, NONE in output) == (0, True)
    assert "topicsExclude:\n    - secret\n" in topology


def test_the_newer_of_two_exclusions_wins(tmp_path: Path) -> None:
    both = "topicsPattern: orders\n      topicsExcludePattern: new\n      topicsBlacklistPattern: old"
    topology = run(tmp_path, edited(OLD_MIRROR, ("topicsPattern: orders", both)))[2]
    assert "topicsExclude:\n    - new\n" in topology
    assert "old" not in topology


def test_an_empty_auto_restart_field_enables_automatic_restarts(tmp_path: Path) -> None:
    topology = run(tmp_path, edited(FLOW, ("tasksMax: 2", "tasksMax: 2\n  autoRestart: {}")))[2]
    assert "autoRestart" not in topology.partition("  source:\n        name")[2].partition("checkpoint:")[0]


def test_a_password_in_an_address_is_not_written(tmp_path: Path) -> None:
    transform = (
        "transforms: a\n    transforms.a.type: com.acme.A\n    transforms.a.registry.url: https://me:hunter2@registry"
    )
    code, output, topology = run(
        tmp_path, edited(FLOW, ("topics: orders,payments\n", f"topics: orders,payments\n    {transform}\n"))
    )
    assert "plain-text-credential" in output
    assert "hunter2" not in output + topology
    assert code == 1


def test_aliases_that_look_alike_get_different_keys(tmp_path: Path) -> None:
    """Two clusters must not read the same address from the configuration of a stack."""
    flows = [FLOW.replace("east:9092", "${env:ONE}").replace(": east", ": us-east")]
    flows += [FLOW.replace("east:9092", "${env:TWO}").replace(": east", ": us_east")]
    flows[1] = re.sub(r"namespace: kafka", "namespace: other", flows[1])
    output = run(tmp_path, "---".join(flows))[1]
    set_keys = re.findall(r"--stack (\S+) replication:(\S+) VALUE # the bootstrap servers of cluster `(\S+)`", output)
    assert len({(stack, key) for stack, key, _ in set_keys}) == 2
    assert [alias for *_, alias in set_keys] == ["us-east", "us_east"]


def test_a_replaced_connector_is_reported_as_removed_and_added(tmp_path: Path) -> None:
    mirror = edited(OLD_MIRROR, ("checkpointConnector: {}", "checkpointConnector: {}\n      heartbeatConnector: {}"))
    _, output, _ = run(tmp_path, mirror, "--strimzi", "1.2")
    assert "differs connector east->west.MirrorHeartbeatConnector is removed" in output
    assert "differs connector mm2-heartbeat is added" in output
    assert "not set -> not set" not in output


def test_a_placeholder_that_looks_like_an_emoji_code_is_printed_unchanged(tmp_path: Path) -> None:
    """`:key:` must not become an emoji of a key."""
    properties = "topics: orders,payments\n    producer.override.linger.ms: ${vault:a:key:b}\n"
    assert "${vault:a:key:b}" in run(tmp_path, edited(FLOW, ("topics: orders,payments\n", properties)))[1]


@pytest.mark.parametrize(
    ("option", "value"), [("--environment", "../x"), ("--environment", ""), ("--namespace", "A B"), ("--region", " ")]
)
def test_an_environment_namespace_or_region_that_is_not_a_valid_name_is_refused(
    tmp_path: Path, option: str, value: str
) -> None:
    code, output, _ = run(tmp_path, MIRROR, option, value)
    assert code != 0
    assert "bad-name" in output
    assert not (tmp_path / "out").exists()
