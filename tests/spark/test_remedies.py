"""Every finding of every check says what to do about it."""

import ast
import string
from dataclasses import replace

import pytest

from kafka_replication.components.contract.remedies import REMEDIES, with_remedies
from kafka_replication.components.contract.report import CheckName, CheckOutcome, fail, note
from kafka_replication.components.kafka.mirror_records import Checkpoint, OffsetSync
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.spark.checks.offsets.checkpoints import Patience, position_findings
from kafka_replication.spark.checks.offsets.position_proof import Position
from tests.repository import ROOT
from tests.spark.documents import a_flow

_MAKERS = {"fail": "fail", "error": "error", "note": "note", "severity": "error"}


def codes_in_the_checks() -> dict[str, str]:
    """Each code that the checks give a finding, with its severity there."""
    found = {}
    for file in (ROOT / "spark" / "checks").rglob("*.py"):
        constants = {}
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(value))):
                    constants[name] = value
                case ast.Call(func=ast.Name(id=maker), args=[first, *_]) if maker in _MAKERS:
                    code = first.value if isinstance(first, ast.Constant) else constants.get(ast.unparse(first), "")
                    found[str(code)] = _MAKERS[maker]
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


def passing(check: CheckName, *codes: str, **counts: int) -> CheckOutcome:
    return CheckOutcome(check, "", counts, tuple(note(code, "…") for code in codes))


_LOG = "search the Connect workers' log for "
_BOTH = _LOG + "a login or a permission that useast or uswest refused"
_DIFF = (
    "`replicate diff prod --against cluster` shows whether a connector has failed, and the command that restarts it. "
    "If none has failed, "
)
_BEATS = ". No login is refused: the flow's heartbeats arrive"
_ALLOWED = ". No permission is refused: `access` misses none"


@pytest.mark.parametrize(
    ("checks", "remedy"),
    [
        pytest.param([], _DIFF + _BOTH, id="nothing else was checked"),
        pytest.param([passing(CheckName.CONNECTORS)], _BOTH, id="the connectors run"),
        pytest.param(
            [passing(CheckName.CONNECTORS), passing(CheckName.HEARTBEATS)],
            _LOG + "a permission that useast or uswest refused" + _BEATS,
            id="heartbeats arrive: the logins work",
        ),
        pytest.param(
            [passing(CheckName.CONNECTORS, newestSyncSeconds=9)],
            _LOG + "a permission that useast or uswest refused. No login is refused: the flow replicated a record 9 s "
            "before",
            id="another partition moved on",
        ),
        pytest.param([passing(CheckName.CONNECTORS, newestSyncSeconds=61)], _BOTH, id="the last record is old"),
        pytest.param(
            [passing(CheckName.CONNECTORS), passing(CheckName.HEARTBEATS, "heartbeats-shared")],
            _BOTH,
            id="the heartbeats may be another flow's",
        ),
        pytest.param(
            [passing(CheckName.CONNECTORS), passing(CheckName.ACCESS)],
            _LOG + "a login that useast or uswest refused" + _ALLOWED,
            id="no right is missing",
        ),
        pytest.param(
            [passing(CheckName.CONNECTORS), passing(CheckName.ACCESS, "acl-narrower")],
            _BOTH,
            id="a right may be missing for a new topic",
        ),
        pytest.param(
            [passing(CheckName.CONNECTORS), passing(CheckName.ACCESS), passing(CheckName.HEARTBEATS)],
            _LOG + "another error" + _BEATS + _ALLOWED,
            id="neither is the cause",
        ),
        pytest.param(
            [
                CheckOutcome(CheckName.CONNECTORS, "", {}, (fail("connector-failed", "…"),)),
                CheckOutcome(CheckName.ACCESS, "", {}, (fail("acl-missing", "…"),)),
            ],
            "correct what `connectors-run` and `access` found, and validate again: `replicate validate prod --flow "
            "orders`. If nothing changes, " + _BOTH,
            id="other checks found possible causes",
        ),
    ],
)
def test_a_standstill_is_blamed_only_on_what_no_check_rules_out(checks: list[CheckOutcome], remedy: str) -> None:
    outcome = CheckOutcome(CheckName.PARITY, "", {}, (fail("heartbeat-stale", "old"),))
    (finding,) = with_remedies(outcome, a_flow(), "prod", every=checks).findings
    assert finding.message == f"old. Remedy: {remedy}"


