"""Verdicts, exit codes and the report's form."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from rich.console import Console

from kafka_replication.components.contract.parameters import Parameters
from kafka_replication.components.contract.remedies import advice
from kafka_replication.components.contract.report import (
    SAMPLES,
    CheckName,
    CheckOutcome,
    Finding,
    FlowOutcome,
    Report,
    Verdict,
    error,
    fail,
    note,
)
from kafka_replication.spark.command_line import entry, show
from kafka_replication.spark.job import Options, run
from kafka_replication.spark.report.printing import print_report, report_text
from kafka_replication.spark.report.publish import config_map
from tests.spark.documents import a_document, a_flow, a_pair

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "spark" / "report" / "schema.json").read_text())


def a_check(*findings: Finding, name: str = "parity") -> CheckOutcome:
    return CheckOutcome(name, "10 records", {"sourceRecords": 10}, findings, ({"topic": "orders", "offset": 1},))


def an_outcome(*checks: CheckOutcome, failure: Finding | None = None) -> FlowOutcome:
    time = "2026-01-02T03:04:05+00:00"
    return FlowOutcome("orders", "ns", "sha256:0f", "useast", "uswest", "default", time, checks, failure)


def a_report(*flows: FlowOutcome, failure: Finding | None = None) -> Report:
    return Report("local", "2026-01-02T03:04:05+00:00", 1.25, flows, failure)


@pytest.mark.parametrize(
    ("checks", "verdict", "exit_code"),
    [
        pytest.param([a_check()], Verdict.PASS, 0, id="nothing found"),
        pytest.param([a_check(note("n", "…"))], Verdict.PASS, 0, id="a note changes nothing"),
        pytest.param([a_check(fail("f", "…")), a_check()], Verdict.FAIL, 1, id="one failure"),
        pytest.param([a_check(error("e", "…")), a_check()], Verdict.ERROR, 2, id="one check that could not run"),
        pytest.param(
            [a_check(error("e", "…")), a_check(fail("f", "…"))], Verdict.FAIL, 1, id="a failure outweighs an error"
        ),
        pytest.param([], Verdict.ERROR, 2, id="nothing checked is never a pass"),
    ],
)
def test_the_exit_code_is_that_of_the_worst_verdict(
    checks: list[CheckOutcome], verdict: Verdict, exit_code: int
) -> None:
    report = a_report(an_outcome(*checks))
    assert (report.verdict, report.exit_code) == (verdict, exit_code)


def test_a_run_without_flows_and_a_flow_or_job_that_could_not_run_exit_with_two() -> None:
    assert a_report().exit_code == 2
    assert a_report(an_outcome(failure=error("unreachable", "…"))).exit_code == 2
    assert a_report(an_outcome(a_check()), failure=error("spark-not-started", "…")).exit_code == 2


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(a_report(an_outcome(a_check(fail("f", "…", 3)))), id="a failure"),
        pytest.param(a_report(an_outcome(failure=error("unreachable", "…"))), id="a flow that could not be checked"),
        pytest.param(a_report(failure=error("spark-not-started", "…")), id="a job that could not start"),
    ],
)
def test_the_report_matches_its_schema(report: Report) -> None:
    Draft202012Validator(SCHEMA).validate(report.document())


def test_the_schema_refuses_an_unknown_verdict() -> None:
    document = a_report(an_outcome(a_check())).document()
    document["verdict"] = "unknown"
    assert not Draft202012Validator(SCHEMA).is_valid(document)


def test_the_schema_lists_every_check() -> None:
    assert SCHEMA["$defs"]["check"]["properties"]["name"]["enum"] == list(CheckName)


def test_no_more_than_twenty_samples_are_reported() -> None:
    check = replace(a_check(), samples=tuple({"offset": offset} for offset in range(SAMPLES + 5)))
    samples = check.document()["samples"]
    assert isinstance(samples, list)
    assert len(samples) == 20


def test_the_published_map_carries_verdict_digest_and_time() -> None:
    """The next region's promotion reads exactly these keys."""
    published = config_map(an_outcome(a_check()))
    assert published.metadata is not None
    assert published.data is not None
    assert (published.metadata.name, published.metadata.namespace) == ("orders-validation", "ns")
    report = json.loads(published.data.pop("report.json"))
    time = "2026-01-02T03:04:05+00:00"
    head = {"verdict": "pass", "depth": "full", "digest": "sha256:0f", "time": time, "passingSince": time}
    assert published.data == head
    assert report["checks"][0]["name"] == "parity"


