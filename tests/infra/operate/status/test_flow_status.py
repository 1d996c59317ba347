"""The status that follows from facts: reasons against a failover, printed lines, exit code. Needs no cluster."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import NoAnswer
from kafka_replication.components.contract.readiness import Missing, Readiness
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.contract.temporary_states import TemporaryState
from kafka_replication.components.kafka.connectors import Failure
from kafka_replication.components.kafka.losses import Deletion, Gap, Replaced, Stop
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.render.flow_acls import flows_without_addresses
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.operate.status.document import FlowStatus, Kind, StackStatus, StatusDocument
from kafka_replication.infra.operate.status.facts import (
    CertificateFacts,
    ConnectorFacts,
    FlowFacts,
    GroupFacts,
    Lag,
    LoginFacts,
    Losses,
    PartitionLag,
    VerdictFacts,
)
from kafka_replication.infra.operate.status.flow_status import flow_status
from kafka_replication.infra.operate.status.text import print_status
from tests.builders import a_cluster, a_resolved_flow, a_topology
from tests.infra.readmes import shown

NOW = datetime(2026, 1, 31, 3, 0, tzinfo=UTC)
NOW_MS = round(NOW.timestamp() * 1000)
ORDERS = TopicPartition("orders", 0)
FLOW = flow_parameters(a_resolved_flow())
READY = Readiness(flow="orders", source="useast", target="uswest", applications=("User:shop",))
LACKING = (Missing(kind="acl", text="User:shop lacks Read on group checkout-web"),)


def a_connector(**given: Any) -> ConnectorFacts:
    running = {"wanted": "running", "state": "RUNNING", "tasks": ("RUNNING",)}
    where = "KafkaConnector mirror-orders/orders-source"
    return ConnectorFacts(**{"name": "orders-source", "role": "source", "resource": where, **running, **given})


def facts(**given: Any) -> FlowFacts:
    """The facts of a healthy flow, with overrides."""
    well = {
        "now_ms": NOW_MS,
        "connectors": (a_connector(),),
        "heartbeat_ms": NOW_MS - 800,
        "lag": Lag(6),
        "groups": (GroupFacts("checkout-web", {ORDERS: 3}),),
        "verdict": VerdictFacts(Verdict.PASS, NOW - timedelta(minutes=10), current=True),
        "applications": READY,
        "judged_ms": NOW_MS,
    }
    return FlowFacts(**{**well, **given})


def reasons(found: FlowFacts, flow: FlowParameters = FLOW) -> list[tuple[str, str]]:
    return [(each.kind.value, each.text) for each in flow_status(flow, found).reasons]


def test_a_healthy_flow_could_fail_over() -> None:
    status = flow_status(FLOW, facts())
    assert (status.could_fail_over, status.reasons, status.unasked) == (True, (), ())


def behind(records: int, seconds: int) -> Lag:
    return Lag(6, (PartitionLag(ORDERS, records, NOW_MS - seconds * 1000),))


def losing(deletion: tuple[int, int] | None = None, gap: tuple[int, int] | None = None) -> Losses:
    """A deletion, and when it is near, in ms from now; a gap of at least and at most so many offsets."""
    deletions = {} if deletion is None else {ORDERS: Deletion(*(NOW_MS + later for later in deletion))}
    return Losses(deletions, {} if gap is None else {ORDERS: Gap(*gap)})


NEAR = "useast soon deletes records of orders-0 that have not crossed"
LOST = "useast has deleted records of orders-0 that had not crossed"
FAILED = Failure(
    0, "org.apache.kafka.connect.errors.ConnectException: no\n\tat line\nCaused by: java.io.IOException: x"
)
PAUSED = TemporaryState("orders", "paused", "ann", NOW - timedelta(hours=1), NOW + timedelta(hours=1), before="running")
ANNOUNCED = a_connector(temporary=PAUSED, wanted="paused")
NO_POSITION = "group a has no position on uswest for orders-0"
CLIENT = CertificateFacts("mirror-orders/useast-client", "user.crt", (NOW - timedelta(days=1)).isoformat())
REFUSED = LoginFacts("useast", False, "Kafka cluster useast refuses the login: no", (CLIENT,))
NOT_TRIED = LoginFacts("useast", None, "", (CLIENT,))
EXPIRED = "the certificate user.crt in Secret mirror-orders/useast-client has expired"
NO_TOPIC = "useast.orders does not exist on uswest; the flow looks for new topics every 10 min"
BY_COMMAND = "`replicate failover` computes each group's position on uswest"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        pytest.param({"connectors": (a_connector(failures=(FAILED,)),)}, "orders-source task 0 failed", id="failed"),
        pytest.param({"connectors": (a_connector(tasks=()),)}, "orders-source runs without a task", id="no task"),
        pytest.param({"connectors": (a_connector(problem="gone"),)}, "orders-source: gone", id="not ready"),
        pytest.param({"connectors": (a_connector(wanted="paused"),)}, "orders-source is paused", id="paused"),
        pytest.param({"connectors": (ANNOUNCED,)}, "orders-source is paused", id="announced"),
        pytest.param({"connectors": (a_connector(state="PAUSED"),)}, "orders-source is PAUSED", id="paused over REST"),
        pytest.param({"connectors": (a_connector(state=""),)}, "orders-source is in no reported state", id="no state"),
        pytest.param({"logins": (REFUSED,)}, "useast refuses the connectors' login", id="refused login"),
        pytest.param({"logins": (NOT_TRIED,)}, EXPIRED, id="expired certificate"),
        pytest.param(
            {"heartbeat_ms": None}, "useast.heartbeats has no recent heartbeat of this flow", id="no heartbeat"
        ),
        pytest.param({"heartbeat_ms": NOW_MS - 11_000}, "the newest heartbeat is 11.0 s old", id="old heartbeat"),
        pytest.param({"lag": Lag(0)}, "no topic on useast is selected", id="no topic selected"),
        pytest.param({"lag": Lag(6, missing_topics=("useast.orders",))}, NO_TOPIC, id="missing topic"),
        pytest.param({"lag": behind(5, 180)}, "a record that is 3 min old may not be on uswest yet", id="long lag"),
        pytest.param({"losses": losing(deletion=(20_000, 0))}, NEAR, id="retention is near"),
        pytest.param(
            {"losses": Losses(replaced={"useast": Replaced(("orders", "bills"))})},
            "orders, bills on useast were deleted and created again",
            id="created again",
        ),
        pytest.param(
            {"losses": Losses(replaced={"uswest": Replaced((), (ORDERS,))})},
            "orders-0 on uswest lost the end of its log, or was created again",
            id="lost its end",
        ),
        pytest.param({"losses": losing(gap=(30, 45))}, LOST, id="retention was faster"),
        pytest.param({"groups": (GroupFacts("a", {ORDERS: None}),)}, NO_POSITION, id="no position"),
        pytest.param({"verdict": None}, "no validation was ever published", id="never proven"),
        pytest.param(
            {"verdict": VerdictFacts(Verdict.ERROR, NOW, current=True)},
            "the newest published validation is `error`",
            id="not proven",
        ),
        pytest.param(
            {"verdict": VerdictFacts(Verdict.PASS, NOW, current=False)},
            "the newest published validation judged another model, or accepted other findings than now",
            id="changed since",
        ),
        pytest.param(
            {"verdict": VerdictFacts(Verdict.PASS, NOW - timedelta(days=3), current=True)},
            "the newest published validation is 3 days old",
            id="proven long ago",
        ),
    ],
)  # fmt: skip
def test_each_problem_is_a_reason_against_a_failover(given: dict[str, Any], reason: str) -> None:
    assert reasons(facts(**given)) == [("problem", reason)]


@pytest.mark.parametrize("name", ["connectors", "heartbeat_ms", "lag", "losses", "groups", "verdict"])
def test_an_unknown_fact_is_a_reason_against_a_failover(name: str) -> None:
    found = facts(**{name: NoAnswer("Kafka cluster useast does not answer")})
    assert reasons(found) == [("unasked", "Kafka cluster useast does not answer")]
    assert len(flow_status(FLOW, found).unasked) == 1


def test_an_untried_login_is_reported_but_does_not_prevent_a_failover() -> None:
    """A failover does not need the connectors' login, and not everybody who runs `status` may read its Secret."""
    status = flow_status(FLOW, facts(logins=(LoginFacts("useast", None, "Secret a/b: forbidden"),)))
    assert (status.could_fail_over, status.unasked) == (True, ("logins",))
    said = "not everything about the connectors' login to useast could be checked: Secret a/b: forbidden"
    assert f"login      {said}" in printed(status)


