"""`replicate ready` between two brokers in this process, which know neither ACLs nor users: the tests give them."""

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.clients.writer import Access
from kafka_replication.components.kafka.acls import AclEntry
from kafka_replication.components.kafka.topic_sync import TopicSetting
from kafka_replication.infra.operate import flow_access
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.move.facts import Mode
from tests.builders import a_resolved_flow, a_topology
from tests.commands import Answer, replicate
from tests.components.clients.brokers import Cluster, Reader
from tests.infra.operate.move.night import Acls, Night, a_night, fail_over
from tests.infra.operate.move.test_failover import GROUPS, ORDERS, SELECTED
from tests.infra.stacks import write_stack

GROUP = AclEntry("User:shop", "GROUP", "PREFIXED", "checkout-", "READ")
TOPIC = AclEntry("User:shop", "TOPIC", "LITERAL", "orders", "ALL")
ON_SOURCE = [GROUP, TOPIC]
#: The flow's own user, whose access is no application's.
MIRROR = AclEntry("User:mirror", "TOPIC", "LITERAL", "*", "ALL")
REMOTE = TOPIC._replace(name="useast.orders", operation="READ")


@pytest.fixture(autouse=True)
def night(monkeypatch: pytest.MonkeyPatch) -> Night:
    """A flow whose applications lack nothing but an ACL of their groups."""
    source, target = Cluster(), Cluster()
    source.hold("orders", [(value, "") for value in range(4)])
    for topic in ("orders", "useast.orders"):
        target.hold(topic, [(value, "") for value in range(4)])
    flow = a_resolved_flow(**SELECTED)
    made = a_night(flow, source, target, {group: {ORDERS: 1} for group in GROUPS})
    night = replace(made, acls=Acls("uswest", [TOPIC, REMOTE]))

    def acls(reader: Reader) -> list[AclEntry]:
        return [*ON_SOURCE, MIRROR] if reader.alias == "useast" else list(night.acls.access().entries)

    def settings(_: Reader, topics: Collection[str]) -> dict[str, dict[str, TopicSetting]]:
        return {topic: {"retention.ms": TopicSetting("1000", "DYNAMIC_TOPIC_CONFIG")} for topic in topics}

    @contextmanager
    def opened(*_: object) -> Iterator[FlowAccess]:
        yield night

    monkeypatch.setattr(Reader, "every_acl", acls)
    monkeypatch.setattr(Reader, "settings", settings)
    monkeypatch.setattr(Reader, "scram_mechanisms", lambda _: {"shop": frozenset({"SCRAM-SHA-512"})})
    monkeypatch.setattr(Reader, "brokers_set", lambda *_: False)
    monkeypatch.setattr(flow_access, "open_flow", opened)
    return night


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., Answer]:
    stacks = write_stack(tmp_path, a_topology())
    quotas = tmp_path / "quotas.txt"
    quotas.write_text("Quota configs for user-principal 'shop' are producer_byte_rate=1000.0\n")
    both = [f"--quotas={alias}={quotas}" for alias in ("useast", "uswest")]

    def run(*options: str, answer: str = "") -> Answer:
        return replicate("ready", "test", "orders", "--stacks", stacks, *both, *options, answer=answer)

    return run


def test_a_missing_acl_is_printed_with_its_line(call: Callable[..., Answer]) -> None:
    answer = call()
    assert answer.returncode == 1, answer.stderr
    assert answer.stdout.splitlines() == [
        "✗ orders     applications cannot all start on uswest: 1 ACL missing or different",
        "✗ acl        User:shop lacks Read on every group that begins with checkout-",
        "! unknown    whether shop has the same password there",
        "! unknown    super users and users that useast names in no ACL",
        "# uswest: set USWEST_SERVERS to its address and USWEST_CONFIG to the client properties of an administrator",
        'kafka-acls.sh --bootstrap-server "${USWEST_SERVERS:?}" --command-config "${USWEST_CONFIG:?}" --add '
        "--allow-principal User:shop --operation Read --group checkout- --resource-pattern-type prefixed",
    ]


def test_a_copy_writes_what_is_missing_and_judges_again(call: Callable[..., Answer], night: Night) -> None:
    declined = call("--copy", answer="n\n")
    assert (declined.returncode, night.acls.entries) == (1, [TOPIC, REMOTE])
    answer = call("--copy", "--yes")
    assert (answer.returncode, night.acls.entries) == (0, [TOPIC, REMOTE, GROUP]), answer.stderr
    assert "✓ orders     1 application can start on uswest" in answer.stdout
    assert call().returncode == 0


