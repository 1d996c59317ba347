"""Settings that the operator or its clients do not support are refused, and no others."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import Severity
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_topology

BUNDLE = {"trust": {"secret": "ca", "pattern": "ca-*.crt", "key": "all.pem"}}
PATTERN = {"trust": {"secret": "ca", "pattern": "*.crt"}}
KEYSTORE = {"trust": {"format": "JKS", "secret": "ca", "key": "t.jks", "password": {"secret": "ca", "key": "p"}}}
CERTIFICATE = {"type": "tls", "secret": "client"}
TOKEN = {"type": "oauth", "accessToken": {"secret": "login", "key": "token"}}
WITHOUT_HEARTBEATS = {"heartbeat": {"enabled": False}}


def refused(
    strimzi: str,
    source: Mapping[str, Any] | None = None,
    target: Mapping[str, Any] | None = None,
    **flow: Any,
) -> set[str]:
    """The codes of the errors in a topology with one replication."""
    clusters = {"useast": a_cluster(**(source or {})), "uswest": a_cluster("us-west-2", **(target or {}))}
    topology = parse_topology(a_topology(a_flow(**flow), clusters=clusters, strimzi=strimzi))
    return {problem.code for problem in check_topology(topology) if problem.severity is Severity.ERROR}


def test_an_unsupported_operator_hides_the_problems_that_follow_from_it() -> None:
    """The user must choose another operator first; what the old one lacks does not matter yet."""
    given = {"connect": {"metrics": {"type": "strimziMetricsReporter"}, "template": {"pod": {"hostUsers": False}}}}
    assert refused("0.40", **given) == {"unsupported-strimzi"}
    assert refused("0.45", **given) == {"strimzi-too-old"}
    assert refused("0.40", {"tls": None}, topics=[]) == {"unsupported-strimzi", "no-topics"}


PLUGINS: dict[str, Any] = {
    "plugins": [{"name": "policy", "artifacts": [{"type": "image", "reference": "registry.example.com/policy:1"}]}]
}
VARIABLE: dict[str, Any] = {"rack": {"type": "environment-variable", "envVarName": "RACK"}}


def a_build(output: Mapping[str, Any] | None = None, **artifact: Any) -> dict[str, Any]:
    """Workers whose image the operator builds with one plugin."""
    maven = {"type": "maven", "group": "com.acme", "artifact": "policy", "version": "1.0", **artifact}
    image = {"type": "docker", "image": "registry.example.com/connect:1", **(output or {})}
    return {"build": {"output": image, "plugins": [{"name": "policy", "artifacts": [maven]}]}}


@pytest.mark.parametrize(
    ("strimzi", "connect", "wanted"),
    [
        pytest.param("0.45", a_build(), {}, id="a build, with any operator"),
        pytest.param("0.46", PLUGINS, {"strimzi-too-old": "plugins"}, id="plugins before the field was added"),
        pytest.param("0.47", PLUGINS, {}, id="plugins since the field was added"),
        pytest.param(
            "1.1",
            a_build(mirrors=[{"url": "https://maven.example.com"}]),
            {"strimzi-too-old": "build.plugins.0.artifacts.0.mirrors"},
            id="mirrors before the field was added",
        ),
        pytest.param("1.2", a_build(mirrors=[{"url": "https://maven.example.com"}]), {}, id="mirrors"),
        pytest.param("1.1", a_build(mirrors=None), {}, id="no mirrors, before the field was added"),
        pytest.param("0.51", VARIABLE, {"strimzi-too-old": "rack.type"}, id="a variable before 1.0"),
        pytest.param("1.0", VARIABLE, {}, id="a variable since 1.0"),
        pytest.param("0.48", a_build({"additionalKanikoOptions": []}), {}, id="options of Kaniko in v1beta2"),
        pytest.param(
            "0.49",
            a_build({"additionalKanikoOptions": []}),
            {"gone-in-v1": "build.output.additionalKanikoOptions"},
            id="options of Kaniko in v1",
        ),
    ],
)
def test_a_field_of_plugins_or_racks_that_the_operator_lacks_is_refused_where_it_is(
    strimzi: str, connect: dict[str, Any], wanted: dict[str, str]
) -> None:
    topology = parse_topology(a_topology(a_flow(connect=connect, connectors=WITHOUT_HEARTBEATS), strimzi=strimzi))
    errors = [problem for problem in check_topology(topology) if problem.severity is Severity.ERROR]
    assert {each.code: each.where.removeprefix("replications.orders.connect.") for each in errors} == wanted


def test_the_remedy_for_a_kind_of_rack_leaves_a_rack_that_is_complete() -> None:
    """Without the type, `envVarName` alone would be refused."""
    problems = check_topology(parse_topology(a_topology(a_flow(connect=VARIABLE), strimzi="0.51")))
    (problem,) = (each for each in problems if each.code == "strimzi-too-old")
    assert problem.remedy.startswith("write only `rack: {topologyKey: LABEL}`, or upgrade the operator")


@pytest.mark.parametrize(
    ("strimzi", "template", "wanted"),
    [
        pytest.param("0.45", {"pod": {"dnsPolicy": "Default"}}, {"strimzi-too-old"}, id="before the field was added"),
        pytest.param("0.46", {"pod": {"dnsPolicy": "Default"}}, set(), id="since the field was added"),
        pytest.param("v1beta2", {"pod": {"hostUsers": False}}, {"strimzi-too-old"}, id="an API that may be older"),
        pytest.param("0.49", {"pod": {"hostUsers": False}}, {"strimzi-too-old"}, id="an old operator of v1"),
        pytest.param("v1", {"pod": {"dnsPolicy": "Default"}}, set(), id="a field of every operator of v1"),
        pytest.param("v1", {"pod": {"hostUsers": False}}, {"strimzi-too-old"}, id="a field of newer operators of v1"),
        pytest.param("0.48", {"deployment": {}}, set(), id="a Deployment in v1beta2"),
        pytest.param("0.49", {"deployment": {}}, {"gone-in-v1"}, id="a Deployment in v1"),
    ],
)
def test_a_template_field_that_the_operator_lacks_is_refused(
    strimzi: str, template: dict[str, Any], wanted: set[str]
) -> None:
    problems = refused(strimzi, connect={"template": template}, connectors=WITHOUT_HEARTBEATS)
    assert problems == wanted


@pytest.mark.parametrize(
    ("strimzi", "flow", "source", "target", "wanted"),
    [
        pytest.param("1.2", {}, {"tls": PATTERN}, {}, {"trust-pattern-needs-key"}, id="a source"),
        pytest.param("1.2", {}, {}, {"tls": PATTERN}, {"trust-pattern-needs-key"}, id="a target by its Secret"),
        pytest.param("1.2", {}, {"tls": BUNDLE}, {"tls": BUNDLE}, set(), id="a key beside the pattern"),
        pytest.param("0.45", {}, {"tls": KEYSTORE}, {"tls": PATTERN}, set(), id="a target by the worker's file"),
        pytest.param(
            "0.45", {"kind": "mirrorMaker2"}, {"tls": PATTERN}, {"tls": PATTERN}, set(), id="a KafkaMirrorMaker2"
        ),
        pytest.param(
            "1.2",
            {"kind": "mirrorMaker2"},
            {"tls": PATTERN},
            {"tls": PATTERN},
            {"trust-pattern-needs-key"},
            id="heartbeats beside a KafkaMirrorMaker2",
        ),
        pytest.param(
            "1.2",
            {"kind": "mirrorMaker2", "connectors": WITHOUT_HEARTBEATS},
            {"tls": PATTERN},
            {"tls": PATTERN},
            set(),
            id="a KafkaMirrorMaker2 without heartbeats",
        ),
    ],
)
def test_a_trust_pattern_is_refused_where_a_connector_reads_the_certificates(
    strimzi: str, flow: dict[str, Any], source: dict[str, Any], target: dict[str, Any], wanted: set[str]
) -> None:
    assert refused(strimzi, source, target, **flow) == wanted


@pytest.mark.parametrize(
    ("strimzi", "source", "target", "reason"),
    [
        pytest.param("1.2", {"tls": KEYSTORE}, {}, "has PEM certificates", id="PEM certificates beside a file"),
        pytest.param(
            "0.46",
            {"tls": KEYSTORE, "authentication": CERTIFICATE},
            {"authentication": CERTIFICATE},
            "has a keystore file",
            id="a keystore file beside a PEM key",
        ),
        pytest.param(
            "0.46",
            {"tls": KEYSTORE},
            {"authentication": TOKEN},
            "has `sasl.login.callback.handler.class`",
            id="a callback that stays",
        ),
    ],
)
def test_heartbeats_that_no_workers_can_send_are_refused_with_the_reason(
    strimzi: str, source: dict[str, Any], target: dict[str, Any], reason: str
) -> None:
    clusters = {"useast": a_cluster(**source), "uswest": a_cluster("us-west-2", **target)}
    problems = check_topology(parse_topology(a_topology(clusters=clusters, strimzi=strimzi)))
    (problem,) = (candidate for candidate in problems if candidate.severity is Severity.ERROR)
    assert problem.code == "heartbeat-trust-conflict"
    assert reason in problem.why
    assert "`clusters.useast.tls.trust: {secret: NAME, key: ca.crt}`" in problem.remedy
    assert refused(strimzi, {**source, "tls": {"trust": {"secret": "ca", "key": "ca.crt"}}}, target) == set()
    assert refused(strimzi, source, target, connectors=WITHOUT_HEARTBEATS) == set()


@pytest.mark.parametrize(
    ("strimzi", "more", "wanted"),
    [
        pytest.param("0.46", {"quota": {"hard": {"pods": 3}}}, {"quota-exceeded"}, id="one worker too many"),
        pytest.param("0.46", {"quota": {"hard": {"pods": 4}}}, set(), id="room for one more worker"),
        pytest.param("1.2", {"quota": {"hard": {"pods": 3}}}, set(), id="workers that send heartbeats themselves"),
    ],
)
def test_heartbeat_workers_count_towards_the_quota(strimzi: str, more: dict[str, Any], wanted: set[str]) -> None:
    assert refused(strimzi, **more) == wanted


def test_heartbeat_workers_need_a_short_and_unique_name() -> None:
    def codes(strimzi: str, *names: str) -> set[str]:
        flows = {name: a_flow(topics=[name], groups=[name]) for name in names}
        problems = check_topology(parse_topology(a_topology(replications=flows, strimzi=strimzi)))
        return {problem.code for problem in problems if problem.severity is Severity.ERROR}

    assert codes("0.46", "o" * 46) == {"name-too-long"}
    assert codes("1.2", "o" * 46) == set()
    assert codes("0.46", "orders", "orders-heartbeats") == {"worker-group-shared"}
    assert codes("1.2", "orders", "orders-heartbeats") == set()


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        pytest.param(
            {"sasl.jaas.config": 'x required password="hunter2";'}, {"plain-text-credential"}, id="a password"
        ),
        pytest.param(
            {"sasl.jaas.config": "x required oauth.client.secret=hunter2;"},
            {"plain-text-credential"},
            id="a secret without quotation marks",
        ),
        pytest.param({"ssl.keystore.password": "hunter2"}, {"plain-text-credential"}, id="a property of its own"),
        pytest.param(
            {"sasl.jaas.config": 'x required password="${secret:login:password}";'}, set(), id="a placeholder"
        ),
        pytest.param(
            {"sasl.jaas.config": 'k required useKeyTab=true storeKey=true keyTab="/mnt/k/mirror.keytab";'},
            set(),
            id="Kerberos",
        ),
        pytest.param(
            {"sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;"}, set(), id="no options"
        ),
        pytest.param(
            {"security.protocol": "SASL_SSL"}, {"custom-property-ignored"}, id="a property that Strimzi ignores"
        ),
        pytest.param(
            {"sasl.jaas.config": 'x required password="${secret:mirror-orders/login:password}";'},
            set(),
            id="a placeholder with a namespace",
        ),
    ],
)
def test_a_custom_login_with_a_plain_text_credential_or_an_ignored_property_is_refused(
    config: dict[str, str], wanted: set[str]
) -> None:
    complete = {"sasl.mechanism": "X", "sasl.jaas.config": "x required;"}
    login = {"authentication": {"type": "custom", "config": {**complete, **config}}}
    assert refused("1.2", login, login) == wanted


_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        pytest.param({"sasl.mechanism": "PLAIN"}, ["`sasl.jaas.config` is missing"], id="no module"),
        pytest.param({"sasl.jaas.config": f"{_PLAIN} required;"}, ["`sasl.mechanism` is missing"], id="no mechanism"),
        pytest.param(
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{_PLAIN} required username="m"'},
            ["`sasl.jaas.config` does not end with `;`"],
            id="no semicolon",
        ),
        pytest.param(
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{_PLAIN} username="m";'},
            ["`sasl.jaas.config` has no control flag after the class"],
            id="no control flag",
        ),
        pytest.param(
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{_PLAIN};"},
            ["`sasl.jaas.config` has no control flag after the class"],
            id="a class alone",
        ),
        pytest.param({}, ["`sasl.jaas.config` is missing"], id="nothing"),
        pytest.param(
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{_PLAIN} REQUIRED\n username="m" ;\n'}, [], id="lines"
        ),
        pytest.param({"sasl.mechanism": "PLAIN", "sasl.jaas.config": "${secret:login:jaas}"}, [], id="a Secret"),
        pytest.param(
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{_PLAIN} ${{secret:login:rest}}"},
            [],
            id="half in a Secret",
        ),
        pytest.param(
            {"sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required;"}, [], id="Kerberos by default"
        ),
    ],
)
def test_a_custom_login_that_kafka_cannot_parse_is_refused(config: dict[str, str], said: list[str]) -> None:
    source = a_cluster(authentication={"type": "custom", "config": config})
    topology = a_topology(clusters={"useast": source, "uswest": a_cluster("us-west-2")})
    found = [problem for problem in check_topology(parse_topology(topology)) if problem.severity is Severity.ERROR]
    assert [(problem.code, problem.what) for problem in found] == [("custom-login-incomplete", what) for what in said]


def test_a_login_without_sasl_needs_no_login_module() -> None:
    login = {"authentication": {"type": "custom", "sasl": False, "config": {"ssl.keystore.type": "PEM"}}}
    assert refused("1.2", login, login) == set()


@pytest.mark.parametrize(("strimzi", "wanted"), [("0.45", {"strimzi-too-old"}), ("0.48", set()), ("v1", set())])
def test_a_custom_login_is_refused_for_operators_that_do_not_support_it(strimzi: str, wanted: set[str]) -> None:
    login = {"authentication": {"type": "custom", "config": {"sasl.mechanism": "X", "sasl.jaas.config": "x required;"}}}
    assert refused(strimzi, login, login, connectors=WITHOUT_HEARTBEATS) == wanted


@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("clientId", {"tokenEndpointUri": "https://auth", "clientSecret": {"secret": "s", "key": "k"}}),
        ("tokenEndpointUri", {"clientId": "m", "refreshToken": {"secret": "s", "key": "k"}}),
        ("clientSecret", {"clientId": "m", "tokenEndpointUri": "https://auth"}),
    ],
)
def test_an_oauth_login_without_a_required_key_is_refused_with_the_name_of_the_key(
    key: str, given: dict[str, Any]
) -> None:
    clusters = {alias: a_cluster(authentication={"type": "oauth", **given}) for alias in ("useast", "uswest")}
    problems = list(check_topology(parse_topology(a_topology(clusters=clusters))))
    (what, *_) = {problem.what for problem in problems if problem.code == "oauth-incomplete"}
    assert f"`{key}`" in what


_BEARER = "org.apache.kafka.common.security.oauthbearer."
_STRIMZI_HANDLER = "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"


@pytest.mark.parametrize(
    ("kafka", "image", "config", "wanted"),
    [
        pytest.param(
            "4.2.0",
            None,
            {
                "sasl.mechanism": "AWS_MSK_IAM",
                "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
                "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
            },
            ["class-not-in-image", "class-not-in-image"],
            id="MSK's classes, which Strimzi's image does not have",
        ),
        pytest.param(
            "4.2.0",
            "registry.example.com/connect:1",
            {
                "sasl.mechanism": "AWS_MSK_IAM",
                "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
            },
            [],
            id="MSK's module in an image of its own",
        ),
        pytest.param(
            "4.2.0",
            None,
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": f"{_BEARER}OAuthBearerLoginModule required;",
                "sasl.login.callback.handler.class": _STRIMZI_HANDLER,
            },
            [],
            id="Strimzi's handler of tokens",
        ),
        pytest.param(
            "3.9.0",
            None,
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.login.callback.handler.class": f"{_BEARER}secured.OAuthBearerLoginCallbackHandler",
            },
            [],
            id="the old name of Kafka's handler while Kafka had it",
        ),
        pytest.param(
            "4.2.0",
            None,
            {"sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true;"},
            [],
            id="Kerberos, which is the default mechanism",
        ),
        pytest.param(
            "4.2.0",
            None,
            {"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": "${secret:mirror-orders/login:jaas}"},
            [],
            id="a module that only the Secret names",
        ),
    ],
)
def test_the_classes_of_a_custom_login_are_judged_by_what_is_known_of_them(
    kafka: str, image: str | None, config: dict[str, str], wanted: list[str]
) -> None:
    login: dict[str, Any] = {"authentication": {"type": "custom", "config": config}}
    connect = {"version": kafka} | ({"image": image} if image else {})
    topology = a_topology(
        a_flow(connect=connect, connectors=WITHOUT_HEARTBEATS),
        clusters={"useast": a_cluster(**login), "uswest": a_cluster("us-west-2")},
        strimzi="0.45" if kafka == "3.9.0" else "1.2",
    )
    found = [problem.code for problem in check_topology(parse_topology(topology)) if "class" in problem.code]
    assert found == wanted


@pytest.mark.parametrize("of_workers", [True, False], ids=["the workers", "a connector"])
@pytest.mark.parametrize(("kafka", "wanted"), [("3.9.0", False), ("4.0.0", True)])
def test_a_partitioner_is_missed_in_images_since_kafka_4(kafka: str, wanted: bool, of_workers: bool) -> None:
    name = "org.apache.kafka.clients.producer.internals.DefaultPartitioner"
    connect: dict[str, Any] = {"version": kafka}
    connectors: dict[str, Any] = {}
    if of_workers:
        connect["config"] = {"producer.partitioner.class": name}
    else:
        connectors["source"] = {"config": {"producer.override.partitioner.class": name}}
    topology = a_topology(a_flow(connect=connect, connectors=connectors), strimzi="0.46" if wanted else "0.45")
    assert ("class-not-in-image" in {problem.code for problem in check_topology(parse_topology(topology))}) is wanted


@pytest.mark.parametrize(("operator", "wanted"), [("0.45", False), ("0.46", True), ("v1beta2", True)])
def test_strimzis_identity_policy_is_missed_in_images_since_strimzi_046(operator: str, wanted: bool) -> None:
    policy = {"policy": "identity", "policyClass": "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy"}
    topology = a_topology(a_flow(**policy, connect={"version": "3.9.0"}), strimzi=operator)
    found = {problem.code: problem for problem in check_topology(parse_topology(topology))}
    assert ("class-not-in-image" in found) is wanted
    assert not wanted or "remove `policyClass`, or set `connect.image`" in found["class-not-in-image"].remedy
