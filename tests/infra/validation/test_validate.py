"""The validation job uses the Kubernetes cluster of its stack, whatever the current context is."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import config

from infra.validation.run import kubernetes_variables
from infra.workspace import KubernetesAccess


def a_kubeconfig(folder: Path) -> Path:
    """A kubeconfig with the contexts `west`, which is current, and `east`."""
    clusters = [{"name": name, "cluster": {"server": f"https://{name}.example.com"}} for name in ("west", "east")]
    contexts = [{"name": name, "context": {"cluster": name, "user": "ann"}} for name in ("west", "east")]
    users = [{"name": "ann", "user": {"token": "none"}}]
    file = folder / "kubeconfig"
    file.write_text(
        yaml.safe_dump({"current-context": "west", "clusters": clusters, "contexts": contexts, "users": users})
    )
    return file


@pytest.mark.parametrize(
    ("context", "server"),
    [(None, "https://west.example.com"), ("east", "https://east.example.com")],
    ids=["the current context", "the stack's context"],
)
@pytest.mark.parametrize("by", ["stack", "environment"])
def test_the_job_publishes_to_the_cluster_of_its_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: str | None, server: str, by: str
) -> None:
    """A verdict published to another region's cluster would promote a model that nobody proved there."""
    kubeconfig = a_kubeconfig(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    access = KubernetesAccess(str(kubeconfig) if by == "stack" else None, context)
    found = kubernetes_variables(access, tmp_path).get("KUBECONFIG", str(kubeconfig))
    client: Any = config.new_client_from_config(found)  # type: ignore[no-untyped-call]
    assert client.configuration.host == server