_RUNS = passing(CheckName.CONNECTORS)
_ALLOWS = passing(CheckName.ACCESS)


@pytest.mark.parametrize(
    ("checks", "checkpoint", "sync"),
    [
        pytest.param(
            [CheckOutcome(CheckName.ACCESS, "", {}, (fail("acl-missing", "…"),))],
            "is not running, lacks permissions, or selects other topics or groups",
            "is not running or lacks permissions",
            id="nothing is excluded",
        ),
        pytest.param(
            [_RUNS, passing(CheckName.ACCESS, "acl-narrower")],
            "is stuck, lacks permissions, or selects other topics or groups",
            "is stuck or lacks permissions",
            id="the connectors run",
        ),
        pytest.param(
            [_ALLOWS],
            "is not running or selects other topics or groups",
            "is not running",
            id="no right is missing",
        ),
        pytest.param([_RUNS, _ALLOWS], "is stuck or selects other topics or groups", "is stuck", id="both"),
    ],
)
def test_a_finding_names_only_causes_that_no_check_excludes(
    checks: list[CheckOutcome], checkpoint: str, sync: str
) -> None:
    """An operator looked for a permission that `access` had found."""
    position = Position("checkout-a", TopicPartition("orders", 0), 100, Checkpoint(3, 3))
    syncs = {position.partition: SyncHistory((OffsetSync(0, 0), OffsetSync(100, 100)))}
    found = []
    for at in (position, replace(position, checkpoint=None), replace(position, checkpoint=Checkpoint(100, 100))):
        commits = {(at.group, at.partition): 100}
        found += position_findings([at], commits, syncs, syncs, a_flow(), Patience.of(a_flow(), 0))
    outcome = CheckOutcome(CheckName.OFFSETS, "", {}, tuple(finding.finding for finding in found))
    said = {
        finding.code: finding.message.partition(". Remedy:")[0]
        for finding in with_remedies(outcome, a_flow(), "prod", every=checks).findings
    }
    assert said["checkpoint-behind"].endswith(f"the checkpoint connector {checkpoint}")
    assert said["checkpoint-missing"].endswith(f"the checkpoint connector {checkpoint}")
    assert said["group-not-synced"].endswith(f"the group sync {sync}")


def test_remedies_name_the_topology_file_if_a_file_was_validated() -> None:
    again = next(code for code, text in REMEDIES.items() if "{validated}" in text)
    outcome = CheckOutcome(CheckName.OFFSETS, "", {}, (fail(again, "…"), fail("no-heartbeat", "…")))
    first, second = with_remedies(outcome, a_flow(), "prod", "my files/prod.yaml").findings
    assert "`replicate validate --topology 'my files/prod.yaml' --flow orders`" in first.message
    assert "`replicate diff STACK --against cluster`" in second.message


def test_remedies_have_only_known_placeholders() -> None:
    known = {"standstill", "stack", "validated", "flow", "source", "target", "target_servers"}
    named = {field for text in REMEDIES.values() for _, field, _, _ in string.Formatter().parse(text) if field}
    assert named <= known


def test_a_remedy_that_the_check_wrote_itself_is_kept() -> None:
    outcome = CheckOutcome(CheckName.ACCESS, "", {}, (fail("acl-missing", "no ACL. Remedy: grant it"),))
    assert with_remedies(outcome, a_flow(), "prod") == outcome
