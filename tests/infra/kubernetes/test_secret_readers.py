"""A Secret that changed restarts the connectors that read it, and nothing else."""

from typing import Any

from infra.kubernetes.api import KubernetesApi, Object, Reference
from infra.kubernetes.readiness import readiness_of
from infra.kubernetes.secret_readers import RESTART, restart_readers, secret_versions
from tests.builders import a_resolved_flow


class _Holding(KubernetesApi):
    """A cluster with Secrets, by name and version, that records what is read and applied."""

    def __init__(self, **versions: str) -> None:
        self.versions = versions
        self.applied: list[Object] = []
        self.asked: list[str] = []

    def get(self, target: Reference) -> Object | None:
        self.asked.append(target.name)
        version = self.versions.get(target.name)
        return None if version is None else {"metadata": {"resourceVersion": version}}

    def apply(self, item: Object, **_: Any) -> Object:
        self.applied.append(item)
        return item


def test_a_changed_secret_restarts_the_connectors_that_read_it_and_names_them() -> None:
    flow, api = a_resolved_flow(), _Holding(mirror="1", ca="1")
    before = secret_versions(api, [flow])
    assert list(restart_readers(api, [flow], before)) == []
    api.versions["mirror"] = "2"
    said = list(restart_readers(api, [flow], before))
    assert said[0] == "connector orders-source restarts: it read Secret `mirror` before the change"
    names = {each["metadata"]["name"] for each in api.applied}
    assert names == {"orders-source", "orders-checkpoint", "orders-heartbeat"}
    assert all(each["metadata"]["annotations"] == RESTART for each in api.applied)


def test_only_secrets_that_connectors_name_are_asked_for() -> None:
    """The account may read no other Secrets, and the connectors' ConfigMaps are not Secrets."""
    api = _Holding(mirror="1", ca="1")
    secret_versions(api, [a_resolved_flow()])
    assert set(api.asked) == {"mirror", "ca"}


def test_a_new_secret_and_a_deleted_one_restart_nothing() -> None:
    flow, api = a_resolved_flow(), _Holding(mirror="1")
    before = secret_versions(api, [flow])
    api.versions = {"ca": "1"}
    assert list(restart_readers(api, [flow], before)) == []


def test_a_connector_is_not_ready_while_its_restart_is_asked_for() -> None:
    status = {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}
    live = {"metadata": {"generation": 1, "annotations": RESTART}, "status": status}
    assert readiness_of("x", live).message == "the operator has not restarted it yet"
