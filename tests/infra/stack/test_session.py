"""A stack is opened once: a command makes one Kafka client for each login, and reads each Secret once."""

import base64
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest

from kafka_replication.components.checks.listed_names import ClusterNames
from kafka_replication.components.clients.login import ClientConfig, Purpose
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.clients.writer import GroupWriter, TopicAcls
from kafka_replication.components.contract.parameters import ClusterParameters
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.render.deployments import deployments
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference, reference
from kafka_replication.infra.operate.flow_access import open_flow
from kafka_replication.infra.operate.move.failover import Failover
from kafka_replication.infra.operate.move.fence import FencedFailover
from kafka_replication.infra.operate.status.look import look
from kafka_replication.infra.stack.listed_names import names_in_clusters
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from tests.builders import a_cluster, a_flow, a_topology
from tests.components.clients.brokers import Cluster, Reader
from tests.infra.operate.move.night import Acls, Operator, Writer, a_call
from tests.infra.stacks import write_stack

GROUP, ORDERS, REMOTE = "checkout-app", TopicPartition("orders", 0), TopicPartition("useast.orders", 0)


class CountingOperator(Operator):
    """Kubernetes with every Secret that is asked for; it counts the reads of Secrets."""

    def __init__(self, objects: dict[Reference, Object]) -> None:
        super().__init__(objects)
        self.secrets: Counter[str] = Counter()

    def get(self, wanted: Reference) -> Object | None:
        if wanted.kind != "Secret":
            return super().get(wanted)
        self.secrets[wanted.name] += 1
        return {"data": dict.fromkeys(("password", "ca.crt"), base64.b64encode(b"x").decode())}


class CountingStack(OpenStack):
    """A stack of two brokers in this process; it counts the clients that are made."""

    def __init__(self, settings: StackSettings) -> None:
        super().__init__(settings)
        declared = [dict(planned.manifest) for one in deployments(self.flows) for planned in one.objects]
        connectors = [deepcopy(body) for body in declared if body["kind"] == "KafkaConnector"]
        self.operator = CountingOperator({reference(body): body for body in connectors})
        for body in connectors:
            self.operator.report(body)
        self.kubernetes = cast(KubernetesApi, self.operator)
        self.brokers = {"useast": Cluster(), "uswest": Cluster()}
        self.clients: Counter[str] = Counter()
        self._fakes: dict[object, Callable[[str, ClientConfig], Any]] = {
            KafkaReader: self._reader,
            GroupWriter: self._writer,
            TopicAcls: self._acls,
        }

    def kafka(self, client: Any, cluster: ClusterParameters, purpose: Purpose) -> Any:
        return super().kafka(self._fakes[client], cluster, purpose)

    def _reader(self, alias: str, _: ClientConfig) -> KafkaReader:
        self.clients["reader"] += 1
        return Reader(alias, self.brokers[alias].config, {GROUP: 0})

    def _writer(self, alias: str, _: ClientConfig) -> GroupWriter:
        self.clients["writer"] += 1
        return Writer(alias, self.brokers[alias].config)

    def _acls(self, alias: str, _: ClientConfig) -> TopicAcls:
        self.clients["acls"] += 1
        return Acls(alias)


@pytest.fixture
def stack(tmp_path: Path) -> CountingStack:
    """Twelve replicated records, and a group that has read some of them; the validation has its own login."""
    own = {"authentication": {"type": "scram-sha-512", "username": "v", "password": {"secret": "v", "key": "password"}}}
    clusters = {
        "useast": a_cluster(bootstrapServers="useast:9093", validation=own),
        "uswest": a_cluster("us-west-2", bootstrapServers="uswest:9093", validation=own),
    }
    topology = a_topology(a_flow(topics=["orders"], groups=["checkout-.*"]), clusters=clusters)
    opened = CountingStack(read_settings("test", write_stack(tmp_path, topology)))
    records = [(number, "") for number in range(12)]
    opened.brokers["useast"].hold("orders", records)
    opened.brokers["uswest"].hold("useast.orders", records)
    opened.brokers["useast"].commit(GROUP, {ORDERS: 4})
    return opened


def test_a_status_makes_one_client_for_each_login(stack: CountingStack) -> None:
    look([stack])
    assert stack.clients == {"reader": 4}
    assert set(stack.operator.secrets.values()) == {1}


def test_the_names_of_topics_and_groups_come_from_one_client_of_each_source(stack: CountingStack) -> None:
    assert names_in_clusters(stack) == {"useast": ClusterNames(("orders",), (GROUP,))}
    assert stack.clients == {"reader": 1}


def test_a_source_that_does_not_answer_is_named_with_what_to_do_instead(stack: CountingStack) -> None:
    stack.brokers["useast"].config["bootstrap.servers"] = "127.0.0.1:1"
    with pytest.raises(CannotRunError) as caught:
        names_in_clusters(stack)
    assert (caught.value.code, caught.value.where) == ("not-answered", "cluster useast")
    assert caught.value.what.startswith("its names could not be read: Kafka cluster useast does not answer: ")
    assert caught.value.remedy.endswith("or give `--topics` a file.")


@pytest.mark.parametrize("fence", [False, True])
def test_a_failover_makes_one_client_for_each_login(stack: CountingStack, fence: bool) -> None:
    """A new client for every question would log in, and read Secrets, five times a second while a fence settles."""
    call = a_call(watch_seconds=1 if fence else 0)
    with open_flow(stack, "orders") as opened:
        (FencedFailover(call, opened) if fence else Failover(call, opened)).run()
    assert Reader("uswest", stack.brokers["uswest"].config).committed([GROUP])[GROUP][REMOTE] == 4
    assert stack.clients == {"reader": 2, "writer": 1, **({"acls": 1} if fence else {})}
    assert set(stack.operator.secrets.values()) == {1}
