"""ACLs of a flow's users: exactly what its parts need, and no more."""

from typing import Any

import pytest

from kafka_replication.components.flows.resolved import ResolvedFlow, resolve_flows
from kafka_replication.components.render.flow_acls import Acl, flow_acls, keeper_acls, merged_acls, user_acls
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_resolved_flow, a_topology

USER = "User:mirror"


def test_a_default_flow_has_exactly_these_acls() -> None:
    remote = ("ALTER", "ALTER_CONFIGS", "CREATE", "READ", "WRITE")
    storage = ("CREATE", "DESCRIBE_CONFIGS", "READ", "WRITE")
    read = ("DESCRIBE_CONFIGS", "READ")
    assert set(flow_acls(a_resolved_flow())) == {
        Acl("useast", USER, "topic", "literal", "orders", read),
        Acl("useast", USER, "topic", "prefixed", "payments-", read),
        Acl("useast", USER, "topic", "literal", "heartbeats", ("CREATE", "DESCRIBE_CONFIGS", "READ", "WRITE")),
        Acl("useast", USER, "topic", "literal", "mm2-offset-syncs.uswest.internal", ("CREATE", "READ", "WRITE")),
        Acl("useast", USER, "group", "prefixed", "checkout-", ("DESCRIBE",)),
        Acl("uswest", USER, "topic", "literal", "mirror-orders-configs-internal", storage),
        Acl("uswest", USER, "topic", "literal", "mirror-orders-offsets-internal", storage),
        Acl("uswest", USER, "topic", "literal", "mirror-orders-status-internal", storage),
        Acl("uswest", USER, "group", "literal", "mirror-orders", ("READ",)),
        Acl("uswest", USER, "topic", "literal", "useast.orders", remote),
        Acl("uswest", USER, "topic", "prefixed", "useast.payments-", remote),
        Acl("uswest", USER, "topic", "literal", "useast.heartbeats", ("ALTER", "ALTER_CONFIGS", "CREATE", "WRITE")),
        Acl("uswest", USER, "topic", "literal", "useast.checkpoints.internal", ("CREATE", "READ", "WRITE")),
        Acl("uswest", USER, "group", "prefixed", "checkout-", ("READ",)),
    }


def test_heartbeats_keep_the_alias_prefix_under_the_identity_policy() -> None:
    acls = flow_acls(a_resolved_flow(policy="identity", topics=["orders"]))
    written = {acl.name for acl in acls if acl.cluster == "uswest" and "ALTER" in acl.operations}
    assert written == {"orders", "useast.heartbeats"}


TRANSACTIONS = {
    Acl("uswest", USER, "transactional_id", "prefixed", "mirror-orders-", ("WRITE",)),
    Acl("uswest", USER, "transactional_id", "literal", "connect-cluster-mirror-orders", ("WRITE",)),
}
HEARTBEAT_TRANSACTIONS = {
    Acl("useast", USER, "transactional_id", "prefixed", "mirror-orders-", ("WRITE",)),
    Acl(
        *("useast", USER, "topic", "literal", "mirror-orders-offsets-internal"),
        ("CREATE", "DESCRIBE_CONFIGS", "READ", "WRITE"),
    ),
}


@pytest.mark.parametrize(
    ("step", "expected"),
    [("preparing", TRANSACTIONS), ("enabled", TRANSACTIONS | HEARTBEAT_TRANSACTIONS)],
)
def test_exactly_once_adds_acls_for_the_transactional_ids_of_tasks_and_leader(step: str, expected: set[Acl]) -> None:
    """Without the leader's ACL, workers fail at the first change to a connector. The heartbeat connector's transactions
    and source offsets are on the source cluster."""
    assert difference(exactlyOnce=step) == (expected, set())


def difference(**overrides: Any) -> tuple[set[Acl], set[Acl]]:
    """ACLs that a flow needs in addition to the usual ones, and those that it does not need."""
    usual, other = set(flow_acls(a_resolved_flow())), set(flow_acls(a_resolved_flow(**overrides)))
    return other - usual, usual - other


def test_a_flow_that_stops_at_a_gap_may_also_commit_where_its_partitions_start() -> None:
    added = set(flow_acls(a_resolved_flow(onLoss="stop"))) - set(flow_acls(a_resolved_flow()))
    assert added == {Acl("useast", USER, "group", "literal", "__mm2-starts.orders", ("READ",))}


def test_only_a_flow_that_syncs_topic_acls_needs_rights_on_the_cluster_resource() -> None:
    """As in Kafka's testNoBrokerAclAuthorizer and testAclFiltering: without ACL sync these rights are not needed."""
    assert difference(syncTopicAcls=True) == (
        {
            Acl("useast", USER, "cluster", "literal", "kafka-cluster", ("DESCRIBE",)),
            Acl("uswest", USER, "cluster", "literal", "kafka-cluster", ("ALTER",)),
        },
        set(),
    )


