"""Settings of one source connector, part or mirror that replace those of the whole replication."""

from typing import Any

from kafka_replication.components.checks import check_topology
from kafka_replication.components.flows.resolved import ResolvedFlow, resolve_flows
from kafka_replication.components.render.config_layers import values
from kafka_replication.components.render.connector_config import connector_layers
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.components.render.kafka_connectors import connector_config
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_resolved_flow, a_topology

KAFKA = "org.apache.kafka.connect.transforms"
DROP = {"before": {"drop": {"type": f"{KAFKA}.DropHeaders", "config": {"headers": "trace"}}}}
RENAME = {"before": {"rename": {"type": f"{KAFKA}.ReplaceField$Value", "config": {"renames": "a:b"}}}}
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
STAMP = {
    "before": {"stamp": {"type": f"{KAFKA}.InsertHeader", "config": {"header": "stage", "value.literal": "prod"}}},
    "converters": {"header": {"type": SIMPLE}},
}
#: As in the operators' guide: one connector adds a header, the other does not.
SOURCES: dict[str, Any] = {
    "first": {"topics": ["test.*"]},
    "second": {
        "topics": ["prod.*"],
        "topicsExclude": ["prod-scratch"],
        "startFrom": "latest",
        "offsetSyncs": {"lagMax": 0},
        "transforms": STAMP,
    },
}
SPLIT = {"kind": "split", "source": "useast", "target": "uswest", "groups": ["g"], "transforms": DROP}
MIRROR = {"kind": "mirrorMaker2", "target": "uswest", "transforms": DROP}


def divided(**overrides: Any) -> ResolvedFlow:
    return a_resolved_flow(topics=[], connectors={"sources": SOURCES}, **overrides)


def flows(**replication: Any) -> tuple[ResolvedFlow, ...]:
    clusters = {"useast": a_cluster(), "eucentral": a_cluster("eu"), "uswest": a_cluster("us-west-2")}
    return resolve_flows(parse_topology(a_topology(replication, clusters=clusters)), None, {})


def chains(*resolved: ResolvedFlow) -> dict[str, object]:
    return {flow.name: values(connector_layers(flow, "source")).get("transforms") for flow in resolved}


def failing_places(replication: dict[str, Any]) -> set[tuple[str, str]]:
    problems = check_topology(parse_topology(a_topology(replication)))
    return {(problem.code, problem.where) for problem in problems if problem.code == "transform-fails"}


def test_a_source_connector_has_its_own_transforms_start_lag_and_exclusions() -> None:
    first, second = (values(connector_layers(divided(), "source", part)) for part in SOURCES)
    differing = {key: (first.get(key), value) for key, value in second.items() if first.get(key) != value}
    assert differing == {
        "topics": ("test.*", "prod.*"),
        "topics.exclude": (first["topics.exclude"], f"{first['topics.exclude']},prod-scratch"),
        "heartbeats.replication.enabled": (None, False),
        "source.consumer.auto.offset.reset": (None, "latest"),
        "offset.lag.max": (100, 0),
        "transforms": (None, "stamp"),
        "transforms.stamp.type": (None, f"{KAFKA}.InsertHeader"),
        "transforms.stamp.header": (None, "stage"),
        "transforms.stamp.value.literal": (None, "prod"),
        "header.converter": (first["header.converter"], SIMPLE),
    }


def test_a_connector_reads_its_own_exclusions_from_its_own_config_map() -> None:
    """The flow's ConfigMap holds what all connectors exclude, including the checkpoint connector."""
    excluded = {
        part: str(connector_config(divided(), "source", part)["topics.exclude"]).partition("-topics-")[1]
        for part in SOURCES
    }
    assert excluded == {"first": "", "second": "-topics-"}
    assert (
        connector_config(divided(), "checkpoint")["topics.exclude"]
        == (connector_config(divided(), "source", "first")["topics.exclude"])
    )


