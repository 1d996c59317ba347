"""Kubeconfigs of workers: they have the cluster of the given kubeconfig, never its user."""

import base64
import json
from pathlib import Path

import pytest

from kafka_replication.infra.local.operator.worker_objects import (
    RENEW_BEFORE_SECONDS,
    cluster_entry,
    is_usable,
    token_in,
)
from kafka_replication.infra.local.parts.control_plane import kubeconfig


def a_token(uid: str, expires: float) -> str:
    claims = {"exp": expires, "kubernetes.io": {"serviceaccount": {"uid": uid}}}
    return f"h.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.s"


def test_a_worker_gets_the_cluster_and_its_own_token(tmp_path: Path) -> None:
    admin = tmp_path / "kubeconfig"
    cluster = {"server": "https://127.0.0.1:6443", "certificate-authority-data": "Y2E="}
    document = {
        "current-context": "local",
        "contexts": [{"name": "local", "context": {"cluster": "c", "user": "admin"}}],
        "clusters": [{"name": "other", "cluster": {}}, {"name": "c", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": "admin-token"}}],
    }
    admin.write_text(json.dumps(document))
    written = kubeconfig(cluster_entry(admin), "worker", "own-token", namespace="mirror")
    assert token_in(written) == "own-token"
    assert json.loads(written)["clusters"] == [{"name": "local", "cluster": cluster}]
    assert "admin-token" not in written


@pytest.mark.parametrize(
    ("uid", "left", "usable"),
    [
        pytest.param("u-1", RENEW_BEFORE_SECONDS + 1, True, id="fresh"),
        pytest.param("u-1", RENEW_BEFORE_SECONDS - 1, False, id="to-be-renewed"),
        pytest.param("u-2", RENEW_BEFORE_SECONDS + 1, False, id="account-was-recreated"),
    ],
)
def test_a_token_is_used_until_it_is_due_for_renewal_or_its_account_is_recreated(
    uid: str, left: float, usable: bool
) -> None:
    assert is_usable(a_token(uid, 1000 + left), "u-1", now=1000) is usable
