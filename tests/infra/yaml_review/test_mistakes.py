"""The mistakes that the review of a folder reports to users who have neither a topology nor a validation."""

import pytest

from infra.yaml_review.report import comment_of
from tests.infra.importing.resources import FLOW, MIRROR, OLD_MIRROR, edited
from tests.infra.yaml_review.folders import changed, codes, reviewed

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
    assert [each.is_new for each in found.mistakes] == [False]
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


POLICY = "replication.policy.class: org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        pytest.param(
            ("    topics: orders,payments\n", f"    topics: orders,payments\n    {POLICY}\n"),
            "It is not set, so this connector has Kafka's default "
            "`org.apache.kafka.connect.mirror.DefaultReplicationPolicy`, but the source connector has "
            "`org.apache.kafka.connect.mirror.IdentityReplicationPolicy`: committed offsets are not translated to the "
            "records that are copied.",
            id="only the source connector has it",
        ),
        pytest.param(
            ("    groups: shop\n", f"    groups: shop\n    {POLICY}\n"),
            "It is `org.apache.kafka.connect.mirror.IdentityReplicationPolicy`, but the source connector has the "
            "default. So committed offsets are not translated to the records that are copied.",
            id="only the checkpoint connector has it",
        ),
    ],
)
def test_connectors_with_different_policies_fail_the_review(edit: tuple[str, str], why: str) -> None:
    found = reviewed({"flow.yaml": FLOW}, {"flow.yaml": edited(FLOW, edit)})
    (mistake,) = [each for each in found.mistakes if each.problem.code == "connectors-disagree"]
    assert found.has_errors
    assert (mistake.problem.where, mistake.problem.why) == ("spec.config.replication.policy.class", why)
    assert mistake.objects == ("KafkaConnector kafka/checkpoint in flow.yaml",)
    assert not [each for each in found.left_out if each.code == "connectors-disagree"], "it is said once"


def test_connectors_that_disagreed_before_do_not_fail_the_review() -> None:
    wrong = edited(FLOW, ("    groups: shop\n", f"    groups: shop\n    {POLICY}\n"))
    found = reviewed({"flow.yaml": wrong}, {"flow.yaml": edited(wrong, ("tasksMax: 2", "tasksMax: 3"))})
    assert [each.is_new for each in found.mistakes if each.problem.code == "connectors-disagree"] == [False]
    assert not found.has_errors


def test_the_reason_why_two_resources_are_not_checked_together_is_reported() -> None:
    other = edited(MIRROR, ("name: mm2,", "name: other,"), ("'east:9092'", "'east:9093'"))
    comment = comment_of(reviewed({"a.yaml": MIRROR}, {"a.yaml": MIRROR, "b.yaml": other.replace("mm2", "o")}))
    assert "double replication: `mm2`; `other`; alias `east` is `east:9092` in one of them and `east:9093`" in comment