def test_an_accepted_login_is_not_called_untried_if_a_certificate_cannot_be_read() -> None:
    status = flow_status(FLOW, facts(logins=(LoginFacts("useast", True, "Secret a/b: forbidden"),)))
    assert "could not be tried" not in printed(status)
    assert "login      not everything about the connectors' login to useast could be checked" in printed(status)


def test_an_expired_certificate_in_a_bundle_is_ignored_if_the_cluster_accepts_the_login() -> None:
    assert flow_status(FLOW, facts(logins=(LoginFacts("useast", True, "", (CLIENT,)),))).could_fail_over


@pytest.mark.parametrize(
    ("days", "said"), [(-1, "has expired"), (9.5, "expires in 9 days"), (20, "")], ids=["expired", "soon", "later"]
)
def test_a_certificate_that_has_expired_or_expires_soon_has_a_line(days: float, said: str) -> None:
    end = datetime.now(UTC) + timedelta(days=days)
    found = LoginFacts("useast", True, "", (replace(CLIENT, expires=end.isoformat()),))
    lines = [line for line in printed(flow_status(FLOW, facts(logins=(found,)))).splitlines() if " login " in line]
    line = f"prod orders login      the certificate user.crt in Secret mirror-orders/useast-client {said}"
    assert lines == ([line] if said else [])


