"""Each login in each API version: what workers are given for it, and what connectors are, by their exact keys."""

from typing import Any

import pytest

from components.parsing import parse_topology
from components.resolved import ResolvedFlow, resolve_flows
from components.specs.access import access_objects
from components.specs.api_versions import security_fields
from components.specs.clients import connection_properties
from components.specs.config_maps import cluster_config_map
from components.specs.connect import connect_object
from components.specs.connectors import connector_config
from components.specs.deployments import deployment_objects, deployments
from tests.builders import a_cluster, a_resolved_flow, a_topology

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
CALLBACK = "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"
IAM = "software.amazon.msk.auth.iam.IAMLoginModule required;"

TRUST = {"secret": "ca", "key": "ca.crt"}
PASSWORD = {"secret": "login", "key": "password"}
CONNECTION = {
    "bootstrap.servers": "kafka.example.com:9093",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.certificates": "${secret:mirror-orders/ca:ca.crt}",
}

OAUTH = {
    "type": "oauth",
    "tokenEndpointUri": "https://auth.example.com/token",
    "clientId": "mirror",
    "clientSecret": {"secret": "login", "key": "client"},
    "scope": "kafka",
    "audience": "brokers",
    "trust": {"secret": "auth-ca", "key": "auth.crt"},
}
TOKEN = {"type": "oauth", "accessToken": {"config": "token"}}
CUSTOM = {
    "type": "custom",
    "config": {
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN} required username="m" password="${{secret:login:password}}";',
    },
}
AWS = {"type": "custom", "config": {"sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": IAM}}


def oauth_jaas(provider: str, side: str) -> str:
    return (
        f'{BEARER} required oauth.client.id="mirror" oauth.token.endpoint.uri="https://auth.example.com/token" '
        f'oauth.scope="kafka" oauth.audience="brokers" '
        f'oauth.client.secret="${{{provider}:mirror-orders/login:client}}" '
        f'oauth.ssl.truststore.location="/mnt/{side}-token-trust/auth.crt" oauth.ssl.truststore.type="PEM";'
    )


def with_login(authentication: dict[str, Any] | None, strimzi: str, **overrides: Any) -> ResolvedFlow:
    """A flow both of whose clusters take the same login."""
    cluster = a_cluster(tls={"trust": TRUST}, authentication=authentication, **overrides)
    return a_resolved_flow({"useast": cluster, "uswest": {**cluster, "region": "us-west-2"}}, strimzi=strimzi)


def password_fields(kind: str) -> dict[str, Any]:
    secret = {"secretName": "login", "password": "password"}
    return {"type": kind, "username": "m", "passwordSecret": secret}


def password_login(kind: str) -> dict[str, Any]:
    return {"type": kind, "username": "m", "password": PASSWORD}


def custom_fields(config: dict[str, str]) -> dict[str, Any]:
    return {"type": "custom", "sasl": True, "config": config}


CERTIFICATE = {
    "type": "tls",
    "certificateAndKey": {"secretName": "login", "certificate": "user.crt", "key": "user.key"},
}
CUSTOM_READ = {
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": f'{PLAIN} required username="m" password="${{strimzisecrets:mirror-orders/login:password}}";',
}
WORKERS = [
    *(
        pytest.param(password_login(kind), version, password_fields(kind), id=f"{kind} in {version}")
        for kind in ("plain", "scram-sha-256", "scram-sha-512")
        for version in ("v1", "v1beta2")
    ),
    *(
        pytest.param({"type": "tls", "secret": "login"}, version, CERTIFICATE, id=f"a client certificate in {version}")
        for version in ("v1", "v1beta2")
    ),
    pytest.param(
        OAUTH,
        "v1beta2",
        {
            "type": "oauth",
            "tokenEndpointUri": "https://auth.example.com/token",
            "clientId": "mirror",
            "scope": "kafka",
            "audience": "brokers",
            "clientSecret": {"secretName": "login", "key": "client"},
            "tlsTrustedCertificates": [{"secretName": "auth-ca", "certificate": "auth.crt"}],
        },
        id="tokens of an endpoint have a type of their own in v1beta2",
    ),
    pytest.param(
        OAUTH,
        "v1",
        custom_fields(
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": oauth_jaas("strimzisecrets", "target"),
                "sasl.login.callback.handler.class": CALLBACK,
            }
        ),
        id="tokens of an endpoint are custom in v1",
    ),
    pytest.param(
        TOKEN,
        "v1beta2",
        {"type": "oauth", "accessToken": {"secretName": "orders-target-credentials", "key": "access.token"}},
        id="a token of its own in v1beta2",
    ),
    pytest.param(
        TOKEN,
        "v1",
        custom_fields(
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": f'{BEARER} required oauth.access.token="'
                '${strimzisecrets:mirror-orders/orders-target-credentials:access.token}";',
                "sasl.login.callback.handler.class": CALLBACK,
            }
        ),
        id="a token of its own in v1",
    ),
    pytest.param(
        CUSTOM, "v1", custom_fields(CUSTOM_READ), id="a custom login reads Secrets by the operator's provider"
    ),
    pytest.param(CUSTOM, "0.48", custom_fields(CUSTOM_READ), id="a custom login in the last v1beta2"),
    pytest.param(
        AWS, "v1", custom_fields({"sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": IAM}), id="nothing secret"
    ),
]


