"""The parameter document: what is accepted, and that bad input is reported by key and never by value."""

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.spark.command_line import chosen_flows, parse_document, read_document
from tests.spark.documents import a_cluster, a_document, a_flow_document

A_PART = {"name": "bulk", "connector": "orders-source-bulk", "topics": ["logs-.*"]}


def refusal(document: Any) -> str:
    with pytest.raises(CannotRunError) as raised:
        parse_document(document if isinstance(document, str) else json.dumps(document), "params.json")
    return str(raised.value)


def test_a_complete_document_is_accepted() -> None:
    parameters = parse_document(json.dumps(a_document()), "params.json")
    (flow,) = parameters.flows
    assert (flow.name, flow.heartbeats.target_topic, flow.checkpoints.sync_interval_seconds) == (
        "orders",
        "useast.heartbeats",
        3,
    )


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        pytest.param({"topics": []}, "topics", id="no topics"),
        pytest.param({"topics": ["orders("]}, "topics", id="a pattern that does not compile"),
        pytest.param({"groups": ["["]}, "groups", id="a group pattern that does not compile"),
        pytest.param({"policy": "custom"}, "policy", id="an unknown policy"),
        pytest.param({"startFrom": "yesterday"}, "startFrom", id="an unknown start"),
        pytest.param({"colour": "red"}, "colour", id="an unknown key"),
        pytest.param({"shape": "ring"}, "shape", id="an unknown shape"),
        pytest.param({"guard": {"filter": "a", "mark": "a"}}, "guard", id="a guard that stops what it marks"),
        pytest.param({"guard": {"filter": "a"}}, "guard.mark", id="a guard without a mark"),
        pytest.param({"parts": [A_PART, A_PART]}, "", id="two parts with the same name"),
        pytest.param(
            {"parts": [{**A_PART, "topics": ["("]}]}, "parts.0.topics", id="a part's pattern that does not compile"
        ),
        pytest.param(
            {"offsetSyncs": {**a_flow_document()["offsetSyncs"], "enabled": False}},
            "",
            id="checkpoints without offset syncs",
        ),
        pytest.param({"refreshTopicsSeconds": 0}, "refreshTopicsSeconds", id="an interval of zero"),
        pytest.param({"source": a_cluster(authentication=None)}, "source", id="SASL without a login"),
        pytest.param({"source": a_cluster(securityProtocol="SSL")}, "source", id="a password without SASL"),
        pytest.param(
            {"source": a_cluster(trust={"format": "JKS", "certificates": {"file": "/x"}})},
            "source.trust",
            id="a truststore without its password",
        ),
        pytest.param(
            {"source": a_cluster(trust={"format": "PEM", "certificates": {"file": "/x", "env": "X"}})},
            "source.trust.certificates",
            id="a reference to a file and a variable",
        ),
    ],
)
def test_a_wrong_value_is_reported_by_its_key(changes: dict[str, Any], key: str) -> None:
    message = refusal(a_document(a_flow_document(**changes)))
    assert message.startswith("parameters-invalid: ")
    assert f"flows.0.{key}".removesuffix(".") in message


def test_a_password_written_where_a_reference_belongs_is_not_repeated() -> None:
    """The message ends up in a terminal and in the logs of a pipeline."""
    login = {"type": "plain", "username": "validator", "password": "hunter2"}
    assert "hunter2" not in refusal(a_document(a_flow_document(source=a_cluster(authentication=login))))


def test_another_schema_version_is_refused() -> None:
    assert "schemaVersion" in refusal({**a_document(), "schemaVersion": 2})


def test_text_that_is_not_json_is_reported_by_line() -> None:
    assert refusal("{\n nonsense").startswith("parameters-not-json: line 2")


def test_a_missing_file_is_reported_by_path(tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match=r"parameters-unreadable: No such file .* absent\.json|absent\.json"):
        read_document(tmp_path / "absent.json")


@pytest.mark.parametrize(("type_", "side"), [("oauth", "source"), ("custom", "target")])
def test_a_login_that_the_job_cannot_use_is_refused_with_the_key_to_set(type_: str, side: str) -> None:
    alias = {"source": "useast", "target": "uswest"}[side]
    message = refusal(a_document(a_flow_document(**{side: a_cluster(alias, authentication={"type": type_})})))
    assert message.startswith("parameters-invalid: ")
    assert f"flows.0.{side}.authentication: the job cannot log in by {type_}" in message
    assert "validation.authentication" in message


def test_a_pattern_that_the_job_cannot_evaluate_is_refused() -> None:
    message = refusal(a_document(a_flow_document(topics=["orders", r"\p{Alpha}+"])))
    assert message.startswith("parameters-invalid: flows.0: the job cannot evaluate the pattern")


def test_the_document_of_a_stack_without_flows_is_refused() -> None:
    assert refusal({**a_document(), "flows": []}).startswith("parameters-invalid: flows: ")


def test_one_flow_can_be_chosen_and_the_error_for_an_unknown_flow_lists_all_flows() -> None:
    parameters = parse_document(
        json.dumps(a_document(a_flow_document(), a_flow_document(name="ledger"))), "params.json"
    )
    assert [flow.name for flow in chosen_flows(parameters, "ledger")] == ["ledger"]
    assert len(chosen_flows(parameters, None)) == 2
    with pytest.raises(CannotRunError, match=r"unknown-flow: no flow is named 'billing'.*orders, ledger"):
        chosen_flows(parameters, "billing")


def test_a_flow_without_a_shape_has_neither_parts_nor_a_guard() -> None:
    (flow,) = parse_document(json.dumps(a_document()), "params.json").flows
    assert (flow.replication, flow.shape, flow.guard, flow.parts) == ("orders", "flow", None, ())
    assert (flow.offset_syncs.enabled, flow.transformed, flow.start_from) == (True, False, "earliest")


def test_a_flow_is_chosen_by_name_or_replication_and_the_document_keeps_the_others() -> None:
    pair = [
        {**a_flow_document(), "name": name, "replication": "ledger"}
        for name in ("ledger-to-uswest", "ledger-to-useast")
    ]
    parameters = parse_document(json.dumps(a_document(a_flow_document(), *pair)), "params.json")
    assert [flow.name for flow in chosen_flows(parameters, "ledger")] == ["ledger-to-uswest", "ledger-to-useast"]
    (one,) = chosen_flows(parameters, "ledger-to-uswest")
    assert (one.name, len(parameters.flows)) == ("ledger-to-uswest", 3)