def test_a_lag_of_a_few_seconds_does_not_prevent_a_failover() -> None:
    status = flow_status(FLOW, facts(lag=behind(5, 2)))
    assert status.could_fail_over
    assert "could fail over now: yes, at most 5 records lost, at most 3 records read again" in printed(status)


YES = "could fail over now: yes, nothing lost, at most 3 records read again"
UNJUDGED = "; whether all applications can start on uswest is not judged"


@pytest.mark.parametrize(
    ("applications", "age_ms", "but", "ready"),
    [
        pytest.param(
            READY, 0, "", "1 application can start on uswest, as far as ACLs, users and topic settings show", id="ready"
        ),
        pytest.param(
            READY.model_copy(update={"missing": LACKING, "not_judged": ("who writes orders",)}),
            40_000,
            ", but applications cannot all start on uswest: 1 ACL missing or different",
            "applications cannot all start on uswest: 1 ACL missing or different: replicate ready prod orders, judged "
            "40.0 s ago",
            id="an ACL is missing",
        ),
        pytest.param(
            READY.model_copy(update={"not_judged": ("uswest shows no ACLs", "who writes orders")}),
            0,
            UNJUDGED,
            "not judged: uswest shows no ACLs, and 1 more question: replicate ready prod orders",
            id="a cluster does not say",
        ),
        pytest.param(None, 0, UNJUDGED, "not judged: replicate ready prod orders", id="nobody asked"),
    ],
)
def test_a_flow_that_could_fail_over_says_in_the_same_line_if_its_applications_could_not_start(
    applications: Readiness | None, age_ms: int, but: str, ready: str
) -> None:
    status = flow_status(FLOW, facts(applications=applications, judged_ms=NOW_MS - age_ms))
    assert (status.could_fail_over, document(status).exit_code) == (True, 0)
    lines = printed(status).splitlines()
    assert lines[0] == f"prod orders failover   {YES}{but}"
    assert lines[-2] == f"prod orders ready      {ready}"
    assert ("\x1b[32mcould" in printed(status, terminal=True)) == (not but)


def test_the_document_says_what_applications_lack_and_how_old_that_is() -> None:
    lacking = READY.model_copy(update={"missing": LACKING})
    document = flow_status(FLOW, facts(applications=lacking, judged_ms=NOW_MS - 2_000)).document()
    assert document["applications"] == {
        "summary": "applications cannot all start on uswest: 1 ACL missing or different",
        "missing": ["User:shop lacks Read on group checkout-web"],
        "notJudged": [],
        "ageSeconds": 2.0,
    }


def test_the_lag_is_unknown_if_transforms_may_drop_records() -> None:
    transformed = FLOW.model_copy(update={"transformed": True})
    why = "the flow's own transforms may have dropped the newest records of the source"
    assert reasons(facts(lag=behind(5, 999)), transformed) == [("unasked", why)]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"groups": ()}, f"it translates no offsets: {BY_COMMAND}"),
        ({"groups": (), "shape": "prefixlessPair"}, f"a prefixlessPair translates no offsets: {BY_COMMAND}"),
    ],
    ids=["no groups", "a pair"],
)  # fmt: skip
def test_a_flow_that_translates_no_offsets_names_the_failover_command(change: dict[str, Any], why: str) -> None:
    status = flow_status(FLOW.model_copy(update=change), facts(groups=()))
    assert [(each.kind, each.text) for each in status.reasons] == [(Kind.DESIGN, why)]
    assert document(status).exit_code == 0


