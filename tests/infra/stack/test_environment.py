"""What differs between a stack on a real cluster and one on the local stack; the stack file decides which it is."""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.infra.local import environment as local_environment
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.endpoints import REGIONS, USERS, load_endpoints, password_key, regions_down
from kafka_replication.infra.local.state import PartRecord, State, save_state
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from tests.builders import a_cluster, a_topology
from tests.infra.stacks import write_stack
from tests.repository import STACKS

SUPPLIED = {
    f"{alias}{key}": (value, secret)
    for alias in ("useast", "uswest")
    for key, value, secret in (
        ("Bootstrap", "127.0.0.1:1", False),
        ("Ca", "certificate", True),
        ("MirrorPassword", "hunter2", True),
        ("ValidatorPassword", "hunter2", True),
    )
}


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, bool]]:
    """A running local stack; returns the configuration that it supplies."""
    supplied = dict(SUPPLIED)
    monkeypatch.setattr(local_environment, "load_endpoints", lambda: None)
    monkeypatch.setattr(local_environment, "stack_config", lambda _: supplied)
    return supplied


def a_stack(folder: Path, **config: object) -> StackSettings:
    user = {"cluster": "kafka", "namespace": "kafka-east"}
    clusters = {"useast": a_cluster(kafkaUser=user), "uswest": a_cluster("us-west-2")}
    return read_settings("test", write_stack(folder, a_topology(clusters=clusters), **config))


@pytest.mark.parametrize("local", [False, True], ids=["a real cluster", "the local stack"])
def test_a_deployment_waits_for_kafka_users_only_on_a_real_cluster(tmp_path: Path, local: bool) -> None:
    """The local stack has no User Operator: a deployment would wait for its users until the deadline."""
    environment = stack_environment(a_stack(tmp_path, local=local))
    assert environment.on_this_machine is local
    assert [user.kind for user in environment.awaited_users()] == ([] if local else ["KafkaUser"])


def test_the_local_stack_supplies_addresses_and_secret_keys_but_no_secret_values(
    running: dict[str, tuple[str, bool]],
) -> None:
    configured = stack_environment(read_settings("local", STACKS)).configured()
    assert configured.values["useastBootstrap"] == running["useastBootstrap"][0]
    assert configured.secret_keys == {key for key, (_, secret) in running.items() if secret}
    assert "hunter2" not in repr(configured), "a value of a secret would reach logs"


def test_a_credential_that_the_local_stack_lacks_is_reported_before_the_engine_starts(
    running: dict[str, tuple[str, bool]],
) -> None:
    assert OpenStack(read_settings("local", STACKS)).flows
    del running["uswestMirrorPassword"]
    with pytest.raises(ReplicationError, match="uswestMirrorPassword"):
        OpenStack(read_settings("local", STACKS)).require_credentials()


@pytest.mark.process
@pytest.mark.usefixtures("running")
def test_reading_state_starts_no_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider is a separate process, which takes longer to start than the engine takes to read the state."""
    monkeypatch.setenv("REPLICATE_LOCAL", str(tmp_path))
    monkeypatch.setattr(local_environment, "load_endpoints", lambda: SimpleNamespace(kubeconfig=tmp_path / "none"))
    environment = stack_environment(read_settings("local", STACKS))
    with environment.workspace(deploys=False) as place:
        assert "PULUMI_DEBUG_PROVIDERS" not in place.variables
    with pytest.raises(CannotRunError, match="provider ended"), environment.workspace():
        raise AssertionError("a deployment has none either")


def test_a_stack_file_outside_the_projects_stack_folder_is_refused(tmp_path: Path) -> None:
    """Pulumi would read the file of the same name in the project's own folder."""
    (tmp_path / "Pulumi.yaml").write_text("name: test\nruntime: python\nstackConfigDir: elsewhere\n")
    environment = stack_environment(a_stack(tmp_path))
    with pytest.raises(CannotRunError, match="`stackConfigDir`"), environment.workspace():
        raise AssertionError("it has one")


def test_kubernetes_and_the_other_region_stay_usable_while_a_region_is_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLICATE_LOCAL", str(tmp_path))
    here = psutil.Process()
    alive = {
        name: PartRecord(name=name, pid=here.pid, created=here.create_time(), ready=True)
        for name in ("kube-apiserver", "kafka-uswest")
    }
    ports = {f"kafka-{alias}{kind}": 9093 for alias in REGIONS for kind in ("", "-tls")}
    passwords = {password_key(alias, user): "x" for alias in REGIONS for user in USERS}
    save_state(State(ports=ports, parts=alive, passwords=passwords))
    settings = read_settings("local", STACKS)
    assert stack_environment(settings).kubernetes_access().kubeconfig == str(paths.kubeconfig())
    assert regions_down() == ("useast",)
    assert set(load_endpoints(["uswest"]).regions) == set(REGIONS)
    with pytest.raises(CannotRunError, match=r"\(down: kafka-useast\)"):
        load_endpoints(["useast"])