@pytest.mark.parametrize(("login", "strimzi", "wanted"), WORKERS)
def test_workers_are_given_a_login_as_their_version_names_it(
    login: dict[str, Any], strimzi: str, wanted: dict[str, Any]
) -> None:
    assert security_fields(with_login(login, strimzi), "target")["authentication"] == wanted


def jaas(module: str) -> str:
    return f'{module} required username="m" password="${{secret:mirror-orders/login:password}}";'


SECRETLESS = {"sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": IAM}
CONNECTORS = [
    pytest.param(
        password_login("plain"),
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas(PLAIN)},
        id="PLAIN",
    ),
    pytest.param(
        password_login("scram-sha-256"),
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": jaas(SCRAM)},
        id="SCRAM with SHA-256",
    ),
    pytest.param(
        password_login("scram-sha-512"),
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": jaas(SCRAM)},
        id="SCRAM with SHA-512",
    ),
    pytest.param(
        {"type": "tls", "secret": "login"},
        {
            "security.protocol": "SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": "${secret:mirror-orders/login:user.crt}",
            "ssl.keystore.key": "${secret:mirror-orders/login:user.key}",
        },
        id="a client certificate",
    ),
    pytest.param(
        OAUTH,
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": oauth_jaas("secret", "source"),
            "sasl.login.callback.handler.class": CALLBACK,
        },
        id="tokens of an endpoint, whose certificates are a mounted file",
    ),
    pytest.param(
        CUSTOM,
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas(PLAIN)},
        id="a custom login, its Secret in the replication's namespace",
    ),
    pytest.param({**AWS, "sasl": False}, {"security.protocol": "SSL", **SECRETLESS}, id="a custom login without SASL"),
    pytest.param(None, {"security.protocol": "SSL"}, id="nobody"),
]


@pytest.mark.parametrize("strimzi", ["1.2", "0.48"])
@pytest.mark.parametrize(("login", "wanted"), CONNECTORS)
def test_connectors_are_given_the_same_properties_in_either_version(
    login: dict[str, Any] | None, wanted: dict[str, str], strimzi: str
) -> None:
    assert connection_properties(with_login(login, strimzi), "source") == {**CONNECTION, **wanted}


STORES = {f"ssl.truststore.{key}" for key in ("location", "password", "type")}
FROM_FILE = [
    pytest.param(password_login("plain"), {"sasl.mechanism", "sasl.jaas.config"}, id="PLAIN"),
    pytest.param(password_login("scram-sha-512"), {"sasl.mechanism", "sasl.jaas.config"}, id="SCRAM"),
    pytest.param(
        {"type": "tls", "secret": "login"},
        {f"ssl.keystore.{key}" for key in ("location", "password", "type")},
        id="a client certificate",
    ),
    pytest.param(
        OAUTH, {"sasl.mechanism", "sasl.jaas.config", "sasl.login.callback.handler.class"}, id="tokens of an endpoint"
    ),
    pytest.param(None, set(), id="nobody"),
]


@pytest.mark.parametrize(("login", "keys"), FROM_FILE)
def test_connectors_read_the_target_from_the_file_of_workers_that_hold_values(
    login: dict[str, Any] | None, keys: set[str]
) -> None:
    """A key that the file does not have would reach the client as the placeholder itself."""
    config = connector_config(with_login(login, "0.45"), "source")
    found = {
        key.removeprefix("target.cluster."): value
        for key, value in config.items()
        if key.startswith("target.cluster.") and key != "target.cluster.alias"
    }
    wanted = {"bootstrap.servers", "security.protocol", *STORES, *keys}
    assert found == {key: f"${{file:/tmp/strimzi-connect.properties:{key}}}" for key in wanted}


@pytest.mark.parametrize(("strimzi", "by_file"), [("0.45", True), ("v1beta2", True), ("0.46", False), ("v1", False)])
def test_the_workers_file_is_read_only_while_it_holds_values(strimzi: str, by_file: bool) -> None:
    """From 0.46 it holds placeholders, which a connector that reads it would get as they are."""
    config = connector_config(with_login(password_login("plain"), strimzi), "checkpoint")
    assert ("file:" in str(config["target.cluster.sasl.jaas.config"])) is by_file


