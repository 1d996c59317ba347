"""The arguments of the job. Imports little, so that its JVM can start while everything else is imported."""

import argparse
from pathlib import Path

from kafka_replication.components.contract.report import Depth
from kafka_replication.components.contract.spark_conf import DRIVER_HEAP, why_not_conf
from kafka_replication.spark.read.sessions import SessionOptions

EXAMPLE = """example:
  python spark/validate.py --parameters params.json --flow orders --report report.json --publish

exit code: 0 everything that was checked passed, even if --depth quick left something out; 1 problems found;
2 something that should be checked could not be"""


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(
        prog="validate.py",
        description="Prove from the records of both clusters that a replication flow works.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_argument("--parameters", type=Path, required=True, help="parameter document of the stack (JSON)")
    arguments.add_argument("--flow", help="check only this flow or replication (default: all of the document)")
    arguments.add_argument("--report", type=Path, help="write the report here (JSON, see spark/report/schema.json)")
    arguments.add_argument("--html", type=Path, help="write the report here as a page (needs Jinja2)")
    arguments.add_argument("--publish", action="store_true", help="write the verdict to ConfigMap <flow>-validation")
    arguments.add_argument("--json", action="store_true", help="print the report as JSON instead of a table")
    arguments.add_argument(
        "--kubeconfig", type=Path, help="for Secrets and --publish (default: $KUBECONFIG, else the pod's)"
    )
    arguments.add_argument(
        "--secrets",
        type=Path,
        metavar="DIR",
        help="folder with the Secrets as files, at NAMESPACE/NAME/KEY, as a pod mounts them (default: read them from "
        "the Kubernetes API)",
    )
    arguments.add_argument(
        "--ready-seconds",
        type=float,
        default=0,
        help="how long to wait until the flow's connectors run before they are judged (default: 0)",
    )
    arguments.add_argument(
        "--catch-up-seconds",
        type=float,
        default=30,
        help=("how long a target that is behind may take to catch up (default: 30)"),
    )
    arguments.add_argument(
        "--depth",
        choices=[depth.value for depth in Depth],
        default=Depth.FULL.value,
        help=(
            "quick: only the newest records of each partition, never published; incremental: only what the newest "
            "published verdict has not proven (default: full)"
        ),
    )
    session = arguments.add_argument_group("Spark, if not started by spark-submit")
    session.add_argument("--master", default="local[*]", help="Spark master (default: local[*])")
    session.add_argument("--jars-dir", type=Path, help="jars of spark/pom.xml (default: $REPLICATE_SPARK_JARS)")
    session.add_argument("--driver-memory", default=DRIVER_HEAP, help="heap of the driver (default: %(default)s)")
    session.add_argument(
        "--spark-conf",
        action="append",
        default=[],
        type=conf_pair,
        metavar="KEY=VALUE",
        help="a Spark setting; may be repeated",
    )
    return arguments


def conf_pair(given: str) -> tuple[str, str]:
    """Return KEY=VALUE as a pair; raises ArgumentTypeError for a setting that the job does not take."""
    key, is_pair, value = given.partition("=")
    if not is_pair:
        raise argparse.ArgumentTypeError(f"{given} is not KEY=VALUE")
    if refused := why_not_conf(key):
        raise argparse.ArgumentTypeError(f"{key} cannot be set: {refused[0]}; {refused[1]}")
    return key, value


def session_options(arguments: argparse.Namespace) -> SessionOptions:
    """Return what the arguments say about Spark."""
    return SessionOptions(arguments.master, arguments.jars_dir, arguments.driver_memory, dict(arguments.spark_conf))