def document(*flows: FlowStatus) -> StatusDocument:
    return StatusDocument(asked_at=NOW.isoformat(), stacks=(StackStatus(stack="prod", flows=flows),))


def printed(status: FlowStatus, *, terminal: bool = False) -> str:
    return text_of(document(status), terminal=terminal)


def text_of(shown: StatusDocument, *, terminal: bool = False) -> str:
    text = StringIO()
    console = Console(file=text, force_terminal=terminal, no_color=not terminal, width=100, highlight=False)
    print_status(shown, console)
    return text.getvalue()


def test_the_exit_code_distinguishes_problems_from_unknown_facts() -> None:
    well, unasked, wrong = (facts(), facts(lag=NoAnswer("no")), facts(verdict=None))
    codes = [document(*(flow_status(FLOW, each) for each in found)).exit_code for found in (
        [well], [well, unasked], [unasked, wrong]
    )]  # fmt: skip
    assert codes == [0, 2, 1]


def test_a_pipe_gets_one_fact_a_line_without_colour() -> None:
    failing = facts(connectors=(a_connector(state="FAILED", failures=(FAILED,), tasks=()),), lag=behind(7, 600))
    lines = printed(flow_status(FLOW, failing)).splitlines()
    assert lines == [
        "prod orders failover   could fail over now: no, because orders-source task 0 failed",
        "prod orders            and because a record that is 10 min old may not be on uswest yet",
        "prod orders connector  orders-source FAILED, 0 of 0 tasks running",
        "prod orders failed     orders-source task 0: org.apache.kafka.connect.errors.ConnectException: no; caused by "
        "java.io.IOException: x",
        "prod orders heartbeat  the newest is 0.8 s old",
        "prod orders lag        at most 7 records in 1 of 6 partitions, the oldest 10 min old; most in orders-0: 7",
        "prod orders re-read    at most 3 records by 1 group (consumers that just move)",
        "prod orders group      checkout-web: at most 3 records",
        "prod orders ready      1 application can start on uswest, as far as ACLs, users and topic settings show",
        "prod orders verdict    pass, 10 min ago",
    ]


@pytest.mark.parametrize(("seconds", "color"), [(2, ""), (400, "\x1b[33m")])
def test_the_age_of_kept_positions_is_shown_and_prevents_no_failover(seconds: int, color: str) -> None:
    status = flow_status(FLOW, facts(kept_ms=NOW_MS - seconds * 1000))
    assert status.could_fail_over
    age = "2.0 s" if seconds == 2 else "6 min"
    assert f"{color}the positions for a disaster are {age} old" in printed(status, terminal=True)
    assert "for a disaster" not in printed(flow_status(FLOW, facts()))


def test_a_terminal_gets_a_block_for_each_flow() -> None:
    text = printed(flow_status(FLOW, facts()), terminal=True)
    assert "useast -> uswest (flow)" in text.splitlines()[0]
    assert "\x1b[32mcould fail over now: yes" in text


def test_an_announced_state_is_shown_with_who_and_until_when() -> None:
    expired = replace(PAUSED, until=NOW - timedelta(minutes=5))
    found = facts(connectors=(a_connector(wanted="paused", state="PAUSED", temporary=expired),))
    said = "paused by ann at 02:00Z on 2026-01-31 until 02:55Z on 2026-01-31, which has passed"
    assert f"orders-source PAUSED, 1 of 1 task running, {said}" in printed(flow_status(FLOW, found))


@pytest.mark.parametrize(
    ("losses", "line"),
    [
        pytest.param(
            losing(deletion=(20_000, 0)),
            "retention  useast may delete records of orders-0 that have not crossed in 20.0 s",
            id="near",
        ),
        pytest.param(
            losing(deletion=(-1, -9)),
            "retention  useast may delete records of orders-0 that have not crossed now",
            id="at any time",
        ),
        pytest.param(losing(deletion=(20_000, 1)), None, id="not near"),
        pytest.param(
            losing(gap=(30, 45)),
            "lost       useast has deleted 30 to 45 offsets of orders-0 before they crossed",
            id="lost",
        ),
        pytest.param(
            losing(gap=(0, 45)),
            "lost       useast has deleted 0 to 45 offsets of orders-0 before they crossed",
            id="not certainly lost",
        ),
        pytest.param(NoAnswer("no"), "losses     could not be asked", id="not asked"),
    ],
)  # fmt: skip
def test_what_retention_deletes_before_it_crosses_has_a_line(losses: Losses | NoAnswer, line: str | None) -> None:
    lines = [
        each
        for each in printed(flow_status(FLOW, facts(losses=losses))).splitlines()
        if "delete" in each or "losses" in each
    ]
    lines = [each for each in lines if not each.startswith("prod orders failover")]
    assert lines == ([] if line is None else [f"prod orders {line}"])


