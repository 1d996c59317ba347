"""The job's command line. Exit code 0: everything is proven; 1: problems found; 2: something could not be checked."""

import argparse
import json
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from components.contract.depth import Depth, why_not_published
from components.contract.history import History
from components.contract.problems import CannotRunError
from components.contract.report import EXIT_CODES, Report, Verdict
from components.contract.spark_conf import why_not_conf
from spark.connectors_run import await_connectors
from spark.documents import chosen_flows, read_document
from spark.job import Options, run
from spark.published import published_history
from spark.report.printing import print_report, report_text
from spark.report.publish import publish
from spark.sessions import SessionOptions

EXAMPLE = """example:
  python spark/validate.py --parameters params.json --flow orders --report report.json --publish

exit code: 0 everything is proven, 1 problems found, 2 something could not be checked"""


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
        "--catch-up-seconds", type=float, default=30, help="how long a target that is behind may take (default: 30)"
    )
    arguments.add_argument(
        "--depth",
        choices=[each.value for each in Depth],
        default=Depth.FULL.value,
        help="quick: of each partition only the newest records, which is never published; incremental: only what the "
        "newest published verdict has not proven (default: full)",
    )
    session = arguments.add_argument_group("Spark, if not started by spark-submit")
    session.add_argument("--master", default="local[*]", help="Spark master (default: local[*])")
    session.add_argument("--jars-dir", type=Path, help="jars of spark/pom.xml (default: $REPLICATE_SPARK_JARS)")
    session.add_argument("--driver-memory", default="1g", help="heap of the driver (default: 1g)")
    session.add_argument(
        "--spark-conf",
        action="append",
        default=[],
        type=conf_pair,
        metavar="KEY=VALUE",
        help="a setting of Spark; may be repeated",
    )
    return arguments


def conf_pair(given: str) -> tuple[str, str]:
    """KEY=VALUE as a pair; raises ArgumentTypeError for what the job does not take."""
    key, is_pair, value = given.partition("=")
    if not is_pair:
        raise argparse.ArgumentTypeError(f"{given} is not KEY=VALUE")
    if refused := why_not_conf(key):
        raise argparse.ArgumentTypeError(f"{key} cannot be set: {refused[0]}; {refused[1]}")
    return key, value


def main(argv: list[str] | None = None) -> int:
    """Run the job as the command line says, and return the exit code."""
    arguments = parser().parse_args(argv)
    console = Console(stderr=True)
    options = Options(
        SessionOptions(arguments.master, arguments.jars_dir, arguments.driver_memory, dict(arguments.spark_conf)),
        arguments.catch_up_seconds,
        arguments.kubeconfig,
        Depth(arguments.depth),
        lambda step: console.print(f"  {step} …", style="dim", markup=False, highlight=False, soft_wrap=True),
        arguments.secrets,
    )
    try:
        if arguments.publish and (refused := why_not_published(options.depth)):
            raise refused
        document = read_document(arguments.parameters)
        page = page_writer() if arguments.html else None
        flows = chosen_flows(document, arguments.flow)
        await_connectors(flows, arguments.kubeconfig, arguments.ready_seconds, options.progress)
        report = run(document, flows, options)
        if arguments.report:
            write(arguments.report, json.dumps(report.document(), indent=2) + "\n", "--report")
        if page is not None:
            histories = {each.name: published_history(each, arguments.kubeconfig) for each in flows}
            write(arguments.html, page(report, histories), "--html")
        show(report, arguments.json)
        if arguments.publish:
            for sentence in publish(report, arguments.kubeconfig):
                console.print(f"  {sentence}", style="dim", markup=False, soft_wrap=True)
    except CannotRunError as error:
        console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        return EXIT_CODES[Verdict.ERROR]
    return report.exit_code


def page_writer() -> Callable[[Report, Mapping[str, History]], str]:
    """What makes a page of a report; raises CannotRunError if Jinja2 is missing, before the job spends minutes."""
    try:
        from spark.report.page import page
    except ImportError as error:
        raise CannotRunError(
            "jinja2-missing",
            f"{error.name} is not installed",
            sys.executable,
            "The page that --html names is made with Jinja2.",
            "install Jinja2 for this Python, or leave --html out.",
        ) from None
    return page


def write(path: Path, text: str, option: str) -> None:
    """Write `text` to the file that `option` names; raises CannotRunError if that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotRunError(
            "report-not-written",
            error.strerror or "not writable",
            str(path),
            f"The report goes to the file that {option} names.",
            f"give {option} a writable path.",
        ) from None


def show(report: Report, as_json: bool) -> None:
    """Print the report: folded to the width of a terminal, unfolded into a pipe or a file."""
    if as_json:
        print(json.dumps(report.document(), indent=2))
    elif sys.stdout.isatty():
        print_report(report, Console())
    else:
        print(report_text(report))


def entry(argv: list[str] | None = None) -> int:
    """`main`. A bug of the job exits with 2, because Python's own exit code 1 would mean that problems were found."""
    try:
        return main(argv)
    except Exception:  # noqa: BLE001  # a bug is no verdict
        traceback.print_exc()
        return EXIT_CODES[Verdict.ERROR]
