"""What `replicate check --topics` reads and shows."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kafka_replication.components.checks.listed_names import ClusterNames
from kafka_replication.components.clients.login import Purpose, client_config
from kafka_replication.components.contract.parameters import ClusterParameters, CredentialReference
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.stack.listed_names import listed_problems, read_names, refuse_unknown, selection_lines
from kafka_replication.infra.stack.settings import read_settings
from tests.builders import a_cluster, a_flow, a_resolved_flow, a_topology
from tests.infra.stacks import write_stack


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("orders\npayments-eu\n\n", {"useast": ClusterNames(("orders", "payments-eu"))}),
        ("# of today\n- orders\n- orders\n", {"useast": ClusterNames(("orders",))}),
        ("orders\n", {"useast": ClusterNames(("orders",))}),
        ("# of today\norders\npayments-eu # new\n# end\n", {"useast": ClusterNames(("orders", "payments-eu"))}),
        ("[orders, payments-eu]", {"useast": ClusterNames(("orders", "payments-eu"))}),
        ("useast: [orders]", {"useast": ClusterNames(("orders",))}),
        ("useast: {topics: [orders], groups: [web]} # of today", {"useast": ClusterNames(("orders",), ("web",))}),
        ("", {"useast": ClusterNames(())}),
    ],
    ids=[
        "one per line",
        "a YAML list",
        "one name",
        "comments",
        "a list in brackets",
        "topics by alias",
        "topics and groups by alias",
        "an empty file",
    ],
)
def test_names_are_read_from_lines_a_yaml_list_or_a_mapping_by_alias(
    text: str, names: dict[str, ClusterNames], tmp_path: Path
) -> None:
    (tmp_path / "names").write_text(text)
    assert read_names(tmp_path / "names", {"useast"}) == names


@pytest.mark.parametrize(
    "text", ["useast: orders", "useast: {topic: [orders]}", "useast: {groups: [web]}", "useast: 1"]
)
def test_a_names_file_in_another_form_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "names").write_text(text)
    with pytest.raises(CannotRunError, match="no-topic-list"):
        read_names(tmp_path / "names", {"useast"})


def test_a_misspelt_alias_is_refused(tmp_path: Path) -> None:
    """Otherwise the names of that cluster would be ignored and the check would pass."""
    (tmp_path / "names").write_text("usest: [orders]")
    refused = r"unknown-alias: the topology has no cluster `usest`.* name one of these: useast, uswest"
    with pytest.raises(CannotRunError, match=refused):
        refuse_unknown(read_names(tmp_path / "names", set()), {"useast", "uswest"}, tmp_path / "names")


def test_a_pattern_that_cannot_be_evaluated_is_shown_as_not_judged(tmp_path: Path) -> None:
    flows = a_topology(a_flow(topics=[r"\p{Alpha}+"], groups=["checkout"]))
    settings = read_settings("test", write_stack(tmp_path, flows))
    names = {"useast": ClusterNames(("orders",))}
    assert r"  replications.orders.topics.0 `\p{Alpha}+` is not judged" in selection_lines(settings, names)
    assert listed_problems(settings, names) == []


def test_each_entry_shows_what_it_selects_and_topics_of_no_flow_are_listed(tmp_path: Path) -> None:
    flows: dict[str, Any] = a_topology()
    flows["replications"]["returns"] = a_flow(source="uswest", target="useast", topics=["returns"], groups=["returns"])
    settings = read_settings("test", write_stack(tmp_path, flows))
    topics = ("orders", "payments-eu", "audit", "__consumer_offsets", "mm2-offset-syncs.uswest.internal", "heartbeats")
    assert list(selection_lines(settings, {"useast": ClusterNames(topics, ("checkout-web", "audit"))})) == [
        "useast: 6 topics",
        "  replications.orders.topics.0 `orders` selects 1: orders",
        "  replications.orders.topics.1 `payments-.*` selects 1: payments-eu",
        "  replications.orders.groups.0 `checkout-.*` selects 1: checkout-web",
        "  replicated by no flow: 1: audit",
        "uswest: its topics are not known",
    ]


def test_check_fails_when_a_listed_topic_has_a_problem(tmp_path: Path) -> None:
    write_stack(tmp_path)
    (tmp_path / "names").write_text(f"orders\npayments-{'x' * 240}\n")
    answer = CliRunner().invoke(app, ["check", "test", "--stacks", str(tmp_path), "--topics", str(tmp_path / "names")])
    assert answer.exit_code == 1
    assert "useast: 2 topics" in answer.output
    assert "topic-name-too-long" in answer.output


PURPOSE = Purpose("The command asks both clusters with the login of the validation job.")


def cluster_of(**changes: Any) -> ClusterParameters:
    """The source of a flow as the validation job reaches it."""
    clusters = {"useast": a_cluster(**changes), "uswest": a_cluster("us-west-2")}
    return flow_parameters(a_resolved_flow(clusters)).source


@pytest.mark.parametrize(
    ("login", "config"),
    [
        (
            {"type": "scram-sha-512", "username": "mirror", "password": {"secret": "mirror", "key": "password"}},
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "mirror",
                "sasl.password": "value of mirror/password",
            },
        ),
        (
            {"type": "tls", "secret": "client"},
            {
                "security.protocol": "SSL",
                "ssl.certificate.pem": "value of client/user.crt",
                "ssl.key.pem": "value of client/user.key",
            },
        ),
    ],
)
def test_the_kafka_client_uses_the_login_of_the_validation_job(login: dict[str, Any], config: dict[str, Any]) -> None:
    def read(reference: CredentialReference) -> str:
        assert reference.secret is not None
        return f"value of {reference.secret.name}/{reference.secret.key}"

    found = client_config(cluster_of(authentication=login), read, PURPOSE)
    assert found == {
        "bootstrap.servers": "kafka.us-east-1.example.com:9093",
        "ssl.ca.pem": "value of ca/ca.crt",
        "log_level": 2,
        **config,
    }


def test_a_login_that_only_connectors_can_use_is_refused_with_the_key_to_set() -> None:
    oauth = {"type": "oauth", "accessToken": {"secret": "token", "key": "token"}}
    with pytest.raises(CannotRunError, match=r"set `clusters\.useast\.validation\.authentication`"):
        client_config(cluster_of(authentication=oauth), str, PURPOSE)
