"""The provider as a process: it completes and answers a request even if its program is killed meanwhile."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.environment import provider_process
from kafka_replication.infra.local.provider.manifests import encode
from tests.local.promoting import held
from tests.repository import ROOT

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("stopped_programs")]

NAME = "begun-before-the-kill"
CONNECTOR: Object = {
    "apiVersion": "kafka.strimzi.io/v1",
    "kind": "KafkaConnector",
    "metadata": {"name": NAME, "namespace": "default"},
    "spec": {"class": "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector", "tasksMax": 1, "config": {}},
}
PROGRAM = """
import sys
from pathlib import Path
from kafka_replication.infra.local.environment import provider_process
with provider_process(Path(sys.argv[1]), patch_force=False) as port:
    print(port, flush=True)
    sys.stdin.read()
"""


@contextmanager
def a_program(kubeconfig: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A program with its own provider, and the provider's port."""
    command = [sys.executable, "-c", PROGRAM, str(kubeconfig)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        yield program, int(program.stdout.readline())


def test_a_request_is_completed_and_answered_after_its_program_was_killed(endpoints: Endpoints) -> None:
    target = Reference("kafka.strimzi.io/v1", "KafkaConnector", "default", NAME)
    with (
        KubernetesApi(endpoints.kubeconfig, field_manager="test") as api,
        a_program(endpoints.kubeconfig) as (program, port),
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        engine = provider_pb2_grpc.ResourceProviderStub(channel)
        with held(api, "kafkaconnectors") as hold:
            request = provider_pb2.CreateRequest(
                urn=f"urn:pulumi:test::test::any::{NAME}", properties=encode(CONNECTOR)
            )
            begun = engine.Create.future(request)
            hold.asked()
            program.kill()
            program.wait()
            hold.release()
            try:
                assert begun.result().id == f"default/{NAME}"
            finally:
                api.delete(target)


def test_a_provider_that_cannot_start_is_an_error_with_its_reason_on_stderr(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CannotRunError) as caught, provider_process(tmp_path / "none", patch_force=False):
        pass
    assert caught.value.code == "provider-not-started"
    assert "Invalid kube-config file" in capfd.readouterr().err
