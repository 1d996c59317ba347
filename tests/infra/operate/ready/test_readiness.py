"""What `replicate ready` says of a flow, from what was seen of both clusters."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kafka_replication.components.contract.parameters import ClusterParameters
from kafka_replication.components.contract.problems import NoAnswer
from kafka_replication.components.contract.readiness import (
    OPEN,
    Judgement,
    Readiness,
    ReadyFacts,
    judge,
    read_quotas,
    summary,
)
from kafka_replication.components.kafka.acls import AclEntry
from kafka_replication.components.kafka.topic_sync import TopicSetting
from kafka_replication.infra.operate.ready.look import kafka_users
from tests.spark.documents import a_cluster, a_flow

SHOP, TILL = "User:shop", "User:till"
TO = '--bootstrap-server "${USWEST_SERVERS:?}" --command-config "${USWEST_CONFIG:?}"'
READS = (
    AclEntry(SHOP, "TOPIC", "LITERAL", "orders", "READ"),
    AclEntry(SHOP, "GROUP", "LITERAL", "checkout-web", "READ"),
    AclEntry(TILL, "TOPIC", "LITERAL", "orders", "WRITE"),
)
HAS = (*READS, READS[0]._replace(name="useast.orders"))
SCRAM = {name: frozenset({"SCRAM-SHA-512"}) for name in ("shop", "till")}
SETTINGS = {"retention.ms": "604800000", "min.insync.replicas": "2", "cleanup.policy": "delete"}
QUOTAS = {"user-principal 'shop'": {"consumer_byte_rate": 1e6}}


def settings(**changes: str) -> dict[str, TopicSetting]:
    values = {**SETTINGS, **{name.replace("_", "."): value for name, value in changes.items()}}
    return {name: TopicSetting(value, "DYNAMIC_TOPIC_CONFIG") for name, value in values.items()}


def facts(**changes: Any) -> ReadyFacts:
    """Clusters on which every application can start."""
    ready = ReadyFacts(
        {"orders": 6},
        ["checkout-web"],
        frozenset({"orders", "useast.orders"}),
        {"source": READS, "target": HAS},
        {"source": SCRAM, "target": SCRAM},
        {"source": {"orders": settings()}, "target": {"orders": settings(), "useast.orders": settings()}},
        {"source": QUOTAS, "target": QUOTAS},
    )
    return replace(ready, **changes)


def judgement(seen: ReadyFacts, **flow: Any) -> Judgement:
    own = ("User:mirror",)
    given = {"topics": ("orders",), "groups": ("checkout-.*",), "own_principals": own, **flow}
    return judge(a_flow().model_copy(update=given), seen)


def judged(seen: ReadyFacts, **flow: Any) -> Readiness:
    return judgement(seen, **flow).readiness


def test_where_nothing_is_missing_the_applications_can_start() -> None:
    found = judged(facts())
    assert (found.missing, found.not_judged, found.warnings) == ((), (), ())
    assert found.applications == (SHOP, TILL)
    assert summary(found) == "2 applications can start on uswest"
    assert found.unknowable == (
        "whether shop, till have the same password there",
        "super users and users that useast names in no ACL",
    )


@pytest.mark.parametrize(
    ("changed", "kind", "text", "command"),
    [
        pytest.param(
            {"acls": {"source": READS, "target": [entry for entry in HAS if entry.resource != "GROUP"]}},
            "acl",
            "User:shop lacks Read on group checkout-web",
            f"kafka-acls.sh {TO} --add --allow-principal User:shop --operation Read --group checkout-web",
            id="an ACL of a group",
        ),
        pytest.param(
            {
                "acls": {
                    "source": [
                        *READS,
                        AclEntry(TILL, "TRANSACTIONAL_ID", "PREFIXED", "till-", "WRITE", host="10.0.0.1"),
                    ],
                    "target": HAS,
                }
            },
            "acl",
            "User:till lacks Write on every transactional id that begins with till- from 10.0.0.1",
            f"kafka-acls.sh {TO} --add --allow-principal User:till --operation Write --transactional-id till- "
            "--resource-pattern-type prefixed --allow-host 10.0.0.1",
            id="an ACL of transactional ids, from one host",
        ),
        pytest.param(
            {"acls": {"source": READS, "target": [*HAS, HAS[0]._replace(permission="DENY", principal="User:*")]}},
            "denied",
            "User:shop is denied Read on topic orders: an ACL of User:* on uswest denies Read on topic orders, and "
            "outranks every grant. Delete it",
            "",
            id="a denial",
        ),
        pytest.param(
            {"scram": {"source": SCRAM, "target": {"till": SCRAM["till"]}}},
            "user",
            "User:shop has no SCRAM-SHA-512 credential",
            f"kafka-configs.sh {TO} --alter --entity-type users --entity-name shop "
            '--add-config "SCRAM-SHA-512=[password=${SHOP_PASSWORD:?}]"',
            id="a user",
        ),
        pytest.param(
            {"quotas": {"source": QUOTAS, "target": {"the default user-principal": {"producer_byte_rate": 5.0}}}},
            "quota",
            "the default user-principal has producer_byte_rate=5, and no quota on useast",
            f"kafka-configs.sh {TO} --alter --entity-type users --entity-default --delete-config producer_byte_rate",
            id="a quota of everybody that only the target has",
        ),
        pytest.param(
            {"quotas": {"source": QUOTAS, "target": {}}},
            "quota",
            "user-principal 'shop' has no quota, and consumer_byte_rate=1000000 on useast",
            f"kafka-configs.sh {TO} --alter --entity-type users --entity-name shop "
            "--add-config consumer_byte_rate=1000000",
            id="a quota",
        ),
        pytest.param(
            {"existing": frozenset({"useast.orders"})},
            "topic",
            "orders does not exist, which producers write on uswest",
            f"kafka-topics.sh {TO} --create --topic orders --partitions 6",
            id="a topic that only producers need",
        ),
    ],
)
def test_what_is_missing_is_said_with_the_line_that_adds_it(
    changed: Mapping[str, Any], kind: str, text: str, command: str
) -> None:
    missing = [each for each in judged(facts(**changed)).missing if each.text == text]
    assert [(each.kind, each.command) for each in missing] == [(kind, command)]


@pytest.mark.parametrize(
    ("name", "here", "there", "unlike"),
    [
        ("retention.ms", "60000", "59999", True),
        ("retention.ms", "-1", "60000", True),
        ("retention.ms", "60000", "-1", False),
        ("retention.bytes", "60000", "1", True),
        ("min.insync.replicas", "2", "1", True),
        ("min.insync.replicas", "1", "2", True),
        ("max.message.bytes", "2000000", "1000000", True),
        ("max.message.bytes", "1000000", "2000000", False),
        ("cleanup.policy", "compact,delete", "delete,compact", False),
        ("cleanup.policy", "compact", "delete", True),
        ("segment.bytes", "1", "2", False),
    ],
)
def test_settings_of_topics_with_which_applications_may_fail(name: str, here: str, there: str, unlike: bool) -> None:
    of = {side: settings(**{name: value}) for side, value in (("source", here), ("target", there))}
    seen = facts(settings={"source": {"orders": of["source"]}, "target": {"useast.orders": of["target"]}})
    assert [each.kind for each in judged(seen).missing] == ["setting"] * unlike


def test_the_line_of_a_setting_quotes_a_list() -> None:
    here = {"orders": settings(cleanup_policy="compact,delete")}
    (missing,) = judged(facts(settings={"source": here, "target": {"useast.orders": settings()}})).missing
    assert missing.text == ("useast.orders has cleanup.policy=delete, and it is compact,delete of orders on useast")
    assert missing.command == (
        f"kafka-configs.sh {TO} --alter --entity-type topics --entity-name useast.orders "
        "--add-config cleanup.policy=[compact,delete]"
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        pytest.param(
            {"acls": {"source": READS, "target": NoAnswer("uswest refuses")}}, "uswest refuses", id="ACLs of the target"
        ),
        pytest.param(
            {"acls": {"source": NoAnswer("useast refuses"), "target": HAS}}, "useast refuses", id="ACLs of the source"
        ),
        pytest.param({"scram": {"source": SCRAM, "target": NoAnswer("uswest refuses")}}, "uswest refuses", id="users"),
        pytest.param(
            {"settings": {"source": NoAnswer("useast refuses"), "target": {}}}, "useast refuses", id="settings"
        ),
        pytest.param(
            {"groups": ["checkout-web", "checkout-app"]},
            "who consumes as group checkout-app: no ACL on useast says so",
            id="a group whose login no ACL shows",
        ),
        pytest.param(
            {"acls": {"source": READS[:2], "target": HAS}},
            "who writes orders: no ACL on useast says so",
            id="a topic whose producers no ACL shows",
        ),
        pytest.param({"quotas": {"source": QUOTAS}}, "quotas, which this client cannot ask for", id="quotas"),
    ],
)
def test_what_was_not_looked_at_is_never_ready(changed: Mapping[str, Any], said: str) -> None:
    found = judged(facts(**changed))
    assert [text for text in found.not_judged if text.startswith(said)] == [*found.not_judged]
    assert len(found.not_judged) == 1
    assert "not everything was looked at" in summary(found)


@pytest.mark.parametrize(
    ("login", "said"),
    [
        pytest.param(
            {"type": "oauth"}, "set `principal` next to their login", id="a login that only the cluster knows"
        ),
        pytest.param(None, "the flow has no login there, so it is that user, too", id="no login"),
    ],
)
def test_users_of_the_flow_that_nothing_names_are_not_told_from_applications(
    login: Mapping[str, str] | None, said: str
) -> None:
    protocol = "PLAINTEXT" if login is None else "SASL_PLAINTEXT"
    source = a_cluster("useast", authentication=login, securityProtocol=protocol)
    found = judged(facts(), source=ClusterParameters.model_validate(source), acls=())
    (text,) = found.not_judged
    assert text.endswith(said)


def test_during_a_fence_the_producers_of_the_source_are_still_known() -> None:
    fence = AclEntry("User:*", "TOPIC", "LITERAL", "orders", "WRITE", "DENY")
    here = [*READS, fence, fence._replace(principal="Fence:prod/orders")]
    found = judged(facts(acls={"source": here, "target": HAS}))
    assert (found.missing, found.not_judged) == ((), ())


def test_a_user_without_scram_credentials_logs_in_in_a_way_that_no_cluster_shows() -> None:
    nobody: dict[str, Any] = {"source": {}, "target": {}}
    assert judged(facts(scram=nobody)).unknowable[0] == (
        "how shop, till log in: without SCRAM credentials it is with a certificate, a token or a list of the brokers, "
        "which no cluster shows"
    )


def test_the_first_acl_of_a_resource_that_may_be_open_is_announced() -> None:
    lacking = {"source": READS, "target": [entry for entry in HAS if entry.resource != "GROUP"]}
    (warning,) = judged(facts(acls=lacking, open=True)).warnings
    assert OPEN in warning
    assert warning.endswith("and the first one closes them to all others: group checkout-web")


def test_kafka_users_have_what_is_missing() -> None:
    seen = facts(
        acls={"source": READS, "target": [entry for entry in HAS if entry.resource != "GROUP"]},
        scram={"source": SCRAM, "target": {"till": SCRAM["till"]}},
        quotas={"source": QUOTAS, "target": {}},
    )
    rule = {
        "type": "allow",
        "resource": {"type": "group", "name": "checkout-web", "patternType": "literal"},
        "operations": ["Read"],
        "host": "*",
    }
    assert list(kafka_users(judgement(seen), seen.quotas, "kafka.strimzi.io/v1")) == [
        {
            "apiVersion": "kafka.strimzi.io/v1",
            "kind": "KafkaUser",
            "metadata": {"name": "shop"},
            "spec": {
                "authentication": {"type": "scram-sha-512"},
                "authorization": {"type": "simple", "acls": [rule]},
                "quotas": {"consumerByteRate": 1e6},
            },
        },
    ]


def test_nothing_is_judged_without_knowing_the_users_of_the_flow_itself() -> None:
    """Earlier releases did not write them, and the rights of the validation's user would be asked for as if it were an
    application's.
    """
    found = judged(facts(), own_principals=None)
    assert (found.missing, found.applications, len(found.not_judged)) == ((), (), 1)


def test_quotas_are_read_as_kafkas_tool_prints_them() -> None:
    printed = (
        "Quota configs for user-principal 'shop', client-id 'web' are consumer_byte_rate=1000000.0, "
        "producer_byte_rate=5.0\n"
        "Quota configs for the default user-principal are request_percentage=200.0\n"
        "SCRAM credential configs for user-principal 'shop' are SCRAM-SHA-512=iterations=4096\n"
    )
    assert read_quotas(printed) == {
        "user-principal 'shop', client-id 'web'": {"consumer_byte_rate": 1e6, "producer_byte_rate": 5.0},
        "the default user-principal": {"request_percentage": 200.0},
    }
    with pytest.raises(ValueError, match="Error"):
        read_quotas("Error while executing config command\n")