STOPPED = "stopped at offset 30 of orders-0, of which useast holds"
GAP_REMEDY = (
    "to continue with what is there: echo '[{topic: \"orders\", partition: 0, offset: earliest}]' > gap.yaml && "
    "replicate offsets prod orders set gap.yaml"
)


@pytest.mark.parametrize(
    ("losses", "why", "line"),
    [
        pytest.param(
            Losses(stopped={ORDERS: Stop(30, OffsetRange(80, 100), certain=True)}),
            "the source connector has stopped at a gap in orders-0",
            f"the source connector has {STOPPED} offsets 80 to 99; {GAP_REMEDY}",
            id="at a gap",
        ),
        pytest.param(
            Losses(stopped={ORDERS: Stop(30, OffsetRange(80, 80), certain=False)}),
            None,
            f"the source connector may have {STOPPED} no records; {GAP_REMEDY}",
            id="perhaps",
        ),
        pytest.param(
            Losses(unstarted=(ORDERS,)),
            "no keeper says where orders-0 starts, so tasks that replicate it replicate nothing",
            "nothing says where orders-0 starts: run `replicate keep prod`",
            id="without a keeper",
        ),
    ],
)  # fmt: skip
def test_a_flow_that_stops_at_a_gap_says_how_to_continue(losses: Losses, why: str | None, line: str) -> None:
    found = facts(losses=losses)
    assert reasons(found) == ([] if why is None else [("problem", why)])
    assert f"prod orders stopped    {line}\n" in printed(flow_status(FLOW, found))


def test_a_loss_that_is_not_certain_prevents_no_failover() -> None:
    assert reasons(facts(losses=losing(gap=(0, 45)))) == []


def test_the_document_has_every_fact_under_its_key() -> None:
    (flow,) = document(flow_status(FLOW, facts())).document()["stacks"][0]["flows"]
    assert flow["couldFailOver"] is True
    assert flow["connectors"][0]["runningTasks"] == 1
    assert flow["readAgain"] == {
        "groups": 1,
        "records": 3,
        "most": [{"name": "checkout-web", "records": 3, "withoutPosition": []}],
    }
    assert flow["lag"]["partitions"] == 6


def test_the_readme_shows_what_the_command_prints() -> None:
    cause = "Caused by: org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized: [useast.orders]"
    trace = f"org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception\n{cause}"
    tasks = ("RUNNING", "FAILED", "RUNNING")
    other = TopicPartition("orders", 1)
    found = facts(
        connectors=(
            a_connector(tasks=tasks, failures=(Failure(1, trace),)),
            a_connector(name="orders-checkpoint", role="checkpoint"),
            a_connector(name="orders-heartbeat", role="heartbeat"),
        ),
        lag=Lag(6, (PartitionLag(ORDERS, 4, NOW_MS - 2_000), PartitionLag(other, 1200, NOW_MS - 240_000))),
        groups=(GroupFacts("checkout-app", {ORDERS: 8}), GroupFacts("checkout-web", {ORDERS: 31})),
        verdict=VerdictFacts(Verdict.PASS, NOW - timedelta(hours=3), current=True),
    )
    example = shown(" orders verdict ")
    status = StackStatus(stack="prod-us-west-2", flows=(flow_status(FLOW, found),))
    assert " ".join(example.split()) == " ".join(text_of(StatusDocument(asked_at="", stacks=(status,))).split())


def test_a_flow_whose_cluster_address_is_unknown_could_not_fail_over() -> None:
    """For example, the stack belongs to a local stack that does not run, so nothing is known about its clusters."""
    clusters = {
        "useast": a_cluster(bootstrapServers={"config": "useastBootstrap"}),
        "uswest": a_cluster("us-west-2"),
    }
    (flow,) = flows_without_addresses(parse_topology(a_topology(clusters=clusters)))
    nothing = NoAnswer("the local stack does not run")
    found = flow_status(flow_parameters(flow), FlowFacts(0, nothing, nothing, nothing, nothing, nothing, nothing))
    assert not found.could_fail_over
