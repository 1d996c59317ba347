"""Several jobs publish verdicts on one flow at the same time, on a real API server, and no verdict is lost."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from kubernetes import client, config

from kafka_replication.components.contract.published_verdict import HISTORY, config_map_name, read_history
from kafka_replication.components.contract.report import Report
from kafka_replication.spark.read.kubernetes import published_data
from kafka_replication.spark.report.publish import publish
from tests.contract.api_servers import NAMESPACE, ApiServer
from tests.spark.reports import flow

JOBS = 6


def test_jobs_that_publish_at_once_keep_each_others_verdicts(api_server_of: Callable[[str], ApiServer]) -> None:
    kubeconfig = api_server_of("v1").kubeconfig
    name = f"history-{uuid.uuid4().hex[:6]}"
    outcomes = [
        replace(flow(name), namespace=NAMESPACE, checked_at=f"2026-01-02T03:04:{at:02}+00:00") for at in range(JOBS)
    ]
    with ThreadPoolExecutor(JOBS) as pool:
        said = list(pool.map(lambda each: publish(Report("s", each.checked_at, 1.0, (each,)), kubeconfig), outcomes))
    assert said == [[f"published configmap {NAMESPACE}/{config_map_name(name)}"]] * JOBS
    core = client.CoreV1Api(config.new_client_from_config(str(kubeconfig)))  # type: ignore[no-untyped-call]
    found = published_data(core, config_map_name(name), NAMESPACE)
    assert found is not None
    history = read_history(found.data)
    assert sorted(each.time for each in history.verdicts) == [each.checked_at for each in outcomes]
    assert history.verdicts[-1].time == found.data["time"]

    damaged = client.V1ConfigMap(binary_data={HISTORY: "aGVsbG8="})
    core.patch_namespaced_config_map(config_map_name(name), NAMESPACE, damaged)
    (_, warning) = publish(Report("s", outcomes[0].checked_at, 1.0, (outcomes[0],)), kubeconfig)
    assert "all earlier verdicts are lost: the history cannot be unpacked; the history continues from here" in warning