def test_offset_syncs_on_the_target_need_no_acl_on_the_source() -> None:
    syncs = ("CREATE", "READ", "WRITE")
    assert difference(offsetSyncs={"location": "target"}) == (
        {Acl("uswest", USER, "topic", "literal", "mm2-offset-syncs.useast.internal", syncs)},
        {Acl("useast", USER, "topic", "literal", "mm2-offset-syncs.uswest.internal", syncs)},
    )


def test_without_group_offset_sync_the_flow_may_not_commit_offsets_on_the_target() -> None:
    gained, lost = difference(syncGroupOffsets=False)
    without = ("ALTER", "ALTER_CONFIGS", "CREATE", "WRITE")
    assert gained == {
        Acl("uswest", USER, "topic", "literal", "useast.orders", without),
        Acl("uswest", USER, "topic", "prefixed", "useast.payments-", without),
    }
    assert Acl("uswest", USER, "group", "prefixed", "checkout-", ("READ",)) in lost


def test_a_flow_without_checkpoints_may_not_read_offset_syncs_or_groups() -> None:
    gained, lost = difference(connectors={"checkpoint": {"enabled": False}})
    syncs = "mm2-offset-syncs.uswest.internal"
    assert Acl("useast", USER, "topic", "literal", syncs, ("CREATE", "WRITE")) in gained
    assert {acl.name for acl in lost} >= {"checkout-", "useast.checkpoints.internal"}


def test_a_prefixless_pair_needs_no_acls_for_offset_syncs_or_checkpoints() -> None:
    names = {acl.name for flow in flows_of(PAIR) for acl in flow_acls(flow)}
    assert not {name for name in names if "offset-syncs" in name or "checkpoints" in name}
    assert {"mirror-ledger-to-useast", "mirror-ledger-to-uswest", "ledger"} <= names


PAIR = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["ledger"]}
MIRRORS = {"kind": "mirrorMaker2", "source": "useast", "target": "uswest", "topics": ["orders"], "groups": ["app"]}
SPLIT = {
    "kind": "split",
    "source": "useast",
    "target": "uswest",
    "parts": {"sales": {"topics": ["sales-.*"]}, "logs": {"topics": ["logs-.*"]}},
}


def flows_of(replication: dict[str, Any], **top: Any) -> tuple[ResolvedFlow, ...]:
    return resolve_flows(parse_topology(a_topology(replication, "ledger", **top)), None, {})


def test_each_part_of_a_split_gets_only_what_its_own_topics_need() -> None:
    """Workers with the same user share its ACLs, but a part that gets a user of its own needs just these."""
    sales, logs = (
        flow_acls(flow) for flow in sorted(flows_of(SPLIT), key=lambda flow: flow.expanded.part, reverse=True)
    )
    assert not {acl.name for acl in sales} & {"logs-", "useast.logs-"}
    assert "heartbeats" in {acl.name for acl in sales}
    assert "heartbeats" not in {acl.name for acl in logs}


def test_a_kafkamirrormaker2_may_write_heartbeats_where_its_api_version_produces_them() -> None:
    """In v1 it has no heartbeat connector, so they have workers of their own; in v1beta2 they go to the target."""
    beats: dict[str, set[tuple[str, str]]] = {}
    for version in ("v1", "v1beta2"):
        (flow,) = flows_of(MIRRORS, strimzi=version)
        writes = {acl for acl in flow_acls(flow) if "WRITE" in acl.operations}
        beats[version] = {(acl.cluster, acl.name) for acl in writes if acl.name in {"heartbeats", OWN_WORKERS}}
    assert beats == {"v1": {("useast", "heartbeats"), ("uswest", OWN_WORKERS)}, "v1beta2": {("uswest", "heartbeats")}}


OWN_WORKERS = "mirror-ledger-heartbeats-configs-internal"


def test_mirrors_of_one_target_get_acls_for_one_shared_worker_group() -> None:
    clusters = {alias: a_cluster(alias) for alias in ("useast", "eucentral", "uswest")}
    sources = {"useast": {"topics": ["a"]}, "eucentral": {"topics": ["b"]}}
    several = {"kind": "mirrorMaker2", "target": "uswest", "sources": sources, "groups": ["app"]}
    flows = flows_of(several, strimzi="v1beta2", clusters=clusters)
    groups = {acl.name for flow in flows for acl in flow_acls(flow) if acl.operations == ("READ",)}
    assert groups >= {"mirror-ledger"}
    assert not any("mirror-ledger-from" in acl.name for flow in flows for acl in flow_acls(flow))


