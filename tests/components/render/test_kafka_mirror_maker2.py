"""KafkaMirrorMaker2: its objects in both API versions."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.flows.resolved import ResolvedFlow, resolve_flows
from kafka_replication.components.render.deployments import Deployment, deployments, flow_outputs
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.components.render.planned_objects import PlannedObject
from kafka_replication.components.resources.registration import enables
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_topology

CONFIG_SECRET = {"config": "password"}


def a_mirror(**overrides: Any) -> dict[str, Any]:
    given = {"kind": "mirrorMaker2", "source": "useast", "target": "uswest", "topics": ["orders"], "groups": ["web"]}
    return {key: value for key, value in {**given, **overrides}.items() if value is not None}


def three_clusters(**login: Any) -> dict[str, Any]:
    user = {"type": "plain", "username": "mirror", "password": CONFIG_SECRET}
    return {
        alias: a_cluster(region, bootstrapServers=f"kafka.{alias}:9093", authentication={**user, **login})
        for alias, region in (("useast", "us-east-1"), ("uswest", "us-west-2"), ("eu", "eu-west-1"))
    }


def two_sources(**overrides: Any) -> dict[str, Any]:
    sources = {
        "useast": {"topics": ["orders"], "groups": ["web"]},
        "eu": {"topics": ["ledger"], "groups": ["audit"], "topicsExclude": ["ledger-test"]},
    }
    return a_mirror(source=None, topics=None, groups=None, sources=sources, **overrides)


def resolved(mirror: dict[str, Any], strimzi: str = "1.2", clusters: Any = None) -> tuple[ResolvedFlow, ...]:
    topology = parse_topology(a_topology(mirror, clusters=clusters or three_clusters(), strimzi=strimzi))
    assert list(check_topology(topology)) == []
    return resolve_flows(topology, None, {})


def the_deployments(mirror: dict[str, Any], strimzi: str = "1.2", clusters: Any = None) -> tuple[Deployment, ...]:
    return deployments(resolved(mirror, strimzi, clusters))


def the_objects(mirror: dict[str, Any], strimzi: str = "1.2", clusters: Any = None) -> dict[str, PlannedObject]:
    """The objects of a replication with one deployment, by key."""
    (deployment,) = the_deployments(mirror, strimzi, clusters)
    planned = deployment.objects
    rendered = {planned_object.key: planned_object for planned_object in planned}
    assert len(rendered) == len(planned), "two objects of one role and part would have one Pulumi name"
    return rendered


def the_spec(mirror: dict[str, Any], strimzi: str = "1.2") -> dict[str, Any]:
    spec: dict[str, Any] = the_objects(mirror, strimzi)["mirror-maker2"].manifest["spec"]
    return spec


SHARED = ["namespace", "source-credentials-eu", "source-credentials-useast", "target-credentials", "mirror-maker2"]


def test_sources_share_their_workers_and_the_secret_of_their_target() -> None:
    rendered = the_objects(two_sources(), "0.45")
    assert sorted(rendered) == sorted(SHARED)
    secrets = [rendered[key].name for key in SHARED[1:4]]
    assert secrets == [
        "orders-from-eu-source-credentials",
        "orders-from-useast-source-credentials",
        "orders-target-credentials",
    ]
    spec = rendered["mirror-maker2"].manifest["spec"]
    used = {cluster["alias"]: cluster["authentication"]["passwordSecret"]["secretName"] for cluster in spec["clusters"]}
    assert used == {"eu": secrets[0], "useast": secrets[1], "uswest": secrets[2]}


#: What Kafka 4.3 excludes, and the storage of our workers.
EXCLUDED = r"mm2.*\.internal,.*\.replica,__.*,mirror-.*-(configs|offsets|status)-internal"


def test_each_source_is_replicated_as_declared() -> None:
    mirrors = {mirror["source"]["alias"]: mirror for mirror in the_spec(two_sources())["mirrors"]}
    assert {alias: mirror["topicsPattern"] for alias, mirror in mirrors.items()} == {"useast": "orders", "eu": "ledger"}
    assert {alias: mirror["groupsPattern"] for alias, mirror in mirrors.items()} == {"useast": "web", "eu": "audit"}
    assert mirrors["eu"]["topicsExcludePattern"] == f"{EXCLUDED},ledger-test"
    assert mirrors["useast"]["topicsExcludePattern"] == EXCLUDED


@pytest.mark.parametrize("strimzi", ["1.2", "0.45"])
def test_a_kafkamirrormaker2_has_its_own_worker_group_and_storage_topics(strimzi: str) -> None:
    spec = the_spec(a_mirror(), strimzi)
    if strimzi == "1.2":
        target = spec["target"]
        names = [target[f"{kind}StorageTopic"] for kind in ("config", "offset", "status")] + [target["groupId"]]
    else:
        config = spec["clusters"][-1]["config"]
        names = [config[f"{kind}.storage.topic"] for kind in ("config", "offset", "status")] + [config["group.id"]]
    topics = [f"mirror-orders-{kind}-internal" for kind in ("configs", "offsets", "status")]
    assert names == [*topics, "mirror-orders"]


def test_connectors_of_older_operators_may_read_both_files_of_their_workers() -> None:
    """Such an operator configures its own provider only if no other one is configured."""
    config = the_spec(a_mirror(), "0.45")["clusters"][-1]["config"]
    assert config["config.providers"] == "cfmap,secret,file"
    assert config["config.providers.file.class"] == "org.apache.kafka.common.config.provider.FileConfigProvider"
    assert config["config.providers.file.param.allowed.paths"].split(",") == [
        "/tmp/strimzi-connect.properties",
        "/tmp/strimzi-mirrormaker2-connector.properties",
    ]
    assert the_spec(a_mirror())["target"]["config"]["config.providers"] == "cfmap,secret"


def test_active_active_is_one_resource_next_to_each_target() -> None:
    both = the_deployments(a_mirror(source=None, target=None, between=["useast", "uswest"]))
    specs = [
        planned_object.manifest["spec"]
        for one in both
        for planned_object in one.objects
        if planned_object.manifest["kind"] == "KafkaMirrorMaker2"
    ]
    ends = {(spec["mirrors"][0]["source"]["alias"], spec["target"]["alias"]) for spec in specs}
    assert ends == {("useast", "uswest"), ("uswest", "useast")}
    assert len({spec["target"]["groupId"] for spec in specs}) == 2


def test_in_v1_heartbeats_have_their_own_workers() -> None:
    rendered = the_objects(two_sources())
    beside = {
        key: planned_object.name
        for key, planned_object in rendered.items()
        if key not in SHARED and "config-" not in key
    }
    assert beside == {
        "access-role-heartbeats": "orders-heartbeats-connector-configuration",
        "access-binding-heartbeats": "orders-heartbeats-connector-configuration",
        "connect": "orders-heartbeats",
        "heartbeat-connector-eu": "orders-from-eu-heartbeat",
        "heartbeat-connector-useast": "orders-from-useast-heartbeat",
    }
    connect = rendered["connect"].manifest
    assert connect["spec"]["replicas"] == 1
    assert connect["spec"]["groupId"] == "mirror-orders-heartbeats"
    assert connect["metadata"]["namespace"] == rendered["mirror-maker2"].manifest["metadata"]["namespace"]
    assert (
        rendered["heartbeat-connector-eu"].manifest["metadata"]["labels"]["strimzi.io/cluster"] == "orders-heartbeats"
    )


def test_heartbeat_workers_may_read_only_what_their_connectors_name() -> None:
    rendered = the_objects(two_sources())
    rules = {
        rule["resources"][0]: rule["resourceNames"] for rule in rendered["access-role-heartbeats"].manifest["rules"]
    }
    maps = [planned_object.name for planned_object in rendered.values() if planned_object.kind == "ConfigMap"]
    assert sorted(rules["configmaps"]) == sorted(maps)
    secrets = [planned_object.name for planned_object in rendered.values() if planned_object.kind == "Secret"]
    assert sorted(rules["secrets"]) == sorted([*secrets, "ca"])
    (subject,) = rendered["access-binding-heartbeats"].manifest["subjects"]
    assert subject["name"] == "orders-heartbeats-connect"


def test_in_v1beta2_the_resource_runs_the_heartbeat_connector() -> None:
    (mirror,) = the_spec(a_mirror(), "0.45")["mirrors"]
    assert mirror["heartbeatConnector"]["config"]["emit.heartbeats.interval.seconds"] == 1


def test_disabled_connectors_are_left_out() -> None:
    off = {"heartbeat": {"enabled": False}, "checkpoint": {"enabled": False}}
    rendered = the_objects(a_mirror(connectors=off, groups=None))
    assert "connect" not in rendered
    (mirror,) = rendered["mirror-maker2"].manifest["spec"]["mirrors"]
    assert not {"checkpointConnector", "groupsPattern", "groupsExcludePattern"} & mirror.keys()


def test_connectors_have_their_tasks_state_and_restarts() -> None:
    given = {"tasksMax": 7, "state": "paused", "autoRestart": {"maxRestarts": 4}}
    (mirror,) = the_spec(a_mirror(connectors={"source": given}))["mirrors"]
    connector = {key: value for key, value in mirror["sourceConnector"].items() if key != "config"}
    assert connector == {"tasksMax": 7, "state": "paused", "autoRestart": {"enabled": True, "maxRestarts": 4}}


def test_the_workers_account_may_read_the_secrets_that_logins_name_by_placeholder() -> None:
    oauth = {"type": "oauth", "clientId": "mirror", "tokenEndpointUri": "https://sso.example.com/token"}
    login = {**oauth, "clientSecret": {"secret": "sso", "key": "secret"}}
    clusters = {
        alias: {**cluster, "authentication": login, "validation": {"authentication": cluster["authentication"]}}
        for alias, cluster in three_clusters().items()
    }
    off = {"heartbeat": {"enabled": False}}
    rendered = the_objects(a_mirror(connectors=off), clusters=clusters)
    assert rendered["access-role"].manifest["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["sso"], "verbs": ["get"]}
    ]
    (subject,) = rendered["access-binding"].manifest["subjects"]
    assert subject["name"] == "orders-mirrormaker2"


@pytest.mark.parametrize(
    ("strimzi", "heartbeat"),
    [
        pytest.param("1.2", "orders-heartbeat", id="beside the resource"),
        pytest.param("0.45", "useast->uswest.MirrorHeartbeatConnector", id="within it"),
    ],
)
def test_outputs_name_connectors_as_connect_does(strimzi: str, heartbeat: str) -> None:
    (flow,) = resolved(a_mirror(), strimzi)
    within = ["useast->uswest.MirrorSourceConnector", "useast->uswest.MirrorCheckpointConnector"]
    assert flow_outputs(flow)["connectors"] == [*within, heartbeat]


@pytest.mark.parametrize(
    ("strimzi", "produced_to", "topic"),
    [("1.2", "source", "useast.heartbeats"), ("0.45", "target", "heartbeats")],
)
def test_validation_looks_for_heartbeats_where_the_api_version_produces_them(
    strimzi: str, produced_to: str, topic: str
) -> None:
    (flow,) = resolved(a_mirror(), strimzi)
    heartbeats = flow_parameters(flow).document()["heartbeats"]
    assert (heartbeats["producedTo"], heartbeats["targetTopic"]) == (produced_to, topic)


def test_the_job_reads_the_shared_secret_of_the_target() -> None:
    rendered = the_objects(two_sources())
    references = [
        flow_parameters(flow).document()["target"]["authentication"]["password"] for flow in resolved(two_sources())
    ]
    assert {reference["secret"]["name"] for reference in references} == {rendered["target-credentials"].name}


@pytest.mark.parametrize("strimzi", ["1.2", "0.45"])
def test_exactly_once_applies_to_the_mirrors_workers_and_not_to_heartbeats(strimzi: str) -> None:
    """Heartbeats need no transactions, so their workers never need the step that introduces them."""
    rendered = the_objects(a_mirror(exactlyOnce="enabled"), strimzi)
    assert [key for key, planned in rendered.items() if enables(planned)] == ["mirror-maker2"]


def problems_of(mirror: dict[str, Any], strimzi: str = "1.2", beside: Any = None) -> list[tuple[str, str]]:
    raw = a_topology(mirror, clusters=three_clusters(), strimzi=strimzi)
    raw["replications"] |= beside or {}
    return sorted((problem.code, problem.where) for problem in set(check_topology(parse_topology(raw))))


def test_a_mistake_in_the_resource_is_reported_once_for_all_its_mirrors() -> None:
    connect = {"config": {"offset.lag.max": 3}, "resources": {"limits": {"memory": "2Gi"}}}
    problems = problems_of(two_sources(connect=connect, quota={"hard": {"limits.memory": "7Gi"}}), "0.45")
    assert [where for _, where in problems] == ["replications.orders.connect.config.offset.lag.max"]


def test_the_heartbeat_worker_counts_against_the_quota() -> None:
    sized = two_sources(quota={"hard": {"pods": 3}})
    assert problems_of(sized) == [("quota-exceeded", "replications.orders.quota.hard")]
    assert problems_of(sized, "0.45") == []


def test_another_flow_may_not_use_the_name_of_the_heartbeat_workers() -> None:
    other = {"kind": "flow", "source": "eu", "target": "uswest", "topics": ["other"], "groups": ["other"]}
    assert problems_of(a_mirror(), beside={"orders-heartbeats": other}) == [
        ("worker-group-shared", "replications.orders-heartbeats")
    ]


def test_a_name_that_is_too_long_for_the_heartbeat_workers_is_reported() -> None:
    raw = a_topology(a_mirror(), name="o" * 41, clusters=three_clusters())
    (problem,) = set(check_topology(parse_topology(raw)))
    assert (problem.code, "by at least 1." in problem.remedy) == ("name-too-long", True)


def test_active_active_with_the_identity_policy_is_reported_as_a_loop() -> None:
    both = a_mirror(source=None, target=None, between=["useast", "uswest"], policy="identity")
    (problem,) = check_topology(parse_topology(a_topology(both, clusters=three_clusters())))
    assert problem.code == "replication-loop"
    assert problem.remedy.startswith("set `loopGuard: true` on `orders` (as `kind: flow`: `orders`) with the same")


def test_a_source_that_is_the_target_is_refused() -> None:
    sources = {"uswest": {"topics": ["orders"], "groups": ["web"]}}
    problems = problems_of(a_mirror(source=None, topics=None, groups=None, sources=sources))
    assert [code for code, _ in problems] == ["equal-aliases"]
