"""A failback from the first look to the last commit, between two brokers in this process."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka_replication.components.clients.writer import Access, MissingReads
from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.kafka.positions import CommittedOffset
from kafka_replication.infra.operate.move import flow_back
from tests.components.clients.brokers import Reader
from tests.infra.operate.move.night import KilledError, Night, a_call, fail_over_fenced
from tests.infra.operate.move.test_failover import GROUPS, ORDERS, REMOTE, night

__all__ = ["night"]

#: What the remote partition of the scene holds: records 5 to 7 were sent twice.
SENT = [*range(8), *range(5, 12)]


def work_on_the_target(night: Night, offsets: Mapping[str, int]) -> None:
    """Let the groups reach these offsets on the target."""
    for group, offset in offsets.items():
        night.target.commit(group, {REMOTE: offset})


def on_source(night: Night) -> dict[str, int]:
    found = Reader("useast", night.source.config).committed(GROUPS)
    return {group: offsets[ORDERS] for group, offsets in found.items()}


def fail_back(night: Night, *, dry_run: bool = False, killed_before: str = "", export: Path | None = None) -> None:
    night.killed_before[:] = [killed_before]
    flow_back.fail_back(a_call(dry_run=dry_run, export=export), night)


@pytest.mark.parametrize("came_to", [5, 8, 10, 11, 13, 15])
def test_a_group_skips_nothing_and_reads_nothing_twice(night: Night, came_to: int) -> None:
    work_on_the_target(night, {"checkout-app": came_to, "checkout-web": 15})
    night.source.hold("orders", [(each, "") for each in range(12, 15)])
    fail_back(night)
    consumed = set(SENT[:came_to])
    assert on_source(night) == {"checkout-app": max(consumed) + 1, "checkout-web": 12}
    assert consumed == set(range(max(consumed) + 1))


def test_an_application_takes_what_it_has_stored_beside_its_offsets_back(night: Night) -> None:
    night.target.commit("checkout-app", {REMOTE: 11}, "clock 17")
    fail_back(night)
    commits = Reader("useast", night.source.config).commits(["checkout-app"])
    assert commits["checkout-app"][ORDERS] == CommittedOffset(8, "clock 17")


def test_a_dry_run_shows_everything_and_changes_nothing(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    work_on_the_target(night, {"checkout-app": 11, "checkout-web": 15})
    night.source.hold("orders", [(each, "") for each in range(12, 15)])
    night.target.hold("orders", [(each, "") for each in range(100, 103)])
    fail_back(night, dry_run=True)
    assert on_source(night) == GROUPS
    assert capsys.readouterr().out.splitlines() == [
        "✓ positions     computed from records of 1 partition",
        "✓ groups        2 groups to move",
        "! only source   3 records never reached uswest, and groups now read them: orders-0, offsets 12 to 14, written "
        "1970-01-01T00:00:01Z",
        "! only target   producers on uswest wrote 3 records to orders: no flow of the stack copies them to useast",
        "✓ rights        the connectors' user may commit for 2 groups on useast",
        "checkout-app: useast.orders-0 at 11 -> orders-0 at 8, nothing read again",
        "checkout-web: useast.orders-0 at 15 -> orders-0 at 12, nothing read again",
        "nothing was changed",
    ]


def test_a_failback_lifts_the_fence_of_the_failover(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    before = list(night.acls.entries)
    fail_over_fenced(night)
    fail_back(night, dry_run=True)
    said = capsys.readouterr().out
    assert (
        "! fence         writes to orders on useast have been denied since the failover; this command allows them "
        "again at its end"
    ) in said
    assert night.acls.denied == ["orders"]
    fail_back(night)
    assert "✓ writes to orders on useast are allowed again" in capsys.readouterr().out
    assert night.acls.entries == before


def test_the_fence_is_reported_as_not_looked_for_if_the_acls_cannot_be_read(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    work_on_the_target(night, {"checkout-app": 11})
    night.acls.found = Access(may_change=False, seen=False)
    fail_back(night, dry_run=True)
    assert (
        "! fence         not looked for: the connectors' user may not see the ACLs of useast" in capsys.readouterr().out
    )


def test_a_dry_run_names_every_right_that_the_commits_lack(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise the first refusal would come after the point of no return, one group a run."""
    work_on_the_target(night, {"checkout-app": 11, "checkout-web": 15})
    night.missing[:] = [MissingReads(groups=("checkout-app", "checkout-web"), topics=("orders",))]
    with pytest.raises(RefusedError, match="precondition-unmet"):
        fail_back(night, dry_run=True)
    grant = "kafka-acls.sh … --add --allow-principal User:mirror --operation Read"
    said = capsys.readouterr().out
    assert (
        "✗ rights        the connectors' user may not commit for checkout-app, checkout-web on useast: allow it with "
        f"`{grant} --group checkout-app --group checkout-web`"
    ) in said
    assert (
        f"✗ rights        the connectors' user may not commit offsets in orders on useast: allow it with `{grant} "
        "--topic orders`"
    ) in said
    with pytest.raises(RefusedError, match="precondition-unmet"):
        fail_back(night)
    assert "point of no return" not in capsys.readouterr().out
    assert on_source(night) == GROUPS