def test_a_copy_without_the_right_is_refused_by_the_line_that_gives_it(
    call: Callable[..., Answer], night: Night
) -> None:
    night.acls.found = Access(may_change=False)
    answer = call("--copy", "--yes")
    assert (answer.returncode, night.acls.entries) == (1, [TOPIC, REMOTE])
    assert "acls-refused: the connectors' user may not write ACLs, at uswest" in answer.stderr
    assert "--operation Alter --cluster`" in answer.stderr


def test_the_document_and_the_kafka_users_have_the_same(call: Callable[..., Answer]) -> None:
    answer = call("--json")
    (flow,) = json.loads(answer.stdout)["flows"]
    assert (answer.returncode, flow["missing"][0]["kind"], flow["applications"]) == (1, "acl", ["User:shop"])
    printed = call("--kafka-users").stdout
    assert "kind: KafkaUser" in printed
    assert "patternType: prefix" in printed
    assert "kafka-acls.sh" not in printed


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("not-authorized", "Let the validation's user describe the cluster"),
        ("authorizer-off", "Without an authorizer there are no ACLs to compare"),
    ],
)
def test_acls_that_a_cluster_does_not_show_end_with_another_exit_code(
    call: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, code: str, advice: str
) -> None:
    def refused(reader: Reader) -> list[AclEntry]:
        raise ClusterError(code, "refused", reader.alias, "why", "allow it.")

    monkeypatch.setattr(Reader, "every_acl", refused)
    answer = call()
    assert answer.returncode == 2, answer.stderr
    assert f"! not judged refused. {advice}" in answer.stdout
    assert (
        "! orders     nothing that was looked at is missing on uswest, but not everything was looked at"
        in answer.stdout
    )


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        pytest.param("Error while executing config command\n", "this line is no quota: Error while", id="an-error"),
        pytest.param("\n", "prints nothing for a cluster without users and quotas, but also if", id="nothing"),
    ],
)
def test_a_file_without_quotas_is_refused(call: Callable[..., Answer], tmp_path: Path, printed: str, said: str) -> None:
    (tmp_path / "quotas.txt").write_text(printed)
    answer = call()
    assert (answer.returncode, "quotas-unreadable" in answer.stderr, said in answer.stderr) == (2, True, True)


def test_a_cluster_without_quotas_is_given_without_a_file(call: Callable[..., Answer]) -> None:
    """Its file would be empty, as after a command that was refused."""
    answer = call("--quotas", "useast=", "--quotas", "uswest=")
    assert (answer.returncode, "quota" in answer.stdout) == (1, False)
    answer = call("--quotas", "uswest=")
    assert "✗ quota " in answer.stdout


def planned(night: Night, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what the plan of a failover says about the applications; it is carried out in any case."""
    capsys.readouterr()
    fail_over(night)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line[2:].startswith("ready ")]
    return line


def test_the_plan_of_a_failover_warns_of_applications_that_cannot_start(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    assert planned(night, capsys) == (
        "! ready         applications cannot all start on uswest: 1 ACL missing or different; `replicate ready night "
        "orders` prints what adds it"
    )
    night.acls.entries.append(GROUP)
    assert planned(night, capsys) == (
        "✓ ready         1 application can start on uswest, as far as ACLs, users and topic settings show"
    )


@pytest.mark.parametrize("code", ["not-authorized", "request-timed-out"])
def test_a_failover_does_not_say_yes_about_acls_that_it_could_not_see(
    night: Night, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    def refused(reader: Reader) -> list[AclEntry]:
        raise ClusterError(code, "no ACLs", reader.alias, "why", "remedy")

    monkeypatch.setattr(Reader, "every_acl", refused)
    night.acls.entries.append(GROUP)
    advice = "Let the validation's user describe the cluster and the configuration of topics"
    right = f". {advice}; see `replicate ready night orders`"
    assert planned(night, capsys) == f"! ready         not judged: no ACLs{right if code == 'not-authorized' else ''}"


def test_after_the_loss_of_the_source_nothing_is_said_about_applications(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    night.target.hold("useast.heartbeats", [])
    night.dead.add("useast")
    fail_over(night, Mode.DISASTER)
    assert "! ready         not judged: it takes the ACLs of useast, which the target does not have" in (
        capsys.readouterr().out.splitlines()
    )
