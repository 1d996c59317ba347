"""The fields that workers get for each login in each API version, and the files that these fields name."""

from typing import Any

import pytest

from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.api_versions import security_fields
from kafka_replication.components.render.connections import connection_properties
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.components.render.kafka_connect import connect_object
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_resolved_flow, a_topology
from tests.components.render.logins import (
    AWS,
    BEARER,
    CALLBACK,
    CUSTOM,
    IAM,
    OAUTH,
    PLAIN,
    TOKEN,
    oauth_jaas,
    password_login,
    with_login,
)


def password_fields(kind: str) -> dict[str, Any]:
    secret = {"secretName": "login", "password": "password"}
    return {"type": kind, "username": "m", "passwordSecret": secret}


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
        id="tokens from an endpoint have their own type in v1beta2",
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
        id="tokens from an endpoint are custom in v1",
    ),
    pytest.param(
        TOKEN,
        "v1beta2",
        {"type": "oauth", "accessToken": {"secretName": "orders-target-credentials", "key": "access.token"}},
        id="an access token in v1beta2",
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
        id="an access token in v1",
    ),
    pytest.param(
        CUSTOM, "v1", custom_fields(CUSTOM_READ), id="a custom login reads Secrets by the operator's provider"
    ),
    pytest.param(CUSTOM, "0.48", custom_fields(CUSTOM_READ), id="a custom login in the last v1beta2"),
    pytest.param(
        AWS,
        "v1",
        custom_fields({"sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": IAM}),
        id="a custom login without a Secret",
    ),
]


@pytest.mark.parametrize(("login", "strimzi", "wanted"), WORKERS)
def test_workers_get_a_login_in_the_form_of_their_api_version(
    login: dict[str, Any], strimzi: str, wanted: dict[str, Any]
) -> None:
    assert security_fields(with_login(login, strimzi), "target")["authentication"] == wanted


def test_workers_trust_all_keys_of_a_pattern_and_connectors_the_key_that_holds_all() -> None:
    """Workers use only the first certificate of a key, so a change of authorities needs a second key."""
    trust = {"trust": {"secret": "uswest-ca", "pattern": "ca-*.crt", "key": "all.pem"}}
    clusters = {"useast": a_cluster(), "uswest": a_cluster("us-west-2", tls=trust)}
    flow = a_resolved_flow(clusters)
    spec = connect_object(flow).manifest["spec"]
    assert spec["tls"]["trustedCertificates"] == [{"secretName": "uswest-ca", "pattern": "ca-*.crt"}]
    certificates = connection_properties(flow, "target")["ssl.truststore.certificates"]
    assert certificates == "${secret:mirror-orders/uswest-ca:all.pem}"
    document = flow_parameters(flow).document()
    assert document["target"]["trust"]["certificates"]["secret"]["key"] == "all.pem"
    assert document["target"]["trust"]["workersReadOthers"] is True
    assert "workersReadOthers" not in document["source"]["trust"]


@pytest.mark.parametrize(
    ("source", "target", "strimzi", "wanted"),
    [
        pytest.param(TOKEN, TOKEN, "1.2", "uswest=2", id="a token of the target"),
        pytest.param(TOKEN, CUSTOM, "0.48", "uswest=2", id="a custom login in v1beta2"),
        pytest.param(TOKEN, TOKEN, "0.48", None, id="tokens that the operator watches in v1beta2"),
        pytest.param(TOKEN, password_login("plain"), "1.2", None, id="a password that the operator watches"),
    ],
)
def test_workers_are_rolled_for_a_secret_that_their_operator_does_not_watch(
    source: dict[str, Any], target: dict[str, Any], strimzi: str, wanted: str | None
) -> None:
    """Otherwise they keep using the old credential until it expires."""
    clusters = {
        "useast": a_cluster(authentication=source, credentialsRevision=1),
        "uswest": a_cluster("us-west-2", authentication=target, credentialsRevision=2),
    }
    spec = connect_object(a_resolved_flow(clusters, strimzi=strimzi)).manifest["spec"]
    annotations = spec.get("template", {}).get("pod", {}).get("metadata", {}).get("annotations")
    assert annotations == (wanted and {"kafka-replication/credentials-revisions": wanted})


def test_workers_of_mirrors_are_rolled_for_the_secrets_of_every_source() -> None:
    clusters = {
        alias: a_cluster(authentication=TOKEN, credentialsRevision=revision)
        for alias, revision in (("useast", 1), ("eu", 3), ("uswest", 0))
    }
    topics = {"topics": ["orders"], "groups": ["g"]}
    mirrors = {"kind": "mirrorMaker2", "sources": {"useast": topics, "eu": topics}, "target": "uswest"}
    given = {"pod": {"metadata": {"annotations": {"team": "data"}}}}
    topology = parse_topology(a_topology({**mirrors, "connect": {"template": given}}, clusters=clusters))
    (deployment,) = deployments(resolve_flows(topology, None, {}))
    (mirror,) = (
        planned_object.manifest for planned_object in deployment.objects if planned_object.kind == "KafkaMirrorMaker2"
    )
    annotations = mirror["spec"]["template"]["pod"]["metadata"]["annotations"]
    assert annotations.pop("team") == "data"
    assert set(annotations["kafka-replication/credentials-revisions"].split(",")) == {"useast=1", "eu=3"}


@pytest.mark.parametrize(
    ("strimzi", "volumes"),
    [
        pytest.param("1.2", ["source-token-trust", "target-token-trust"], id="in v1 for workers and connectors"),
        pytest.param(
            "0.48",
            ["source-token-trust", "target-token-trust"],
            id="in v1beta2 for the connectors' connections to both clusters",
        ),
        pytest.param("0.45", ["source-token-trust"], id="only for the source if connectors read the worker file"),
    ],
)
def test_certificates_of_a_token_endpoint_are_mounted_if_a_login_names_their_path(
    strimzi: str, volumes: list[str]
) -> None:
    template = connect_object(with_login(OAUTH, strimzi)).manifest["spec"]["template"]
    assert [volume["name"] for volume in template["pod"]["volumes"]] == volumes
    items = [{"key": "auth.crt", "path": "auth.crt"}]
    assert template["pod"]["volumes"][0]["secret"] == {"secretName": "auth-ca", "items": items}
    assert template["connectContainer"]["volumeMounts"][0]["mountPath"] == "/mnt/source-token-trust"


def test_workers_shared_by_several_mirrors_mount_the_certificates_of_every_source() -> None:
    clusters = {"useast": a_cluster(authentication=OAUTH), "eu": a_cluster("eu", authentication=OAUTH)}
    clusters["uswest"] = a_cluster("us-west-2")
    topics = {"topics": ["orders"], "groups": ["g"]}
    mirrors = {"kind": "mirrorMaker2", "sources": {"useast": topics, "eu": topics}, "target": "uswest"}
    topology = parse_topology(a_topology(mirrors, clusters=clusters))
    (deployment,) = deployments(resolve_flows(topology, None, {}))
    objects = {planned.kind: planned.manifest for planned in deployment.objects}
    for kind in ("KafkaConnect", "KafkaMirrorMaker2"):
        volumes = objects[kind]["spec"]["template"]["pod"]["volumes"]
        assert {volume["name"] for volume in volumes} == {"source-token-trust-useast", "source-token-trust-eu"}
