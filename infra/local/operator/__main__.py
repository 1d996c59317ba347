"""Entry of the local operator: `python -m infra.local.operator --kubeconfig … --state-dir … --jdk … …`."""

import argparse
import fcntl
import logging
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from infra.local.operator.connect_clusters import ConnectClusters
from infra.local.operator.connector_reconciler import ConnectorReconciler
from infra.local.operator.reconcile import Operator
from infra.local.operator.remembered_reads import RememberedReads
from infra.local.operator.worker_processes import Runtime, Workers
from infra.machine.jdk import choose_jdk
from infra.machine.versions import JDK_MINIMUM

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
        if not _lock(lock):
            logging.error("another operator is using %s", state_dir)
            return 2
        return _run(options, state_dir)


def _run(options: argparse.Namespace, state_dir: Path) -> int:
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    runtime = Runtime(
        jdk=choose_jdk([options.jdk], (), JDK_MINIMUM),
        connect_lib=options.connect_lib.resolve(),
        config_provider_lib=options.config_provider_lib.resolve(),
        metrics_lib=options.metrics_lib.resolve(),
        state_dir=state_dir,
    )
    try:
        workers = Workers(runtime)
    except ValueError:
        # Pydantic's message would quote the file.
        logging.error("%s cannot be read; stop the workers that still run, and remove it", runtime.ledger)  # noqa: TRY400
        return 2
    with RememberedReads(options.kubeconfig, field_manager=FIELD_MANAGER) as api:
        clusters, connectors = ConnectClusters(api, options.kubeconfig, workers), ConnectorReconciler(api)
        operator = Operator(api, clusters, connectors)
        while not ending.is_set():
            operator.round()
            ending.wait(INTERVAL_SECONDS)
    logging.info("stopping the workers")
    workers.stop_all()
    return 0


def _lock(lock: TextIO) -> bool:
    """Whether this is the only operator of the state: two would each start workers for the same KafkaConnect."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m infra.local.operator", description=__doc__)
    for name, told in {
        "--jdk": "home of the JDK that workers run on",
        "--connect-lib": "directory with the jars of Connect and MirrorMaker",
        "--config-provider-lib": "directory with the jars of Strimzi's configuration providers, and no others",
        "--metrics-lib": "directory with the jars that report the workers' metrics",
        "--kubeconfig": "kubeconfig of a user who may do everything",
        "--state-dir": "directory for the workers' files and the ledger of their processes",
    }.items():
        parser.add_argument(name, type=Path, required=True, help=told)
    return parser


if __name__ == "__main__":
    sys.exit(main())
