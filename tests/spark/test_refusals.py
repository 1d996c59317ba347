"""What keeps the job from judging: each cause has its own error code, exits with 2 and shows no credential."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.report import FlowOutcome, Report, Verdict
from kafka_replication.infra.local.endpoints import Endpoints, Region
from kafka_replication.spark.command_line import entry, write
from kafka_replication.spark.job import Options, check_flow
from kafka_replication.spark.read.credentials import resolver
from kafka_replication.spark.read.sessions import Spark
from kafka_replication.spark.report.publish import publish
from tests.spark.documents import Json, a_flow_document
from tests.spark.scenes import Scene, cluster_document, password_variable, passwords

ROOT = Path(__file__).resolve().parents[2]
CALL_SECONDS = 60
Check = Callable[..., FlowOutcome]


@pytest.fixture(scope="module")
def refused(endpoints: Endpoints) -> Scene:
    return Scene(endpoints, "refused").replicate(partitions=1)


@pytest.fixture
def scene(refused: Scene, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A flow that could be checked, with its credentials in variables."""
    for name, password in passwords(refused.endpoints).items():
        monkeypatch.setenv(name, password)
    return refused


@pytest.fixture
def check(started: Spark, scene: Scene) -> Check:
    """Checks the flow with a changed source cluster or with other changes."""

    def run(source: Json | None = None, **changes: Any) -> FlowOutcome:
        changed = {"source": {**cluster_document(scene.source), **source}} if source else {}
        flow = scene.parameters(**changed, **changes)
        return check_flow(flow, started, resolver(scene.endpoints.kubeconfig), Options(catch_up_seconds=1))

    return run


def refusal(outcome: FlowOutcome) -> tuple[str, str]:
    assert outcome.verdict is Verdict.ERROR
    assert outcome.checks == ()
    assert outcome.error is not None
    return outcome.error.code, outcome.error.message


def reached(check: Check, source: Json) -> bool:
    """Whether the job could list the source's topics: then its only error is that the flow selects none of them."""
    return refusal(check(source, topics=["nothing-.*"]))[0] == "no-topic-selected"


def test_an_address_where_nobody_listens_is_named_in_the_error(check: Check) -> None:
    code, message = refusal(check({"bootstrapServers": "127.0.0.1:1"}))
    assert code == "unreachable"
    assert "cluster useast (127.0.0.1:1)" in message


def test_an_address_that_does_not_resolve_is_named(check: Check) -> None:
    code, message = refusal(check({"bootstrapServers": "kafka.invalid:9093"}))
    assert code == "client-configuration"
    assert "kafka.invalid:9093" in message