def test_a_cluster_that_reports_no_rights_does_not_count_as_allowing_the_commits(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    work_on_the_target(night, {"checkout-app": 11})
    night.missing[:] = [MissingReads(unknown=("checkout-app",))]
    fail_back(night, dry_run=True)
    assert (
        "! rights        useast does not say whether the connectors' user may commit for checkout-app: it needs Read "
        "on the groups and their topics"
    ) in capsys.readouterr().out


def test_a_fence_that_cannot_be_lifted_is_named_before_anything_is_committed(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_over_fenced(night)
    night.acls.found = Access(may_change=False)
    with pytest.raises(RefusedError, match="precondition-unmet"):
        fail_back(night)
    assert (
        "✗ rights        the connectors' user may not lift the fence on useast: allow it with `kafka-acls.sh … --add "
        "--allow-principal User:mirror --operation Alter --cluster`"
    ) in capsys.readouterr().out
    assert on_source(night) == GROUPS


def test_records_that_only_the_source_has_are_exported_whole(night: Night, tmp_path: Path) -> None:
    work_on_the_target(night, {"checkout-app": 11})
    night.source.hold("orders", [(each, "") for each in range(12, 15)])
    night.source.producer.produce("orders", None, b"\xff\x00", 0, headers=[("h", None), ("h", b"\xfe")], timestamp=5)
    assert night.source.producer.flush(10) == 0
    file = tmp_path / "lost.jsonl"
    fail_back(night, dry_run=True, export=file)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [each["offset"] for each in lines] == [12, 13, 14, 15]
    assert lines[-1] == {
        **{"topic": "orders", "partition": 0, "offset": 15, "timestamp": 5, "key": "/wA=", "value": None},
        "headers": [["h", None], ["h", "/g=="]],
    }
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(RefusedError, match="file-exists"):
        fail_back(night, export=file)
    assert on_source(night) == GROUPS


def test_records_of_a_partition_that_was_never_replicated_are_reported(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    work_on_the_target(night, {"checkout-app": 11})
    night.source.producer.produce("orders", b"v", b"k", 2, timestamp=1_000)
    assert night.source.producer.flush(10) == 0
    fail_back(night, dry_run=True)
    said = capsys.readouterr().out
    assert "1 record never reached uswest, and groups now read it: orders-2, offset 0, written 1970-01-01" in said


def test_the_next_steps_lead_back_to_a_running_flow(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    work_on_the_target(night, {"checkout-app": 11})
    fail_back(night)
    assert capsys.readouterr().out.splitlines()[-2:] == [
        f"Start the consumers and then the producers on useast: {night.parameters.source.bootstrap_servers}",
        "If the failover or you stopped connectors of the flow, start them: `replicate resume night orders`",
    ]


def test_a_run_that_was_killed_is_finished_by_the_next(night: Night) -> None:
    work_on_the_target(night, {"checkout-app": 8, "checkout-web": 15})
    with pytest.raises(KilledError):
        fail_back(night, killed_before="checkout-web")
    assert on_source(night) == {"checkout-app": 8, "checkout-web": 10}
    fail_back(night)
    assert on_source(night) == {"checkout-app": 8, "checkout-web": 12}


def test_a_group_that_runs_is_left_alone(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    work_on_the_target(night, {"checkout-app": 8, "checkout-web": 15})
    night.members["checkout-web"] = 1
    fail_back(night)
    assert on_source(night) == {"checkout-app": 8, "checkout-web": 10}
    assert "group checkout-web is left alone: it runs on useast with 1 member" in capsys.readouterr().out


def test_a_failback_is_refused_if_the_remote_topic_holds_foreign_records(night: Night) -> None:
    work_on_the_target(night, {"checkout-app": 8})
    night.target.hold("useast.orders", [(500, "")])
    with pytest.raises(RefusedError, match="record 15 equals no record after 11"):
        fail_back(night)
    assert on_source(night) == GROUPS


def test_a_failback_is_refused_if_no_group_worked_on_the_target(night: Night) -> None:
    with pytest.raises(RefusedError, match="0 groups to move"):
        fail_back(night)
    assert on_source(night) == GROUPS