def test_the_job_gets_parameters_that_cover_every_source_connector() -> None:
    parameters = flow_parameters(divided())
    assert (parameters.start_from, parameters.offset_syncs.lag_max, parameters.transformed) == ("latest", 100, True)
    assert [part.topics_exclude for part in parameters.parts] == [(), ("prod-scratch",)]
    assert parameters.replicated(["test-1", "prod-1", "prod-scratch"]) == ["prod-1", "test-1"]


def test_a_part_of_a_split_has_its_own_transforms_or_those_of_the_split() -> None:
    parts = {"stamped": {"topics": ["a"], "transforms": STAMP}, "other": {"topics": ["b"]}}
    assert chains(*flows(**SPLIT, parts=parts)) == {"orders-stamped": "stamp", "orders-other": "drop"}


def test_a_mirror_has_its_own_transforms_or_those_of_the_mirror_maker() -> None:
    selected = {"topics": ["a"], "groups": ["g"]}
    sources = {"useast": selected, "eucentral": {**selected, "transforms": STAMP}}
    resolved = flows(**MIRROR, sources=sources)
    assert chains(*resolved) == {"orders-from-useast": "drop", "orders-from-eucentral": "stamp"}
    objects = [planned for deployment in deployments(resolved) for planned in deployment.objects]
    (resource,) = [planned.manifest for planned in objects if planned.kind == "KafkaMirrorMaker2"]
    rendered = {
        mirror["source"]["alias"]: mirror["sourceConnector"]["config"] for mirror in resource["spec"]["mirrors"]
    }
    assert rendered["useast"]["transforms.drop.headers"] == "trace"
    assert rendered["eucentral"]["header.converter"] == SIMPLE


def test_both_flows_of_a_pair_run_the_users_transforms_before_the_guard() -> None:
    pair = flows(kind="prefixlessPair", between=["useast", "uswest"], topics=["ledger"], transforms=DROP)
    assert set(chains(*pair).values()) == {"drop,DropReplicated,MarkReplicated"}


def test_a_failing_transform_is_reported_at_its_place_in_the_topology() -> None:
    own = {"first": {"topics": ["a"]}, "second": {"topics": ["b"], "transforms": RENAME}}
    place = "transforms.before.rename"
    assert failing_places(a_flow(topics=[], connectors={"sources": own})) == {
        ("transform-fails", f"replications.orders.connectors.sources.second.{place}")
    }
    both = {"first": {"topics": ["a"]}, "second": {"topics": ["b"]}}
    assert failing_places(a_flow(topics=[], connectors={"sources": both}, transforms=RENAME)) == {
        ("transform-fails", f"replications.orders.{place}")
    }
    parts = {"one": {"topics": ["a"], "transforms": RENAME}, "two": {"topics": ["b"]}}
    assert failing_places({**SPLIT, "parts": parts}) == {("transform-fails", f"replications.orders.parts.one.{place}")}
    split = {**SPLIT, "transforms": RENAME, "parts": {"one": {"topics": ["a"]}}}
    assert failing_places(split) == {("transform-fails", f"replications.orders.{place}")}


def test_one_connector_may_replicate_what_another_excludes() -> None:
    sources = {"most": {"topics": ["a-.*"], "topicsExclude": ["a-big"]}, "big": {"topics": ["a-big"]}}
    problems = check_topology(parse_topology(a_topology(a_flow(topics=[], connectors={"sources": sources}))))
    assert [problem for problem in problems if "overlap" in problem.code or "exclude" in problem.code] == []


def test_only_the_flow_decides_whether_offset_syncs_are_written() -> None:
    flow = divided(offsetSyncs={"enabled": False})
    (model,) = [layer for layer in connector_layers(flow, "source", "second") if layer.name == "model"]
    assert model.properties["emit.offset-syncs.enabled"].why == "replications.orders.offsetSyncs.enabled"
    assert "offset.lag.max" not in model.properties