def test_a_wrong_password_is_a_refused_login(check: Check, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(password_variable(scene.source), "not-the-password")
    code, message = refusal(check())
    assert code == "login-refused"
    assert "not-the-password" not in message


def test_an_untrusted_certificate_is_distinguished_from_a_refused_login(check: Check, scene: Scene) -> None:
    other = {"format": "PEM", "certificates": {"file": str(scene.target.ca_file)}, "password": None}
    assert refusal(check({"trust": other}))[0] == "tls-untrusted"


def test_a_plain_connection_to_a_tls_listener_is_reported_as_unreachable(check: Check) -> None:
    assert refusal(check({"securityProtocol": "SASL_PLAINTEXT", "trust": None}))[0] == "unreachable"


@pytest.mark.parametrize(
    ("topics", "code"),
    [
        pytest.param(["refused", "not-there"], "topic-missing", id="a topic by name"),
        pytest.param(["nothing-.*"], "no-topic-selected", id="a pattern"),
    ],
)
def test_topics_that_the_source_lacks_are_an_error(check: Check, topics: list[str], code: str) -> None:
    found, message = refusal(check(topics=topics))
    assert found == code
    assert topics[-1] in message


def test_a_topic_that_the_user_may_not_see_is_reported_with_the_missing_permission(
    check: Check, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka hides what a user may not describe: the job sees no such topic."""
    monkeypatch.setenv(password_variable(scene.source), scene.source.users["mirror"].password)
    login = {"type": "plain", "username": "mirror", "password": {"env": password_variable(scene.source)}}
    code, message = refusal(check({"authentication": login}, topics=["refused"]))
    assert code == "topic-missing"
    assert "grant DESCRIBE" in message


def test_the_job_logs_in_to_a_mutual_tls_listener_with_a_client_certificate(check: Check, scene: Scene) -> None:
    pair = scene.source.users["validator"].certificate
    login = {"type": "tls", "certificate": {"file": str(pair.certificate)}, "key": {"file": str(pair.key)}}
    address = scene.source.tls_bootstrap_servers
    outcome = check({"securityProtocol": "SSL", "bootstrapServers": address, "authentication": login})
    parity = next(each for each in outcome.checks if each.name == "parity")
    assert (parity.verdict, parity.counts["sourceRecords"]) == (Verdict.PASS, 60)


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_truststore_is_read_and_a_wrong_password_is_reported(
    check: Check, scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    store = tmp_path / "trust"
    import_certificate(scene.source, store, kind, "store-password")
    monkeypatch.setenv("STORE_PASSWORD", "store-password")
    trust = {"format": kind, "certificates": {"file": str(store)}, "password": {"env": "STORE_PASSWORD"}}
    assert reached(check, {"trust": trust})
    monkeypatch.setenv("STORE_PASSWORD", "another")
    code, message = refusal(check({"trust": trust}))
    assert code == "truststore-unreadable"
    assert "the password is wrong" in message


def import_certificate(region: Region, store: Path, kind: str, password: str) -> None:
    keytool = Path(os.environ["JAVA_HOME"]) / "bin" / "keytool"
    command = [keytool, "-importcert", "-noprompt", "-alias", "ca", "-file", region.ca_file, "-keystore", store]
    secret = ["-storetype", kind, "-storepass", password]
    subprocess.run([*map(str, command), *secret], check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def core(endpoints: Endpoints) -> Iterator[client.CoreV1Api]:
    api = config.new_client_from_config(str(endpoints.kubeconfig))  # type: ignore[no-untyped-call]
    found = client.CoreV1Api(api)
    namespace = client.V1Namespace(metadata=client.V1ObjectMeta(name="validation-tests"))
    found.create_namespace(namespace, _request_timeout=CALL_SECONDS)
    yield found
    found.delete_namespace("validation-tests", _request_timeout=CALL_SECONDS)


def test_credentials_in_secrets_are_read_through_the_api_server(
    check: Check, scene: Scene, core: client.CoreV1Api
) -> None:
    password = scene.source.users["validator"].password
    secret = client.V1Secret(metadata=client.V1ObjectMeta(name="login"), string_data={"password": password + "\n"})
    core.create_namespaced_secret("validation-tests", secret, _request_timeout=CALL_SECONDS)
    reference = {"namespace": "validation-tests", "name": "login", "key": "password"}
    login = {"type": "plain", "username": "validator", "password": {"secret": reference}}
    assert reached(check, {"authentication": login})
    for wrong in ({"name": "absent"}, {"key": "absent"}):
        login["password"] = {"secret": {**reference, **wrong}}
        code, message = refusal(check({"authentication": login}))
        assert code == "credential-missing"
        assert "absent" in message


def test_the_verdict_is_published_in_the_flows_namespace_and_a_newer_run_replaces_it(
    endpoints: Endpoints, core: client.CoreV1Api
) -> None:
    """Promotion reads this map: an old pass must not outlive a failure."""
    for time, verdict in (("2026-01-02T03:04:05+00:00", "error"), ("2026-01-02T04:04:05+00:00", "error")):
        outcome = FlowOutcome("orders", "validation-tests", "sha256:0f", "useast", "uswest", "default", time)
        publish(Report("local", time, 1.0, (outcome,)), endpoints.kubeconfig)
        found = core.read_namespaced_config_map(
            "orders-validation", "validation-tests", _request_timeout=CALL_SECONDS
        ).data
        assert found is not None
        assert json.loads(found.pop("report.json"))["verdict"] == verdict
        assert found == {"verdict": verdict, "depth": "full", "digest": "sha256:0f", "time": time}


def test_the_help_text_shows_an_example_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        entry(["--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "validate.py --parameters params.json" in printed
    assert "exit code" in printed


def test_bad_parameters_end_the_command_with_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "params.json"
    bad.write_text(json.dumps({"schemaVersion": 1, "stack": "local", "flows": [a_flow_document(topics=[])]}))
    assert entry(["--parameters", str(bad)]) == 2
    printed = capsys.readouterr().err
    assert "parameters-invalid: flows.0.topics" in printed
    assert "Traceback" not in printed
    with pytest.raises(SystemExit) as ended:
        entry(["--parameters", str(bad), "--flow"])
    assert ended.value.code == 2


def test_a_quick_verdict_is_not_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It would replace a verdict that rests on all records; the job says so before it starts Spark."""
    assert entry(["--parameters", str(tmp_path / "none.json"), "--depth", "quick", "--publish"]) == 2
    assert "quick-not-published: `--publish` is given with `--depth quick`" in capsys.readouterr().err


@pytest.mark.process
def test_a_folder_without_jars_exits_with_two_and_writes_a_report(tmp_path: Path) -> None:
    """Runs in a process of its own: in this one, the job would find the session of the other tests."""
    parameters, report = tmp_path / "params.json", tmp_path / "report.json"
    parameters.write_text(json.dumps({"schemaVersion": 1, "stack": "local", "flows": [a_flow_document()]}))
    job = [sys.executable, ROOT / "spark" / "validate.py", "--parameters", parameters]
    line = [*map(str, job), "--jars-dir", str(tmp_path), "--report", str(report)]
    answer = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300, cwd="/")
    assert answer.returncode == 2
    assert json.loads(report.read_text())["error"]["code"] == "spark-jars-missing"


def test_without_jinja2_the_option_html_exits_with_two_before_spark_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = tmp_path / "params.json"
    parameters.write_text(json.dumps({"schemaVersion": 1, "stack": "local", "flows": [a_flow_document()]}))
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "kafka_replication.spark.report.page", raising=False)
    assert entry(["--parameters", str(parameters), "--html", str(tmp_path / "report.html")]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("jinja2-missing: jinja2 is not installed")
    assert "install Jinja2 for this Python, or leave --html out" in printed


@pytest.mark.parametrize("option", ["--report", "--html"])
def test_a_report_that_cannot_be_written_is_reported_with_its_option(option: str, tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match=f"report-not-written: .*give {option} a writable path"):
        write(tmp_path / "no-such-folder" / "report", "…", option)
