"""The mistakes that the review of a folder reports to users who have neither a topology nor a validation."""

import pytest

from kafka_replication.infra.review.yaml.report import comment_of
from tests.infra.onboard.importing.resources import FLOW, MIRROR, OLD_MIRROR, edited
from tests.infra.review.yaml.folders import changed, codes, reviewed

CONVERTER = "    value.converter: org.apache.kafka.connect.converters.ByteArrayConverter\n"


def test_a_resource_that_the_operator_refuses_fails_the_review() -> None:
    """The cluster is renamed but the mirror still uses the old alias, so nothing of the resource reaches Connect."""
    before = {"old.yaml": OLD_MIRROR}
    found = changed(("{alias: east", "{alias: east1"), before=before)
    (mistake,) = found.mistakes
    assert found.has_errors
    assert (mistake.problem.code, mistake.problem.where) == ("unknown-alias", "spec.clusters")
    assert "No cluster has the alias `east`. The operator refuses the whole resource." in str(mistake.problem)
    assert mistake.objects == ("KafkaMirrorMaker2 kafka/mm2 in old.yaml",)
    assert codes(found) == set()


def test_a_resource_that_was_already_refused_does_not_fail_the_review() -> None:
    refused = OLD_MIRROR.replace("{alias: east", "{alias: east1")
    found = reviewed({"old.yaml": refused}, {"old.yaml": refused.replace("tasksMax: 2", "tasksMax: 3")})
    assert [mistake.is_new for mistake in found.mistakes] == [False]
    assert not found.has_errors


def test_problems_that_only_concern_a_validation_are_not_reported() -> None:
    tls = "tls: {trustedCertificates: [{secretName: ca, pattern: '*.crt'}]}"
    found = changed(("'east:9092'}", f"'east:9092', {tls}}}"), before={"mm2.yaml": MIRROR})
    assert found.mistakes == ()


def test_the_remedy_for_a_converter_is_a_property_of_the_connector() -> None:
    """The converter is Connect's default, so there is no key of a topology to remove."""
    found = reviewed({"flow.yaml": FLOW}, {"flow.yaml": edited(FLOW, (CONVERTER, ""))})
    (mistake,) = [each for each in found.mistakes if each.problem.code == "bytes-become-text"]
    assert "`value.converter: org.apache.kafka.connect.converters.ByteArrayConverter`" in mistake.problem.remedy
    assert "transforms.converters" not in mistake.problem.remedy


def test_the_reason_why_two_resources_are_not_checked_together_is_reported() -> None:
    other = edited(MIRROR, ("name: mm2,", "name: other,"), ("'east:9092'", "'east:9093'"))
    comment = comment_of(reviewed({"a.yaml": MIRROR}, {"a.yaml": MIRROR, "b.yaml": other.replace("mm2", "o")}))
    assert "double replication: `mm2`; `other`; alias `east` is `east:9092` in one of them and `east:9093`" in comment


SOURCES_TOPICS = "    topics: orders,payments\n"
CHECKPOINTS_TOPICS = "    topics: orders,payments # of the checkpoint connector\n"
IDENTITY = "    replication.policy.class: org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"


@pytest.mark.parametrize(
    ("topics", "says"),
    [
        pytest.param(SOURCES_TOPICS, "It is not set, so this connector has Kafka's default", id="only-the-source"),
        pytest.param(
            CHECKPOINTS_TOPICS,
            "but the source connector has `org.apache.kafka.connect.mirror.DefaultReplicationPolicy`",
            id="only-the-checkpoint",
        ),
    ],
)
def test_a_policy_that_only_one_connector_of_a_flow_has_fails_the_review(topics: str, says: str) -> None:
    """`check` refuses it as `must-agree`: no offset would be translated, and no connector would report an error."""
    found = reviewed({"flow.yaml": FLOW}, {"flow.yaml": edited(FLOW, (topics, f"{topics}{IDENTITY}"))})
    (mistake,) = found.mistakes
    assert found.has_errors
    assert mistake.is_new
    assert mistake.objects == ("KafkaConnector kafka/checkpoint in flow.yaml",)
    assert "connectors-disagree: KafkaConnector kafka/checkpoint disagrees with its source connector" in str(
        mistake.problem
    )
    assert says in mistake.problem.why
    assert "committed offsets are not translated" in mistake.problem.why
    assert "connectors-disagree" not in {each.code for each in found.checked.left_out}
    assert "Not covered" not in comment_of(found)