@pytest.mark.parametrize(
    ("given", "least"),
    [
        pytest.param(
            [("prefixed", "orders-", ("READ",)), ("literal", "orders-eu", ("READ", "DESCRIBE"))],
            [("prefixed", "orders-", ("READ",))],
            id="a literal name that a prefix covers",
        ),
        pytest.param(
            [("literal", "*", ("READ",)), ("prefixed", "orders-", ("READ", "WRITE"))],
            [("literal", "*", ("READ",)), ("prefixed", "orders-", ("WRITE",))],
            id="operations that the wider ACL lacks",
        ),
        pytest.param(
            [
                ("literal", "orders", ("DESCRIBE",)),
                ("literal", "orders", ("ALTER", "ALTER_CONFIGS", "DESCRIBE_CONFIGS")),
            ],
            [("literal", "orders", ("ALTER", "ALTER_CONFIGS"))],
            id="an operation that another one implies",
        ),
        pytest.param(
            [("literal", "orders", ("READ",)), ("literal", "orders-eu", ("READ",))],
            [("literal", "orders", ("READ",)), ("literal", "orders-eu", ("READ",))],
            id="a literal name is not a prefix",
        ),
    ],
)
def test_merged_acls_repeat_nothing(given: list[Any], least: list[Any]) -> None:
    assert list(merged_acls(Acl("c", USER, "topic", *resource) for resource in given)) == [
        Acl("c", USER, "topic", *resource) for resource in least
    ]


@pytest.mark.parametrize(
    ("pattern", "granted"),
    [
        pytest.param("orders", {("literal", "orders")}, id="a name"),
        pytest.param(r"orders\.eu", {("literal", "orders.eu")}, id="a name with an escaped dot"),
        pytest.param("orders.eu", {("literal", "orders.eu")}, id="a name with a dot"),
        pytest.param("v1.2.3", {("literal", "v1.2.3")}, id="a name with dots"),
        pytest.param("orders-.*", {("prefixed", "orders-")}, id="a prefix"),
        pytest.param("orders?", {("literal", "order"), ("literal", "orders")}, id="an optional last letter"),
        pytest.param("orders|logs-.*", {("literal", "orders"), ("prefixed", "logs-")}, id="alternatives"),
        pytest.param(
            "shipping-(events|labels)-.*",
            {("prefixed", "shipping-events-"), ("prefixed", "shipping-labels-")},
            id="alternatives within a pattern",
        ),
        pytest.param(
            "|".join(f"team{number}-orders" for number in range(20)),
            {("literal", f"team{number}-orders") for number in range(20)},
            id="many alternatives",
        ),
        pytest.param(".*", {("literal", "*")}, id="everything"),
        pytest.param(".*-events", {("literal", "*")}, id="no fixed prefix"),
    ],
)
def test_a_pattern_becomes_the_narrowest_acls_that_kafka_can_express(
    pattern: str, granted: set[tuple[str, str]]
) -> None:
    rendered = {
        (acl.pattern, acl.name)
        for acl in flow_acls(a_resolved_flow(topics=[pattern]))
        if acl.cluster == "useast" and acl.operations == ("DESCRIBE_CONFIGS", "READ")
    }
    assert rendered == granted


def test_a_group_with_a_dot_in_its_name_gets_a_literal_acl() -> None:
    groups = {
        (acl.pattern, acl.name) for acl in flow_acls(a_resolved_flow(groups=["app.eu"])) if acl.resource == "group"
    }
    assert groups == {("literal", "app.eu"), ("literal", "mirror-orders")}


def test_a_pattern_without_a_fixed_prefix_grants_only_the_alias_prefix_on_the_target() -> None:
    """A `*` would let the connector write to every topic of the target's own applications."""
    names = {acl.name for acl in flow_acls(a_resolved_flow(topics=[".*-events"])) if acl.cluster == "uswest"}
    assert "useast." in names
    assert "*" not in names


@pytest.mark.parametrize(
    ("changes", "principal"),
    [
        pytest.param({"principal": "CN=mirror"}, {"User:CN=mirror"}, id="a principal without its type"),
        pytest.param({"principal": "User:CN=mirror"}, {"User:CN=mirror"}, id="a principal with its type"),
        pytest.param({}, set(), id="no principal declared"),
    ],
)
def test_a_client_certificate_gets_acls_only_if_its_principal_is_declared(
    changes: dict[str, Any], principal: set[str]
) -> None:
    authentication: dict[str, Any] = {"type": "tls", "secret": "client", **changes}
    clusters = {"useast": a_cluster(authentication=authentication), "uswest": a_cluster("us-west-2")}
    acls = flow_acls(a_resolved_flow(clusters))
    assert {acl.principal for acl in acls if acl.cluster == "useast"} == principal
    assert "uswest" in {acl.cluster for acl in acls}


