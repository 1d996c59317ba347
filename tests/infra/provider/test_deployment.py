"""The provider under the real engine against a real API server: everything that our programs do with objects."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pulumi import automation

from kafka_replication.infra.deploy.engine.failures import engine_failure
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Reference
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.provider.servicer import serve
from tests.infra.provider.programs import (
    NAMESPACE,
    OLD_GROUP,
    STRIMZI,
    Deployment,
    a_connect_program,
    a_program,
    engine_environment,
    engine_options,
)

pytestmark = pytest.mark.usefixtures("stopped_programs")


@pytest.fixture(scope="module")
def api(endpoints: Endpoints) -> Iterator[KubernetesApi]:
    with KubernetesApi(endpoints.kubeconfig, field_manager="test") as api:
        yield api


@pytest.fixture(scope="module")
def deployment(endpoints: Endpoints, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """One stack for all tests: each begins with an `up`, whatever the previous test has left in the stack."""
    folder = tmp_path_factory.mktemp("pulumi")
    with serve(endpoints.kubeconfig) as port:
        environment = engine_environment(folder, PULUMI_DEBUG_PROVIDERS=f"kubernetes:{port}")
        options = engine_options(folder, environment)
        stack = automation.create_stack("test", project_name="provider", program=a_program(), opts=options)
        yield Deployment(stack, folder / "state", endpoints.kubeconfig)
        stack.destroy()


def connector_topics(api: KubernetesApi, namespace: str = NAMESPACE) -> str | None:
    found = api.get(Reference(STRIMZI, "KafkaConnector", namespace, "source"))
    return None if found is None else str(found["spec"]["config"]["topics"])


def test_a_program_is_previewed_deployed_refreshed_and_destroyed(deployment: Deployment, api: KubernetesApi) -> None:
    deployment.destroy()
    assert deployment.preview(a_program()) == {"create": 7}
    assert api.get(Reference("v1", "Namespace", None, NAMESPACE)) is None
    assert deployment.up(a_program()) == {"create": 7}
    assert connector_topics(api) == "orders"
    assert deployment.up(a_program()) == {"same": 7}
    assert deployment.refresh() == {"same": 7}
    deployment.destroy()
    assert api.get(Reference("v1", "Namespace", None, NAMESPACE)) is None


def test_a_secret_is_encrypted_in_the_state(deployment: Deployment, api: KubernetesApi) -> None:
    deployment.up(a_program())
    deployment.refresh()
    stored = api.get(Reference("v1", "Secret", NAMESPACE, "east"))
    assert stored is not None
    encoded = stored["data"]["password"]
    state = deployment.state()
    assert '"kubernetes:core/v1:Secret"' in state
    assert "hunter2" not in state
    assert encoded not in state


def test_one_changed_property_is_one_update_and_is_shown_by_its_path(
    deployment: Deployment, api: KubernetesApi
) -> None:
    deployment.up(a_program())
    shown: list[str] = []
    assert deployment.preview(a_program(topics="ledger"), diff=True, on_output=shown.append) == {"same": 6, "update": 1}
    assert '~ topics: "orders" => "ledger"' in "\n".join(shown)
    assert connector_topics(api) == "orders"
    assert deployment.up(a_program(topics="ledger")) == {"same": 6, "update": 1}
    assert connector_topics(api) == "ledger"


def test_a_property_that_the_program_drops_is_removed_from_the_object(
    deployment: Deployment, api: KubernetesApi
) -> None:
    """Server-side apply removes only what the field manager owns: an object made by `create` would keep the others."""
    deployment.up(a_program(spec={"class": "example.Source", "config": {"topics": "a", "gone": "x"}}))
    deployment.up(a_program(spec={"class": "example.Source", "config": {"topics": "a"}}))
    found = api.get(Reference(STRIMZI, "KafkaConnector", NAMESPACE, "source"))
    assert found is not None
    assert found["spec"] == {"class": "example.Source", "config": {"topics": "a"}}


def test_changed_data_replaces_a_config_map_and_updates_a_secret(deployment: Deployment, api: KubernetesApi) -> None:
    """A Secret that was deleted and created again would be missing in between."""
    deployment.up(a_program())
    secret = Reference("v1", "Secret", NAMESPACE, "east")
    before = api.get(secret)
    assert deployment.preview(a_program(value="2")) == {"same": 5, "update": 1, "replace": 1}
    assert deployment.up(a_program(value="2")) == {"same": 5, "update": 1, "replace": 1}
    changed, after = api.get(Reference("v1", "ConfigMap", NAMESPACE, "config")), api.get(secret)
    assert before is not None
    assert changed is not None
    assert after is not None
    assert changed["data"] == {"a.b": "2"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["data"] != before["data"]


def test_another_namespace_replaces_everything(deployment: Deployment, api: KubernetesApi) -> None:
    deployment.up(a_program())
    other = f"{NAMESPACE}-2"
    assert deployment.up(a_program(namespace=other)) == {"same": 1, "replace": 6}
    assert connector_topics(api, other) == "orders"
    assert api.get(Reference("v1", "Namespace", None, NAMESPACE)) is None


def test_a_switch_to_v1_is_an_update_in_place_once_the_object_has_v1s_fields(
    deployment: Deployment, api: KubernetesApi
) -> None:
    """The version is part of the resource's type in Pulumi, so without an alias the cluster would be deleted."""
    target = Reference(STRIMZI, "KafkaConnect", NAMESPACE, "orders")
    deployment.up(a_connect_program("v1beta2", OLD_GROUP))
    old = api.get(target)
    assert old is not None
    assert deployment.preview(a_connect_program("v1")) == {"same": 2, "create": 1, "delete": 1}
    newer = a_connect_program("v1", known_as=("v1beta2",))
    guarded = a_connect_program("v1", known_as=("v1beta2",), guarded=True)
    for attempt in (deployment.preview, deployment.up):
        with pytest.raises(automation.CommandError, match="api-switch-in-one-step: KafkaConnect mirror-orders/orders"):
            attempt(guarded)
    # The deployment fails at a step that the preview skips: it rewrites managed fields through the new version.
    assert deployment.preview(newer) == {"same": 2, "update": 1}
    with pytest.raises(automation.CommandError, match=r'"orders" is invalid: \[spec.groupId: Required value'):
        deployment.up(newer)
    assert deployment.up(a_connect_program("v1beta2", known_as=("v1",))) == {"same": 2, "update": 1}
    assert deployment.up(guarded) == {"same": 2, "update": 1}
    new = api.get(target)
    assert new is not None
    assert new["metadata"]["uid"] == old["metadata"]["uid"]
    assert "groupId" in new["spec"]
    assert deployment.up(newer) == {"same": 3}
    assert deployment.refresh() == {"same": 3}


