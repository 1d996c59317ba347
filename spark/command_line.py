"""Runs the job for a document. Exit code 0: all is proven; 1: problems; 2: something could not be checked."""

import json
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console

from kafka_replication.components.contract.parameters import FlowParameters, Parameters, UnsupportedAuthentication
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.published_verdict import History
from kafka_replication.components.contract.report import EXIT_CODES, Depth, Report, Verdict, why_not_published
from kafka_replication.components.kafka.patterns import pattern_error
from kafka_replication.spark.arguments import parser, session_options
from kafka_replication.spark.job import Options, run
from kafka_replication.spark.read.kubernetes import await_connectors, published_history
from kafka_replication.spark.read.sessions import SessionOptions
from kafka_replication.spark.report.printing import print_report, report_text
from kafka_replication.spark.report.publish import publish


def main(argv: list[str] | None = None, session: SessionOptions | None = None) -> int:
    """Run the job as the command line says, and return the exit code. `session` replaces what it says about Spark."""
    arguments = parser().parse_args(argv)
    console = Console(stderr=True)
    options = Options(
        session or session_options(arguments),
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
            histories = {flow.name: published_history(flow, arguments.kubeconfig) for flow in flows}
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
    """Return the function that makes a report's page; raises CannotRunError without Jinja2, before the job runs."""
    try:
        from kafka_replication.spark.report.page import page
    except ImportError as error:
        what = f"{error.name} is not installed"
        why = "The page that --html names is made with Jinja2."
        remedy = "install Jinja2 for this Python, or leave --html out."
        raise CannotRunError("jinja2-missing", what, sys.executable, why, remedy) from None
    return page


def write(path: Path, text: str, option: str) -> None:
    """Write `text` to the file that `option` names; raises CannotRunError if that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        why = f"The report goes to the file that {option} names."
        remedy = f"give {option} a writable path."
        raise CannotRunError("report-not-written", error.strerror or "not writable", str(path), why, remedy) from None


def show(report: Report, as_json: bool) -> None:
    """Print the report: folded to the width of a terminal, unfolded in a pipe or a file."""
    if as_json:
        print(json.dumps(report.document(), indent=2))
    elif sys.stdout.isatty():
        print_report(report, Console())
    else:
        print(report_text(report))


def entry(argv: list[str] | None = None, session: SessionOptions | None = None) -> int:
    """`main`. A bug of the job exits with 2, because Python's own exit code 1 would mean that problems were found."""
    try:
        return main(argv, session)
    except Exception:  # noqa: BLE001  # a bug is no verdict
        traceback.print_exc()
        return EXIT_CODES[Verdict.ERROR]


def read_document(path: Path) -> Parameters:
    """Return the document in the file; raises CannotRunError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "the file is not UTF-8 text"
        why = "The document says what to check on which clusters."
        remedy = "give --parameters the path of the document."
        raise CannotRunError("parameters-unreadable", f"{what}", str(path), why, remedy) from None
    return parse_document(text, str(path))


def parse_document(text: str, where: str) -> Parameters:
    """Return the document in `text`. Raises CannotRunError, which names every wrong key but repeats no value."""
    try:
        document = Parameters.model_validate(json.loads(text))
    except json.JSONDecodeError as error:
        what = f"line {error.lineno} is not JSON: {error.msg}"
        why = "The parameter document is JSON."
        remedy = "write the document with `replicate`, or take it from the stack's outputs."
        raise CannotRunError("parameters-not-json", what, where, why, remedy) from None
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, problem['loc'])) or 'document'}: {problem['msg']}" for problem in error.errors()]
        raise _invalid(wrong, where) from None
    if unusable := _unusable(document):
        raise _invalid(unusable, where)
    return document


def chosen_flows(document: Parameters, name: str | None) -> tuple[FlowParameters, ...]:
    """Return the flow, or the flows of the replication, of that name; all flows without one. Raises CannotRunError."""
    if name is None:
        return document.flows
    chosen = tuple(flow for flow in document.flows if name in (flow.name, flow.replication))
    if not chosen:
        known = ", ".join(flow.name for flow in document.flows)
        why = "The document holds neither a flow nor a replication of that name."
        raise CannotRunError("unknown-flow", f"no flow is named {name!r}", "--flow", why, f"name one of: {known}.")
    return chosen


def _unusable(document: Parameters) -> list[str]:
    """Return the parts of the document that the program may write but the job cannot check."""
    if not document.flows:
        return ["flows: the stack deploys no flow"]
    logins = [
        f"flows.{index}.{side}.authentication: the job cannot log in by {cluster.authentication.type}; give cluster "
        f"{cluster.alias} another login for the job under validation.authentication"
        for index, flow in enumerate(document.flows)
        for side, cluster in (("source", flow.source), ("target", flow.target))
        if isinstance(cluster.authentication, UnsupportedAuthentication)
    ]
    patterns = [
        f"flows.{index}: the job cannot evaluate the pattern {pattern!r}: {error.reason}"
        for index, flow in enumerate(document.flows)
        for pattern in flow.patterns
        if (error := pattern_error(pattern)) is not None
    ]
    return logins + patterns


def _invalid(wrong: list[str], where: str) -> CannotRunError:
    why = "The job reads version 1 of the document."
    return CannotRunError("parameters-invalid", "; ".join(wrong), where, why, "correct these keys.")
