"""The job's Kubernetes client."""

from pathlib import Path

import pytest
from kubernetes.config import kube_config

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.spark.read.kubernetes import api_client


def test_without_a_kubeconfig_the_error_says_to_set_the_variable_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`replicate validate` has no option --kubeconfig, so the remedy must not name it."""
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(CannotRunError, match=r"kubeconfig-missing: .* Remedy: set KUBECONFIG to a kubeconfig file\."):
        api_client(None)