def test_an_explicit_provider_deploys_to_the_same_cluster(deployment: Deployment, api: KubernetesApi) -> None:
    deployment.destroy()
    assert deployment.up(a_program(explicit=True)) == {"create": 8}
    assert connector_topics(api) == "orders"
    assert deployment.up(a_program(explicit=True)) == {"same": 8}


def test_an_object_that_already_exists_is_refused_by_name(deployment: Deployment, api: KubernetesApi) -> None:
    foreign = f"{NAMESPACE}-foreign"
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": foreign}})
    deployment.up(a_program())
    for attempt in (deployment.preview, deployment.up):
        with pytest.raises(automation.CommandError, match=f"Namespace {foreign} already exists"):
            attempt(a_program(namespace=foreign))
    api.delete(Reference("v1", "Namespace", None, foreign))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param({"class": "a.B", "taskMax": 1}, "spec.taskMax: field not declared in schema", id="misspelt-field"),
        pytest.param({"class": "a.B", "tasksMax": 0}, "spec.tasksMax", id="out-of-range"),
    ],
)
def test_a_preview_reports_in_the_api_servers_words_what_it_would_refuse(
    deployment: Deployment, spec: dict[str, Any], words: str
) -> None:
    deployment.up(a_program())
    with pytest.raises(automation.CommandError) as refused:
        deployment.preview(a_program(spec=spec))
    assert words in str(refused.value)
    assert "Traceback" not in str(refused.value)


def test_a_refresh_sees_that_somebody_changed_an_object(deployment: Deployment, api: KubernetesApi) -> None:
    deployment.up(a_program())
    changed = {"apiVersion": STRIMZI, "kind": "KafkaConnector", "metadata": {"name": "source", "namespace": NAMESPACE}}
    api.apply({**changed, "spec": {"config": {"topics": "by-hand"}}})
    assert deployment.refresh() == {"same": 6, "update": 1}
    with deployment.forcing():
        assert deployment.up(a_program()) == {"same": 6, "update": 1}
    assert connector_topics(api) == "orders"


def edited_by(endpoints: Endpoints, manager: str, **spec: Any) -> None:
    """Write fields of the connector's spec as another field manager, whoever owned them before."""
    metadata = {"name": "source", "namespace": NAMESPACE}
    with KubernetesApi(endpoints.kubeconfig, field_manager=manager) as theirs:
        theirs.apply({"apiVersion": STRIMZI, "kind": "KafkaConnector", "metadata": metadata, "spec": spec})


def test_changing_a_field_that_somebody_edited_is_a_conflict_unless_it_is_forced(
    deployment: Deployment, api: KubernetesApi, endpoints: Endpoints
) -> None:
    """The first preview shows no conflict: the real provider forces it if the object was never updated."""
    deployment.destroy()
    deployment.up(a_program())
    edited_by(endpoints, "argo", config={"topics": "by-hand"})
    assert deployment.preview(a_program(topics="ledger")) == {"same": 6, "update": 1}
    for attempt in (deployment.up, deployment.preview):
        with pytest.raises(automation.CommandError) as refused:
            attempt(a_program(topics="ledger"))
        failure = engine_failure(str(refused.value), "test", opened=True)
        assert failure.code == "field-conflict"
        assert f"spec.config.topics of {NAMESPACE}/source: argo changed it" in failure.what
    assert connector_topics(api) == "by-hand"
    with deployment.forcing():
        assert deployment.preview(a_program(topics="ledger")) == {"same": 6, "update": 1}
        assert deployment.up(a_program(topics="ledger")) == {"same": 6, "update": 1}
    assert connector_topics(api) == "ledger"


def test_an_update_takes_over_fields_that_kubectl_wrote(
    deployment: Deployment, api: KubernetesApi, endpoints: Endpoints
) -> None:
    """The next update removes fields that kubectl added; it keeps fields that another manager added."""
    deployment.up(a_program())
    edited_by(endpoints, "kubectl-client-side-apply", config={"topics": "by-hand", "more": "x"})
    edited_by(endpoints, "argo", config={"other": "y"})
    deployment.up(a_program(topics="ledger"))
    found = api.get(Reference(STRIMZI, "KafkaConnector", NAMESPACE, "source"))
    assert found is not None
    assert found["spec"]["config"] == {"topics": "ledger", "lag": 1.5, "other": "y"}


def test_an_api_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "a", "user": {"token": "t"}}],
    }
    kubeconfig.write_text(json.dumps(document))
    with (
        KubernetesApi(kubeconfig, field_manager="test") as api,
        pytest.raises(ApiError, match=r"127\.0\.0\.1:1 does not"),
    ):
        api.get(Reference("v1", "Namespace", None, "default"))