@pytest.mark.parametrize(
    ("before", "since"),
    [
        pytest.param(
            {"verdict": "pass", "digest": "sha256:0f", "time": "T2", "passingSince": "T1"}, "T1", id="goes-on"
        ),
        pytest.param({"verdict": "pass", "digest": "sha256:0f", "time": "T2"}, "T2", id="not-noted-before"),
        pytest.param({"verdict": "fail", "digest": "sha256:0f", "time": "T2"}, None, id="failed-before"),
        pytest.param({"verdict": "error", "digest": "sha256:0f", "time": "T2"}, None, id="an-error-is-no-pass"),
        pytest.param({"verdict": "pass", "digest": "sha256:0e", "time": "T2"}, None, id="another-model"),
    ],
)
def test_the_published_map_says_since_when_the_flow_passes(before: dict[str, str], since: str | None) -> None:
    published = config_map(an_outcome(a_check()), before)
    assert published.data is not None
    assert published.data["passingSince"] == (since or "2026-01-02T03:04:05+00:00")


def test_the_published_map_of_a_failure_has_no_passing_since() -> None:
    published = config_map(an_outcome(a_check(fail("missing-records", "3"))), {"verdict": "pass", "time": "T"})
    assert published.data is not None
    assert "passingSince" not in published.data


def test_the_table_shows_what_was_found_word_for_word() -> None:
    out = StringIO()
    found = fail("missing-records", "orders[0]: 3 records are missing")
    print_report(a_report(an_outcome(a_check(found))), Console(file=out, width=200))
    assert "missing-records: orders[0]: 3 records are missing" in out.getvalue()
    assert "fail in 1.2 s" in out.getvalue()


def a_part(name: str, *checks: CheckOutcome) -> FlowOutcome:
    return replace(an_outcome(*checks), name=name, replication="logs", shape="split")


def test_the_report_adds_up_the_parts_of_a_replication_and_names_the_part_that_is_behind() -> None:
    report = a_report(
        an_outcome(a_check()), a_part("logs-1", a_check()), a_part("logs-2", a_check(fail("part-behind", "…", 7)))
    )
    document = report.document()
    Draft202012Validator(SCHEMA).validate(document)
    assert document["replications"] == [
        {
            "name": "logs",
            "shape": "split",
            "verdict": "fail",
            "flows": ["logs-1", "logs-2"],
            "sourceRecords": 20,
            "targetRecords": 0,
            "behind": ["logs-2"],
        }
    ]
    out = StringIO()
    print_report(report, Console(file=out, width=200))
    assert "logs: 2 flows, 20 source and 0 target records, fail; behind: logs-2" in out.getvalue()


def test_table_and_report_advise_consumers_of_a_prefixless_pair() -> None:
    there, _ = a_pair()
    words = advice(there)
    assert any("not translated" in each for each in words)
    assert any("own committed offset" in each for each in words)
    assert any("timestamp" in each for each in words)
    assert any("read again" in each for each in words)
    outcome = replace(an_outcome(a_check()), advice=words)
    document = a_report(outcome).document()
    Draft202012Validator(SCHEMA).validate(document)
    out = StringIO()
    print_report(a_report(outcome), Console(file=out, width=400))
    assert all(each in out.getvalue() for each in words)


def test_a_flow_of_another_shape_needs_no_advice() -> None:
    assert advice(a_flow()) == ()


def test_a_pipe_gets_each_finding_on_one_line_however_long() -> None:
    """A search does not find a name that is wrapped onto two lines."""
    names = " ".join(f"orders-{number}" for number in range(200))
    text = report_text(a_report(an_outcome(a_check(fail("missing-records", names)))))
    assert f"missing-records: {names}" in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]
    assert max(map(len, text.splitlines())) < len(names) + 80


@pytest.mark.parametrize("terminal", [True, False], ids=["a terminal", "a pipe"])
def test_only_a_terminal_folds_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    monkeypatch.setenv("COLUMNS", "80")
    names = " ".join(["name"] * 40)
    show(a_report(an_outcome(a_check(fail("missing-records", names)))), as_json=False)
    assert (names in capsys.readouterr().out) is not terminal


def test_a_bug_of_the_job_exits_with_two_not_with_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def broken(*_: object) -> Report:
        raise KeyError("orders")

    monkeypatch.setattr("kafka_replication.spark.command_line.run", broken)
    parameters = tmp_path / "parameters.json"
    parameters.write_text(json.dumps(a_document()))
    assert entry(["--parameters", str(parameters)]) == 2
    assert "KeyError" in capsys.readouterr().err


def test_the_report_has_an_error_if_the_jvm_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    def dying(*_: object) -> None:
        raise Py4JNetworkError("answer is empty")

    monkeypatch.setattr("kafka_replication.spark.job.spark_jvm", dying)
    document = Parameters.model_validate(a_document())
    report = run(document, document.flows, Options())
    assert report.exit_code == 2
    assert report.error is not None
    assert report.error.code == "spark-lost"