def test_the_certificate_of_a_kafkauser_has_the_users_name_as_principal() -> None:
    declared = {"cluster": "kafka", "namespace": "kafka"}
    source = a_cluster(authentication={"type": "tls", "secret": "mirror-user"}, kafkaUser=declared)
    acls = flow_acls(a_resolved_flow({"useast": source, "uswest": a_cluster("us-west-2")}))
    assert {acl.principal for acl in acls if acl.cluster == "useast"} == {"User:CN=mirror-user"}


@pytest.mark.parametrize(("version", "granted"), [("3.9.0", True), ("4.2.0", False)])
def test_a_kafka_that_always_replicates_heartbeats_gets_acls_for_them(version: str, granted: bool) -> None:
    """Without this right its source connector would fail at a topic that nobody selected."""
    acls = flow_acls(a_resolved_flow(replicateHeartbeats=False, connect={"version": version}))
    assert ("useast.heartbeats" in {acl.name for acl in acls}) is granted


KEEPER = {"authentication": {"type": "plain", "username": "keeper", "password": {"config": "keeperPassword"}}}
KEEPS = "User:keeper"
OWN_LOGINS = {"useast": a_cluster(keeper=KEEPER), "uswest": a_cluster("us-west-2", keeper=KEEPER)}
POSITIONS = "mm2-positions.orders.internal"


def test_a_keeper_with_logins_of_its_own_has_exactly_these_acls() -> None:
    assert set(keeper_acls(a_resolved_flow(OWN_LOGINS))) == {
        Acl("useast", KEEPS, "topic", "literal", "orders", ("DESCRIBE",)),
        Acl("useast", KEEPS, "topic", "prefixed", "payments-", ("DESCRIBE",)),
        Acl("useast", KEEPS, "group", "prefixed", "checkout-", ("DESCRIBE",)),
        Acl("uswest", KEEPS, "topic", "literal", "useast.orders", ("DESCRIBE",)),
        Acl("uswest", KEEPS, "topic", "prefixed", "useast.payments-", ("DESCRIBE",)),
        Acl("uswest", KEEPS, "topic", "literal", "useast.checkpoints.internal", ("DESCRIBE",)),
        Acl("uswest", KEEPS, "topic", "literal", POSITIONS, ("CREATE", "READ", "WRITE")),
        Acl("uswest", KEEPS, "transactional_id", "literal", POSITIONS, ("WRITE",)),
    }


def test_without_a_login_of_its_own_the_keeper_writes_as_the_connectors_do() -> None:
    written = {
        Acl("uswest", USER, "topic", "literal", POSITIONS, ("CREATE", "WRITE")),
        Acl("uswest", USER, "transactional_id", "literal", POSITIONS, ("WRITE",)),
    }
    assert set(keeper_acls(a_resolved_flow())) == written
    source_only = set(keeper_acls(a_resolved_flow({**OWN_LOGINS, "uswest": a_cluster("us-west-2")})))
    assert source_only > written
    assert {(acl.cluster, acl.principal) for acl in source_only - written} == {("useast", KEEPS)}


def test_the_users_of_a_flow_include_its_keepers_only_if_the_topology_names_it() -> None:
    flow = a_resolved_flow(OWN_LOGINS)
    assert set(user_acls(flow)) == {*flow_acls(flow), *keeper_acls(flow)}
    assert set(user_acls(a_resolved_flow())) == set(flow_acls(a_resolved_flow()))


def test_the_keeper_of_a_pair_also_reads_the_targets_records_and_the_other_halfs_offset_syncs() -> None:
    (to_west,) = (
        flow
        for flow in flows_of({**PAIR, "offsetSyncs": {"enabled": True}}, clusters=OWN_LOGINS)
        if flow.settings.target == "uswest"
    )
    positions = f"mm2-positions.{to_west.name}.internal"
    assert set(keeper_acls(to_west)) == {
        Acl("useast", KEEPS, "topic", "literal", "ledger", ("DESCRIBE",)),
        Acl("useast", KEEPS, "group", "literal", "*", ("DESCRIBE",)),
        Acl("uswest", KEEPS, "topic", "literal", "ledger", ("READ",)),
        Acl("uswest", KEEPS, "topic", "literal", "mm2-offset-syncs.useast.internal", ("READ",)),
        Acl("uswest", KEEPS, "topic", "literal", positions, ("CREATE", "READ", "WRITE")),
        Acl("uswest", KEEPS, "transactional_id", "literal", positions, ("WRITE",)),
    }
