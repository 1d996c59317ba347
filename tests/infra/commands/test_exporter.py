"""`replicate exporter` as a process: what it serves when no cluster answers, and how it ends."""

import signal
import socket
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from kafka_replication.components.contract.exported_series import ALIVE, READY
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.builders import a_topology
from tests.commands import replicate
from tests.exporting import SECONDS, exporter, scrape
from tests.infra.operate.status.exported import values
from tests.infra.stacks import write_stack

pytestmark = pytest.mark.process


@pytest.fixture
def stacks(tmp_path: Path) -> Path:
    """A stack whose Kubernetes cluster takes no connections."""
    folder = write_stack(tmp_path, a_topology())
    kubeconfig = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    document = {
        "clusters": [cluster],
        "contexts": [context],
        "users": [{"name": "u", "user": {}}],
        "current-context": "c",
    }
    kubeconfig.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **document}))
    stack = folder / "Pulumi.test.yaml"
    settings = yaml.safe_load(stack.read_text())
    settings["config"]["kubernetes:kubeconfig"] = str(kubeconfig)
    stack.write_text(yaml.safe_dump(settings))
    return folder


def test_if_no_cluster_answers_the_exporter_serves_only_what_it_could_not_ask(stacks: Path) -> None:
    with exporter("test", "--stacks", stacks) as (process, address):
        found = values(scrape(address))
        probed = [urlopen(address.replace("/metrics", path), timeout=SECONDS).status for path in (ALIVE, READY)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
        assert process.stderr is not None
        said = process.stderr.read()
    assert {name: value for name, value in found.items() if "timestamp" not in name} == {
        f"mirror_flow_unasked {what}": 1
        for what in ("connectors", "heartbeatSeconds", "lag", "losses", "readAgain", "verdict", "logins", "drift")
    }  # fmt: skip
    assert probed == [200, 200], "an exporter that could ask nothing still says what it could not ask"
    assert said.count("could not be asked: test: ") >= 1
    assert "127.0.0.1" in said


def test_an_exporter_that_keeps_says_what_it_could_not_keep_and_ends_with_its_files(stacks: Path) -> None:
    """A mistake in the files ends both the looks and the keeper, although one of them waits for its next look."""
    with exporter("test", "--stacks", stacks, "--keep") as (process, _):
        assert process.stderr is not None
        said = iter(process.stderr.readline, "")
        assert any("test/orders: could not be asked: " in line for line in said)
        (stacks / "Pulumi.test.yaml").write_text("config: {}")
        assert process.wait(SECONDS) in (1, 2)
        assert "Traceback" not in process.stderr.read()


def test_ctrl_c_ends_the_exporter_while_it_waits_for_an_answer(stacks: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        kubeconfig = stacks / "kubeconfig"
        port = str(silent.getsockname()[1])
        kubeconfig.write_text(kubeconfig.read_text().replace("127.0.0.1:1", f"127.0.0.1:{port}"))
        with exporter("test", "--stacks", stacks) as (process, _):
            # It has connected, so it is looking, and it waits for an answer.
            silent.settimeout(SECONDS)
            connection, _ = silent.accept()
            with connection:
                process.send_signal(signal.SIGINT)
                assert process.wait(SECONDS) == 130
                assert process.stderr is not None
                assert "Traceback" not in process.stderr.read()


def test_an_address_that_is_in_use_is_an_error(stacks: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        answer = replicate("exporter", "test", "--stacks", stacks, "--listen", address)
    assert answer.returncode == 2
    assert f"cannot-listen: cannot listen: address already in use, at {address}." in answer.stderr


def test_an_address_of_another_machine_is_an_error(stacks: Path) -> None:
    answer = replicate("exporter", "test", "--stacks", stacks, "--listen", "192.0.2.1:9847")
    assert answer.returncode == 2
    assert "cannot-listen: cannot listen: cannot assign requested address, at 192.0.2.1:9847." in answer.stderr


@pytest.mark.parametrize("address", ["9847", "127.0.0.1", ":9847", "127.0.0.1:http", "127.0.0.1:70000"])
def test_an_invalid_address_is_refused_with_an_example(address: str) -> None:
    answer = replicate("exporter", "prod-us-west-2", "--listen", address)
    assert answer.returncode == 2
    assert "write HOST:PORT, such as" in " ".join(answer.stderr.replace("│", "").split())


def test_an_unknown_stack_is_refused() -> None:
    answer = replicate("exporter", "nowhere")
    assert answer.returncode == 2
    assert "unknown-stack: stack `nowhere` has no file" in answer.stderr


def test_each_look_reads_the_stack_files_again(stacks: Path) -> None:
    """An exporter runs for weeks. Otherwise a new flow would have no alerts, and an outdated verdict would count."""
    topology = stacks / "topologies" / "test.yaml"
    with exporter("test", "--stacks", stacks, every_seconds=1) as (process, address):
        assert 'flow="orders"' in scrape(address)
        topology.write_text(topology.read_text().replace("orders:", "ledger:"))

        def probe() -> None:
            if 'flow="ledger"' not in scrape(address):
                raise NotYetError("the flow has its old name")

        wait_for("a look at the changed topology", probe, SECONDS)
        topology.write_text("clusters: {}")
        assert process.wait(SECONDS) == 1
        assert process.stderr is not None
        assert "missing-key: `strimzi` is missing" in process.stderr.read()


def test_zero_series_for_the_worst_partitions_and_groups_is_refused() -> None:
    """Without these series, their alerts could not fire."""
    answer = replicate("exporter", "prod-us-west-2", "--worst", "0", "--listen", "192.0.2.1:9847")
    assert answer.returncode == 2
    assert "greater than or equal to 1" in " ".join(answer.stderr.replace("│", "").split())


def test_the_exporter_does_not_start_if_the_topology_has_a_mistake(tmp_path: Path) -> None:
    topology = a_topology()
    topology["replications"]["orders"]["target"] = "useast"
    answer = replicate("exporter", "test", "--stacks", write_stack(tmp_path, topology), "--listen", "127.0.0.1:0")
    assert answer.returncode == 1
    assert "equal-aliases" in answer.stderr
    assert "serving" not in answer.stderr
