"""Every finding of every check says what to do about it."""

import ast
import string

import pytest

from components.contract.report import CheckName, CheckOutcome, fail
from spark.report.remedies import REMEDIES, with_remedies
from tests.repository import ROOT
from tests.spark.documents import a_flow

_MAKERS = {"fail": "fail", "error": "error", "note": "note", "severity": "error", "Meaning": ""}


def codes_in_the_checks() -> dict[str, str]:
    """Each code that the checks give a finding, with its severity there. For `Meaning`, the severity is an argument."""
    found = {}
    for file in (ROOT / "spark" / "checks").rglob("*.py"):
        constants = {}
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(value))):
                    constants[name] = value
                case ast.Call(func=ast.Name(id=maker), args=[first, *rest]) if maker in _MAKERS:
                    code = first.value if isinstance(first, ast.Constant) else constants.get(ast.unparse(first), "")
                    said = ast.unparse(rest[0]).removeprefix("FindingSeverity.").lower() if maker == "Meaning" else ""
                    found[str(code)] = said or _MAKERS[maker]
    return found


def test_the_table_holds_exactly_the_codes_of_the_checks() -> None:
    assert set(REMEDIES) == set(codes_in_the_checks()) - {""}


@pytest.mark.parametrize("code", [code for code, said in codes_in_the_checks().items() if said in ("fail", "error")])
def test_every_failure_and_error_has_a_remedy(code: str) -> None:
    assert REMEDIES[code]


def test_a_remedy_names_the_stack_the_flow_and_its_clusters() -> None:
    outcome = CheckOutcome(CheckName.HEARTBEATS, "", {}, (fail("no-heartbeat", "topic h holds no heartbeat"),))
    (finding,) = with_remedies(outcome, a_flow(), "prod").findings
    assert finding.message == (
        "topic h holds no heartbeat. Remedy: `replicate diff prod --against cluster` shows whether a connector has "
        "failed, and the command that restarts it. If none has failed, search the Connect workers' log for a login or "
        "a permission that useast or uswest refused"
    )


def test_remedies_name_the_topology_file_if_a_file_was_validated() -> None:
    again = next(code for code, text in REMEDIES.items() if "{validated}" in text)
    outcome = CheckOutcome(CheckName.OFFSETS, "", {}, (fail(again, "…"), fail("no-heartbeat", "…")))
    first, second = with_remedies(outcome, a_flow(), "prod", "my files/prod.yaml").findings
    assert "`replicate validate --topology 'my files/prod.yaml' --flow orders`" in first.message
    assert "`replicate diff STACK --against cluster`" in second.message


def test_remedies_have_only_known_placeholders() -> None:
    known = {"stack", "validated", "flow", "source", "target", "target_servers"}
    named = {field for text in REMEDIES.values() for _, field, _, _ in string.Formatter().parse(text) if field}
    assert named <= known


def test_a_remedy_that_the_check_wrote_itself_is_kept() -> None:
    outcome = CheckOutcome(CheckName.ACCESS, "", {}, (fail("acl-missing", "no ACL. Remedy: grant it"),))
    assert with_remedies(outcome, a_flow(), "prod") == outcome
