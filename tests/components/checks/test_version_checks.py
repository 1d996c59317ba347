"""Settings that the operator or its clients do not support are refused, and no others."""

from collections.abc import Mapping
from typing import Any

import pytest

from components.checks import check_topology
from components.contract.problems import Severity
from components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_topology

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


@pytest.mark.parametrize(
    ("strimzi", "template", "wanted"),
    [
        pytest.param("0.45", {"pod": {"dnsPolicy": "Default"}}, {"strimzi-too-old"}, id="before the field"),
        pytest.param("0.46", {"pod": {"dnsPolicy": "Default"}}, set(), id="since the field"),
        pytest.param("v1beta2", {"pod": {"hostUsers": False}}, {"strimzi-too-old"}, id="an API that may be older"),
        pytest.param("0.49", {"pod": {"hostUsers": False}}, {"strimzi-too-old"}, id="an old operator of v1"),
        pytest.param("v1", {"pod": {"hostUsers": False, "templatedVolumes": []}}, set(), id="any operator of v1"),
        pytest.param("0.48", {"deployment": {}}, set(), id="a Deployment in v1beta2"),
        pytest.param("0.49", {"deployment": {}}, {"gone-in-v1"}, id="a Deployment in v1"),
    ],
)
def test_a_template_says_what_the_operator_has_a_field_for(
    strimzi: str, template: dict[str, Any], wanted: set[str]
) -> None:
    found = refused(strimzi, connect={"template": template}, connectors=WITHOUT_HEARTBEATS)
    assert found == wanted


@pytest.mark.parametrize(
    ("strimzi", "flow", "source", "target", "wanted"),
    [
        pytest.param("1.2", {}, {"tls": PATTERN}, {}, {"trust-pattern-needs-key"}, id="a source"),
        pytest.param("1.2", {}, {}, {"tls": PATTERN}, {"trust-pattern-needs-key"}, id="a target by its Secret"),
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
def test_certificates_by_a_pattern_are_refused_where_a_connector_reads_them(
    strimzi: str, flow: dict[str, Any], source: dict[str, Any], target: dict[str, Any], wanted: set[str]
) -> None:
    assert refused(strimzi, source, target, **flow) == wanted


@pytest.mark.parametrize(
    ("strimzi", "source", "target", "wanted"),
    [
        pytest.param("1.2", {"tls": KEYSTORE}, {}, {"heartbeat-trust-conflict"}, id="a file where workers have PEM"),
        pytest.param("0.46", {}, {}, {"heartbeat-trust-conflict"}, id="PEM where workers have a file"),
        pytest.param("0.47", {}, {}, set(), id="PEM as the workers have"),
        pytest.param("1.2", {"authentication": CERTIFICATE}, {"authentication": CERTIFICATE}, set(), id="PEM keys"),
        pytest.param(
            "0.46",
            {"tls": KEYSTORE, "authentication": CERTIFICATE},
            {"authentication": CERTIFICATE},
            {"heartbeat-certificate-conflict"},
            id="a PEM key where workers have a file",
        ),
        pytest.param("1.2", {}, {"authentication": TOKEN}, {"heartbeat-login-conflict"}, id="a callback left behind"),
        pytest.param("1.2", {"authentication": TOKEN}, {}, set(), id="a callback that only the source has"),
        pytest.param(
            "1.2",
            {"authentication": CERTIFICATE},
            {"authentication": TOKEN},
            set(),
            id="nobody asks a callback over TLS",
        ),
    ],
)
def test_heartbeats_go_through_a_producer_of_the_workers(
    strimzi: str, source: dict[str, Any], target: dict[str, Any], wanted: set[str]
) -> None:
    assert refused(strimzi, source, target) == wanted
    assert refused(strimzi, source, target, connectors=WITHOUT_HEARTBEATS) == set()


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        pytest.param(
            {"sasl.jaas.config": 'x required password="hunter2";'}, {"plain-text-credential"}, id="a password"
        ),
        pytest.param(
            {"sasl.jaas.config": "x required oauth.client.secret=hunter2;"}, {"plain-text-credential"}, id="bare"
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
            {"sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;"}, set(), id="nothing"
        ),
        pytest.param({"security.protocol": "SASL_SSL"}, {"custom-property-ignored"}, id="what Strimzi drops"),
        pytest.param(
            {"sasl.jaas.config": 'x required password="${secret:mirror-orders/login:password}";'},
            set(),
            id="its namespace",
        ),
    ],
)
def test_a_custom_login_holds_no_credential_and_nothing_that_is_dropped(
    config: dict[str, str], wanted: set[str]
) -> None:
    login = {"authentication": {"type": "custom", "config": {"sasl.mechanism": "X", **config}}}
    assert refused("1.2", login, login) == wanted


@pytest.mark.parametrize(("strimzi", "wanted"), [("0.45", {"strimzi-too-old"}), ("0.48", set()), ("v1", set())])
def test_a_custom_login_is_refused_by_operators_that_do_not_know_it(strimzi: str, wanted: set[str]) -> None:
    login = {"authentication": {"type": "custom", "config": {"sasl.mechanism": "X"}}}
    assert refused(strimzi, login, login, connectors=WITHOUT_HEARTBEATS) == wanted


@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("clientId", {"tokenEndpointUri": "https://auth", "clientSecret": {"secret": "s", "key": "k"}}),
        ("tokenEndpointUri", {"clientId": "m", "refreshToken": {"secret": "s", "key": "k"}}),
        ("clientSecret", {"clientId": "m", "tokenEndpointUri": "https://auth"}),
    ],
)
def test_a_login_by_tokens_without_what_the_endpoint_asks_is_refused_by_the_missing_key(
    key: str, given: dict[str, Any]
) -> None:
    clusters = {alias: a_cluster(authentication={"type": "oauth", **given}) for alias in ("useast", "uswest")}
    problems = list(check_topology(parse_topology(a_topology(clusters=clusters))))
    (what, *_) = {problem.what for problem in problems if problem.code == "oauth-incomplete"}
    assert f"`{key}`" in what
