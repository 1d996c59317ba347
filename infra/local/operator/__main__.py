"""Entry of the local operator: `python -m kafka_replication.infra.local.operator --kubeconfig … --state-dir … …`."""

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from kafka_replication.infra.local.kubelet import Kubelet, PodProcesses
from kafka_replication.infra.local.operator.connect_clusters import ConnectClusters
from kafka_replication.infra.local.operator.connector_reconciler import ConnectorReconciler
from kafka_replication.infra.local.operator.ledger import DamagedLedgerError
from kafka_replication.infra.local.operator.reconcile import CachedReads, Operator
from kafka_replication.infra.local.operator.worker_processes import KafkaJars, WorkerProcesses
from kafka_replication.infra.machine.jdk import choose_jdk
from kafka_replication.infra.machine.versions import JDK_MINIMUM
from kafka_replication.infra.machine.waiting import try_lock

FIELD_MANAGER = "strimzi-cluster-operator"
INTERVAL_SECONDS = 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT, then stop the workers. Return 0 after a clean end, 2 if it could not start."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    state_dir = options.state_dir.resolve()
    state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (state_dir / "operator.lock").open("w") as lock:
        # Two would each start workers for the same KafkaConnect.
        if not try_lock(lock):
            logging.error("another operator is using %s", state_dir)
            return 2
        return _run(options, state_dir)


def _run(options: argparse.Namespace, state_dir: Path) -> int:
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    jdk = choose_jdk([options.jdk], (), JDK_MINIMUM)
    libs = options.config_provider_lib.resolve(), options.metrics_lib.resolve()
    try:
        workers, pods = WorkerProcesses(jdk, *libs, state_dir), PodProcesses(state_dir)
    except DamagedLedgerError as error:
        logging.error("%s cannot be read; stop the processes that are still running, and delete this file", error)  # noqa: TRY400
        return 2
    with CachedReads(options.kubeconfig, field_manager=FIELD_MANAGER) as api:
        jars = KafkaJars(jdk, options.connect_lib.resolve())
        clusters = ConnectClusters(api, options.kubeconfig, workers, jars)
        operator = Operator(api, clusters, ConnectorReconciler(api, options.reconciliation_seconds))
        kubelet = Kubelet(api, options.kubeconfig, jdk, options.spark_lib.resolve(), pods)
        while not ending.is_set():
            operator.round()
            kubelet.round()
            ending.wait(INTERVAL_SECONDS)
    logging.info("stopping the workers and pods")
    pods.stop_all()
    workers.stop_all()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kafka_replication.infra.local.operator", description=__doc__)
    for name, told in {
        "--jdk": "home of the JDK that workers run on",
        "--connect-lib": "directory with the Kafka jars for workers that set no other version",
        "--config-provider-lib": "directory with the jars of Strimzi's configuration providers, and no others",
        "--metrics-lib": "directory with the jars that report the workers' metrics",
        "--spark-lib": "directory with the jars of the validation job",
        "--kubeconfig": "kubeconfig of a user who may do everything",
        "--state-dir": "directory for the workers' files and the ledger of their processes",
    }.items():
        parser.add_argument(name, type=Path, required=True, help=told)
    told = "how often to look at a connector whose resource does not change; 0 is every round"
    parser.add_argument("--reconciliation-seconds", type=float, default=0.0, help=told)
    return parser


if __name__ == "__main__":
    sys.exit(main())
