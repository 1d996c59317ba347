"""The example stack with a second flow, deployed once for all tests of this folder and destroyed after them."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from kubernetes import client, config
from pyspark.sql import SparkSession

from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import consume_to, create_topics, make_example_traffic, produce
from kafka_replication.infra.stack.settings import read_settings
from tests.local.flows import Deployed, grant_mirror, write_edited

LEDGER_NAMESPACE = "mirror-ledger"


@pytest.fixture(scope="package")
def deployed(endpoints: Endpoints, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The stack `local` with its flow `orders`, and `ledger`: identity policy, source over mutual TLS."""
    # The job finds this session and does not start its own.
    assert spark
    edit = partial(_add_ledger, endpoints=endpoints)
    stacks = write_edited(tmp_path_factory.mktemp("stacks"), "local", edit)
    _make_ledger_namespace(endpoints)
    source = endpoints.regions["useast"]
    create_topics(source, {"ledger": 2})
    make_example_traffic(source, 600, seed=1)
    produce(source, "ledger", 500, seed=1)
    consume_to(source, "ledger-audit", {("ledger", 0): 100, ("ledger", 1): 100})
    stack = Deployed(read_settings("local", stacks), endpoints)
    grant_mirror(endpoints, stack.flow("ledger"), "useast")
    with stack.running():
        make_example_traffic(source, 600, seed=1)
        yield stack


def _add_ledger(topology: dict[str, Any], endpoints: Endpoints) -> None:
    topology["clusters"]["useast-tls"] = {
        **topology["clusters"]["useast"],
        "bootstrapServers": endpoints.regions["useast"].tls_bootstrap_servers,
        "authentication": {"type": "tls", "secret": "useast-client", "principal": "mirror"},
        "validation": {"authentication": {"type": "tls", "secret": "useast-validator"}},
    }
    topology["replications"]["ledger"] = {
        **topology["replications"]["orders"],
        "source": "useast-tls",
        "topics": ["ledger"],
        "groups": ["ledger-.*"],
        "policy": "identity",
        "namespace": {"create": False},
    }


def _make_ledger_namespace(endpoints: Endpoints) -> None:
    """A namespace and Secrets that exist before the deployment, as if a platform team had created them."""
    api: client.ApiClient = config.new_client_from_config(str(endpoints.kubeconfig))  # type: ignore[no-untyped-call]
    core = client.CoreV1Api(api)
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=LEDGER_NAMESPACE)))
    users = endpoints.regions["useast"].users
    for name, user in (("useast-client", users["mirror"]), ("useast-validator", users["validator"])):
        pair = user.certificate
        data = {"user.crt": pair.certificate.read_text(), "user.key": pair.key.read_text()}
        secret = client.V1Secret(metadata=client.V1ObjectMeta(name=name), string_data=data)
        core.create_namespaced_secret(LEDGER_NAMESPACE, secret)