def test_a_connector_that_disagrees_beside_one_that_always_did_fails_the_review() -> None:
    """Both have the mistake in the same field, so only the object distinguishes them."""
    wrong = edited(FLOW, (CHECKPOINTS_TOPICS, f"{CHECKPOINTS_TOPICS}{IDENTITY}"))
    other = FLOW.replace("west", "north").replace("namespace: kafka", "namespace: other")
    found = reviewed(
        {"a.yaml": wrong, "b.yaml": other},
        {"a.yaml": wrong, "b.yaml": edited(other, (CHECKPOINTS_TOPICS, f"{CHECKPOINTS_TOPICS}{IDENTITY}"))},
    )
    assert [
        (mistake.objects, mistake.is_new) for mistake in found.mistakes if mistake.problem.code == "connectors-disagree"
    ] == [
        (("KafkaConnector kafka/checkpoint in a.yaml",), False),
        (("KafkaConnector other/checkpoint in b.yaml",), True),
    ]
    assert found.has_errors


def test_a_policy_of_the_heartbeat_connector_alone_does_not_fail_the_review() -> None:
    """Offsets are translated all the same, because the heartbeat connector writes to one topic under any policy."""
    checkpoint = FLOW[FLOW.rindex("---") :].replace(CHECKPOINTS_TOPICS, "").replace("    groups: shop\n", "")
    heartbeat = checkpoint.replace("MirrorCheckpoint", "MirrorHeartbeat").replace("name: checkpoint", "name: heartbeat")
    found = reviewed({"flow.yaml": FLOW}, {"flow.yaml": f"{FLOW}{heartbeat}{IDENTITY}"})
    assert not found.has_errors
    assert [each.code for each in found.checked.left_out if not each.harmless] == ["connectors-differ"]


LOCATION = "    offset-syncs.topic.location: "


@pytest.mark.parametrize(
    ("of_source", "of_checkpoint"),
    [
        pytest.param(f"{LOCATION}target\n", f"{LOCATION}' target '\n", id="spaces that Kafka removes"),
        pytest.param(IDENTITY, "    emit.checkpoints.enabled: 'false'\n", id="no checkpoints are written"),
        pytest.param("    replication.policy.class: ${env:POLICY}\n", IDENTITY, id="a value that nobody knows"),
    ],
)
def test_a_difference_that_need_not_stop_translation_does_not_fail_the_review(
    of_source: str, of_checkpoint: str
) -> None:
    edits = (
        (SOURCES_TOPICS, f"{SOURCES_TOPICS}{of_source}"),
        (CHECKPOINTS_TOPICS, f"{CHECKPOINTS_TOPICS}{of_checkpoint}"),
    )
    found = reviewed({"flow.yaml": FLOW}, {"flow.yaml": edited(FLOW, *edits)})
    assert "connectors-disagree" not in {mistake.problem.code for mistake in found.mistakes}
    assert not found.has_errors


def test_a_default_that_one_connector_writes_out_is_no_difference() -> None:
    written = f"{CHECKPOINTS_TOPICS}    topic.filter.class: org.apache.kafka.connect.mirror.DefaultTopicFilter\n"
    found = reviewed({"flow.yaml": FLOW}, {"flow.yaml": edited(FLOW, (CHECKPOINTS_TOPICS, written))})
    assert "connectors-differ" not in {each.code for each in found.checked.left_out}


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_checkpoint_connector_with_another_alias_fails_the_review(side: str) -> None:
    """It reads offset syncs, and names remote topics, after clusters that the source connector does not know."""
    source, checkpoint = FLOW.split("name: checkpoint,")
    alias = {"source": "east", "target": "west"}[side]
    other = edited(checkpoint, (f"{side}.cluster.alias: {alias}", f"{side}.cluster.alias: north"))
    found = reviewed({"flow.yaml": FLOW}, {"flow.yaml": f"{source}name: checkpoint,{other}"})
    (mistake,) = [each for each in found.mistakes if each.problem.code == "connectors-disagree"]
    assert found.has_errors
    assert mistake.problem.where == f"spec.config.{side}.cluster.alias"
    assert f"It is `north`, but the source connector has `{alias}`" in mistake.problem.why
