"""The job on real streams and share groups, which MirrorMaker does not translate."""

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.local.endpoints import Endpoints
from tests.other_groups import make_share_group, make_streams_group
from tests.spark.outcomes import Check, named
from tests.spark.scenes import Scene


def test_selected_groups_that_are_no_consumer_groups_are_named_with_their_type(
    check: Check, endpoints: Endpoints
) -> None:
    """They passed with the words "no consumer group matches yet"."""
    scene = Scene(endpoints, "typed").replicate()
    make_streams_group(scene.source, "typed-app", "typed")
    scene.commit("typed-app", 45)
    make_share_group(scene.source, "typed-share", "typed")
    reader = KafkaReader("useast", scene.source.client_config("admin"))
    try:
        others = [group for group in reader.other_groups() if group.startswith("typed-")]
        assert others == ["typed-app", "typed-share"]
        assert not {*others} & {*reader.groups()}
    finally:
        reader.close()
    outcome = named(check(scene.parameters()), "offsets-translate")
    assert (outcome.verdict, [each.code for each in outcome.findings]) == (
        Verdict.ERROR,
        ["streams-group", "share-group-selected"],
    )
    assert outcome.findings[0].message.startswith("typed-app is a streams group (`group.protocol=streams`)")
    # The same words beside a group that is translated.
    scene.translate("typed-group", 45, 41)
    outcome = named(check(scene.parameters(groupsExclude=["typed-share"])), "offsets-translate")
    assert (outcome.verdict, [each.code for each in outcome.findings]) == (Verdict.ERROR, ["streams-group"])
    assert (outcome.counts["proven"], outcome.coverage and outcome.coverage.not_judged) == (1, {"streams-group": 1})
