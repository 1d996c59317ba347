"""Which namespaces and Secrets a change needs that the stack does not create."""

from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_flow
from tests.infra.review.changes import compared


@pytest.mark.parametrize(
    ("flow", "required"),
    [
        pytest.param({}, ("Secrets in mirror-ledger: ca, mirror",), id="the-stack-creates-the-namespace"),
        pytest.param({"namespace": {"name": "mirror-orders", "create": False}}, (), id="another-flow-needs-the-same"),
    ],
)
def test_only_what_no_flow_needed_before_and_the_stack_does_not_create_is_required(
    tmp_path: Path, flow: dict[str, Any], required: tuple[str, ...]
) -> None:
    found = compared(tmp_path, {}, {"replications": {"ledger": a_flow(topics=["ledger"], **flow)}})
    assert found.required == required


def test_a_secret_that_the_stack_creates_is_not_required(tmp_path: Path) -> None:
    login = {"authentication": {"password": {"secret": None, "key": None, "config": "mirrorPassword"}}}
    ledger = a_flow(topics=["ledger"])
    after = {"clusters": {"useast": login, "uswest": login}, "replications": {"ledger": ledger}}
    found = compared(tmp_path, {}, after)
    assert found.required == ("Secrets in mirror-ledger: ca",)


JOB = {"config": {"validation": {"inCluster": {"image": "r.example.com/job@sha256:" + "0" * 64}}}}
PULLED = {"image": "r.example.com/connect@sha256:" + "0" * 64, "imagePullSecret": "pull"}
LOGIN = {"secret": None, "key": None, "config": "mirrorPassword"}


def test_every_secret_that_pods_use_is_required(tmp_path: Path) -> None:
    flow = {"replications": {"orders": {"connect": PULLED}}}
    assert compared(tmp_path, {}, flow).required == ("Secrets in mirror-orders: pull",)


def test_a_secret_that_the_validation_reads_already_is_not_required(tmp_path: Path) -> None:
    validation = {"authentication": {"type": "scram-sha-512", "username": "v", "password": {"secret": "v", "key": "p"}}}
    both = {alias: {"validation": validation} for alias in ("useast", "uswest")}
    (tmp_path / "job").mkdir()
    (tmp_path / "login").mkdir()
    begins = compared(tmp_path / "job", {"clusters": both}, {"clusters": both, **JOB})
    assert begins.required == ("Secrets in mirror-orders: v",)
    shared = {"useast": {**both["useast"], "authentication": {"password": {"secret": "v", "key": "p"}}}}
    after = {"clusters": {**both, **shared}, **JOB}
    assert compared(tmp_path / "login", {"clusters": both, **JOB}, after).required == ()


def test_the_secret_that_the_user_operator_writes_is_not_required(tmp_path: Path) -> None:
    orders = {"orders": {"namespace": {"name": "kafka", "create": False}}}
    user = {"uswest": {"kafkaUser": {"cluster": "my", "namespace": "kafka"}}}
    found = compared(tmp_path, {}, {"replications": orders, "clusters": user})
    assert found.required == ("Namespaces: kafka", "Secrets in kafka: ca")


def test_a_gitops_stack_creates_no_secret(tmp_path: Path) -> None:
    by = {"config": {"deploy": "gitops"}}
    after = {**by, "clusters": {"useast": {"authentication": {"password": LOGIN}}}}
    assert compared(tmp_path, by, after).required == ("Secrets in mirror-orders: orders-source-credentials",)
