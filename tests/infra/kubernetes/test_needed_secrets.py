"""`up` names the Secrets that do not exist before it creates anything, instead of waiting for workers in vain."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.resolved import ResolvedFlow, resolve_flows
from kafka_replication.components.render.kafka_users import kafka_user_objects
from kafka_replication.components.render.planned_objects import PlannedObject
from kafka_replication.components.render.validation_jobs import validation_objects
from kafka_replication.components.topology.in_cluster import InCluster
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference
from kafka_replication.infra.kubernetes.preconditions import require_secrets
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import KubernetesAccess, read_settings
from tests.builders import a_cluster, a_flow, a_resolved_flow, a_topology
from tests.repository import STACKS

ANY = KubernetesAccess()
SCRAM = {"type": "scram-sha-512", "username": "mirror"}


class _Holding(KubernetesApi):
    """A cluster that holds the Secrets of one namespace, by name."""

    def __init__(self, secrets: Mapping[str, Sequence[str]] | None, error: ApiError | None = None) -> None:
        self._secrets, self._error = secrets, error

    def get(self, target: Reference) -> Object | None:
        if self._error is not None:
            raise self._error
        if self._secrets is None:
            return None
        assert target.namespace in (None, "mirror-orders")
        keys = self._secrets.get(target.name) if target.kind == "Secret" else ()
        return None if keys is None else {"data": dict.fromkeys(keys, "c2VjcmV0")}


def refused(
    api: KubernetesApi,
    flows: Sequence[ResolvedFlow],
    users: Sequence[PlannedObject] = (),
    access: KubernetesAccess = ANY,
) -> CannotRunError:
    with pytest.raises(CannotRunError, match="secret-missing") as caught:
        list(require_secrets(api, flows, users, access))
    return caught.value


def clusters(**of_uswest: Any) -> dict[str, Any]:
    return {
        alias: a_cluster(
            region,
            tls={"trust": {"secret": f"{alias}-ca", "key": "ca.crt"}},
            authentication={**SCRAM, "password": {"secret": f"{alias}-mirror", "key": "password"}},
        )
        | more
        for alias, region, more in (("useast", "us-east-1", {}), ("uswest", "us-west-2", of_uswest))
    }


def test_secrets_that_only_pods_read_are_asked_for() -> None:
    container: dict[str, list[Any]] = {
        "env": [{"name": "AWS_KEY", "valueFrom": {"secretKeyRef": {"name": "aws-login", "key": "id"}}}]
    }
    maybe = {"name": "NOTE", "valueFrom": {"secretKeyRef": {"name": "notes", "key": "id", "optional": True}}}
    container["env"].append(maybe)
    volume = {"name": "krb", "secret": {"secretName": "krb", "items": [{"key": "mm.keytab", "path": "mm.keytab"}]}}
    connect = {
        "image": "registry.example.com/connect:1.0.0",
        "imagePullSecret": "registry-login",
        "build": {
            "output": {"type": "docker", "image": "registry.example.com/built:1", "pushSecret": "push-login"},
            "plugins": [],
        },
        "template": {"connectContainer": container, "pod": {"volumes": [volume]}},
    }
    error = refused(_Holding({"krb": []}), [a_resolved_flow(a_topology()["clusters"], connect=connect)])
    assert "Secret mirror-orders/krb has no key `mm.keytab`" in error.what
    create = "  kubectl --namespace mirror-orders create secret generic"
    assert {
        f"{create} aws-login --from-file=id=FILE",
        f"{create} registry-login --type=kubernetes.io/dockerconfigjson --from-file=.dockerconfigjson=FILE",
        f"{create} push-login --type=kubernetes.io/dockerconfigjson --from-file=.dockerconfigjson=FILE",
    } < {*error.detail.splitlines()}
    assert "notes" not in str(error)


def test_the_first_deployment_says_what_to_create_and_where() -> None:
    error = refused(_Holding(None), [a_resolved_flow(clusters())], access=KubernetesAccess("kube.yaml", "prod west"))
    assert str(error).partition("\n")[0] == (
        "secret-missing: Secret mirror-orders/useast-ca does not exist; Secret mirror-orders/useast-mirror does not "
        "exist; Secret mirror-orders/uswest-ca does not exist; Secret mirror-orders/uswest-mirror does not exist, at "
        "the Kubernetes cluster of the stack. Workers do not start without them, and nothing is replicated. Remedy: "
        "set `replications.orders.namespace.create: false`, because you create the namespace; run these commands with "
        "your own files; then run `up` again. If something else creates the Secrets once the namespace exists, run "
        "`up --secrets-later`."
    )
    kubectl = "  kubectl --kubeconfig kube.yaml --context 'prod west'"
    assert error.detail.splitlines() == [
        f"{kubectl} create namespace mirror-orders",
        f"{kubectl} --namespace mirror-orders create secret generic useast-ca --from-file=ca.crt=FILE",
        f"{kubectl} --namespace mirror-orders create secret generic useast-mirror --from-file=password=FILE",
        f"{kubectl} --namespace mirror-orders create secret generic uswest-ca --from-file=ca.crt=FILE",
        f"{kubectl} --namespace mirror-orders create secret generic uswest-mirror --from-file=password=FILE",
    ]


def test_only_what_is_missing_is_named_in_a_namespace_that_exists() -> None:
    held = {"useast-ca": ["ca.crt"], "useast-mirror": ["password"], "uswest-ca": ["tls.crt"]}
    error = refused(_Holding(held), [a_resolved_flow(clusters())])
    assert error.what == (
        "Secret mirror-orders/uswest-ca has no key `ca.crt`; Secret mirror-orders/uswest-mirror does not exist"
    )
    assert error.remedy.startswith("run these commands with your own files; add the missing keys; then")
    assert error.detail == (
        "  kubectl --namespace mirror-orders create secret generic uswest-mirror --from-file=password=FILE"
    )


def test_secrets_of_transforms_and_patterns_of_keys_are_needed_too() -> None:
    trust = {"trust": {"secret": "uswest-ca", "key": "all.pem", "pattern": "ca-*.crt"}}
    flow = a_resolved_flow(clusters(tls=trust), connectors={"source": {"config": {"header": "${secret:mine:token}"}}})
    held = {"useast-ca": ["ca.crt"], "useast-mirror": ["password"], "uswest-mirror": ["password"]}
    assert refused(_Holding(held), [flow]).detail.splitlines() == [
        "  kubectl --namespace mirror-orders create secret generic mine --from-file=token=FILE",
        "  kubectl --namespace mirror-orders create secret generic uswest-ca --from-file=all.pem=FILE",
    ]


def test_secrets_of_the_validation_in_the_cluster_are_needed_too() -> None:
    login = {"type": "plain", "username": "job", "password": {"secret": "job", "key": "password"}}
    flow = a_resolved_flow(clusters(validation={"authentication": login}))
    asked = InCluster.model_validate({"image": "r.example.com/job@sha256:" + "0" * 64, "imagePullSecret": "pull"})
    workers = {
        f"{alias}-{kind}": [key]
        for alias in ("useast", "uswest")
        for kind, key in (("ca", "ca.crt"), ("mirror", "password"))
    }
    jobs = validation_objects([flow], "prod", asked)
    with pytest.raises(CannotRunError) as caught:
        list(require_secrets(_Holding(workers), [flow], (), ANY, jobs))
    assert (caught.value.what, caught.value.why) == (
        "Secret mirror-orders/job does not exist; Secret mirror-orders/pull does not exist",
        "Neither the validation job nor the exporter starts without them.",
    )
    assert caught.value.detail.splitlines() == [
        "  kubectl --namespace mirror-orders create secret generic job --from-file=FOLDER",
        "  kubectl --namespace mirror-orders create secret generic pull --type=kubernetes.io/dockerconfigjson "
        "--from-file=.dockerconfigjson=FILE",
    ]


def test_what_the_stack_or_the_user_operator_creates_is_not_asked_for() -> None:
    by_operator = {"kafkaUser": {"cluster": "kafka", "namespace": "mirror-orders", "name": "uswest-mirror"}}
    own = {"authentication": {**SCRAM, "password": {"config": "useastPassword"}}, "tls": None}
    known = clusters(**by_operator)
    topology = parse_topology(a_topology(a_flow(), clusters={**known, "useast": known["useast"] | own}))
    flows, users = resolve_flows(topology, None, {}), kafka_user_objects(topology, None)
    held = {"uswest-ca": ["ca.crt"]}
    assert list(require_secrets(_Holding(held), flows, users, ANY)) == []
    assert refused(_Holding(held), flows).what == "Secret mirror-orders/uswest-mirror does not exist"


def test_a_secret_that_may_not_be_seen_is_said_and_not_refused() -> None:
    said = list(
        require_secrets(_Holding({}, error=ApiError(403, "Forbidden", "no")), [a_resolved_flow(clusters())], (), ANY)
    )
    assert said[0] == "whether Secret mirror-orders/useast-ca exists is unknown: your account may not `get` it"
    assert len(said) == 4


def test_a_cluster_that_does_not_answer_is_an_error() -> None:
    api = _Holding({}, error=ApiError(500, "Error", "no"))
    with pytest.raises(CannotRunError, match="kubernetes-refused"):
        list(require_secrets(api, [a_resolved_flow(clusters())], (), ANY))


@pytest.mark.parametrize("later", [False, True])
def test_up_creates_nothing_while_a_secret_is_missing_unless_it_comes_later(
    monkeypatch: pytest.MonkeyPatch, later: bool
) -> None:
    began = []

    class Stack:
        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None: ...

        def up(self, **_: Any) -> Any:
            began.append("up")
            raise InterruptedError

    monkeypatch.setattr(deployment, "open_stack", lambda *_, **__: Stack())
    monkeypatch.setattr(deployment, "api_client", lambda *_: _Holding(None))
    for name in ("unproven", "require_no_unfinished_move", "forget_pending_creates", "require_deployable"):
        monkeypatch.setattr(deployment, name, lambda *_: ())
    settings = read_settings("prod-us-west-2", STACKS)
    with pytest.raises(InterruptedError if later else CannotRunError):
        deployment.up(settings, lambda _: None, secrets_later=later)
    assert began == (["up"] if later else [])


def test_a_preview_says_that_up_would_refuse_and_shows_the_changes_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Stack:
        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None: ...

        def preview(self, **_: Any) -> Any:
            return SimpleNamespace(change_summary={"create": 11})

    monkeypatch.setattr(deployment, "open_stack", lambda *_, **__: Stack())
    monkeypatch.setattr(deployment, "require_deployable", lambda *_: None)
    monkeypatch.setattr(OpenStack, "kubernetes", _Holding(None))
    said: list[str] = []
    assert deployment.preview(read_settings("prod-us-west-2", STACKS), said.append) == {"create": 11}
    (sentence,) = said
    assert sentence.startswith("`up` would refuse: secret-missing: Secret mirror-orders/useast-ca does not exist; ")