def test_heartbeats_go_to_the_source_by_its_own_credentials_whatever_the_worker_holds() -> None:
    config = connector_config(with_login(password_login("plain"), "0.45"), "heartbeat")
    for prefix in ("target.cluster.", "producer.override."):
        assert config[f"{prefix}sasl.jaas.config"] == jaas(PLAIN)


def test_connectors_that_read_the_workers_file_need_nothing_else_of_the_target() -> None:
    source = a_cluster(tls={"trust": TRUST}, authentication=password_login("plain"))
    target = a_cluster(
        "us-west-2",
        tls={"trust": {"secret": "target-ca", "key": "ca.crt"}},
        authentication={"type": "plain", "username": "m", "password": {"secret": "target-login", "key": "password"}},
    )
    flow = a_resolved_flow({"useast": source, "uswest": target}, strimzi="0.45")
    assert cluster_config_map(flow, "target").data == {"alias": "uswest"}
    assert secrets_in_the_role(flow) == ["ca", "login"]


@pytest.mark.parametrize(
    ("login", "strimzi", "wanted"),
    [
        pytest.param(OAUTH, "1.2", ["ca", "login"], id="a mounted certificate is not read by placeholder"),
        pytest.param(
            TOKEN, "1.2", ["ca", "orders-source-credentials", "orders-target-credentials"], id="Secrets of ours"
        ),
        pytest.param(CUSTOM, "1.2", ["ca", "login"], id="Secrets that a custom login names"),
        pytest.param(AWS, "1.2", ["ca"], id="none where a custom login names none"),
    ],
)
def test_the_role_names_what_placeholders_of_a_login_name(
    login: dict[str, Any], strimzi: str, wanted: list[str]
) -> None:
    assert secrets_in_the_role(with_login(login, strimzi)) == wanted


def test_the_role_names_what_placeholders_of_a_property_name() -> None:
    """The remedy for a credential in a property is a placeholder, which nobody could read otherwise."""
    here, elsewhere = "${secret:mirror-orders/store:password}", "${secret:vault/other:password}"
    config = {"producer.override.ssl.key.password": here, "producer.override.ssl.keystore.password": elsewhere}
    flow = a_resolved_flow(connectors={"source": {"config": config}})
    assert secrets_in_the_role(flow) == ["ca", "mirror", "store"]


def secrets_in_the_role(flow: ResolvedFlow) -> list[str]:
    role, _ = access_objects(flow)
    return next(rule["resourceNames"] for rule in role.manifest["rules"] if rule["resources"] == ["secrets"])


@pytest.mark.parametrize(
    ("strimzi", "volumes"),
    [
        pytest.param("1.2", ["source-token-trust", "target-token-trust"], id="workers too in v1"),
        pytest.param("0.48", ["source-token-trust", "target-token-trust"], id="connectors of both in v1beta2"),
        pytest.param("0.45", ["source-token-trust"], id="the operator's own where connectors read its file"),
    ],
)
def test_certificates_of_a_token_endpoint_are_mounted_where_a_login_names_their_path(
    strimzi: str, volumes: list[str]
) -> None:
    template = connect_object(with_login(OAUTH, strimzi)).manifest["spec"]["template"]
    assert [volume["name"] for volume in template["pod"]["volumes"]] == volumes
    items = [{"key": "auth.crt", "path": "auth.crt"}]
    assert template["pod"]["volumes"][0]["secret"] == {"secretName": "auth-ca", "items": items}
    assert template["connectContainer"]["volumeMounts"][0]["mountPath"] == "/mnt/source-token-trust"


def test_workers_of_several_mirrors_heartbeats_mount_what_each_source_needs() -> None:
    clusters = {"useast": a_cluster(authentication=OAUTH), "eu": a_cluster("eu", authentication=OAUTH)}
    clusters["uswest"] = a_cluster("us-west-2")
    topics = {"topics": ["orders"], "groups": ["g"]}
    mirrors = {"kind": "mirrorMaker2", "sources": {"useast": topics, "eu": topics}, "target": "uswest"}
    topology = parse_topology(a_topology(mirrors, clusters=clusters))
    (deployment,) = deployments(resolve_flows(topology, None, {}))
    objects = {planned.kind: planned.manifest for planned in deployment_objects(deployment)}
    for kind in ("KafkaConnect", "KafkaMirrorMaker2"):
        volumes = objects[kind]["spec"]["template"]["pod"]["volumes"]
        assert {each["name"] for each in volumes} == {"source-token-trust-useast", "source-token-trust-eu"}
