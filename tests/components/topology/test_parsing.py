"""Mistakes in the form of a topology file are reported in YAML's terms, with the key and its path in the file."""

from typing import Any

import pytest

from kafka_replication.components.contract.problems import ReplicationError
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.components.topology.partial_topology import partial_topology
from tests.builders import a_cluster, a_flow, a_topology


def problem_texts(data: object) -> list[str]:
    with pytest.raises(ReplicationError) as refused:
        parse_topology(data)
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(
            {"topics": "orders"},
            "wrong-type: `topics` is text, at replications.orders.topics. It must be a list. Remedy: write `topics: "
            "[VALUE]`.",
            id="text for a list",
        ),
        pytest.param(
            {"topics": ["orders", 1]},
            "wrong-type: `topics.1` is a number, at replications.orders.topics.1. Without quotation marks YAML does "
            "not read it as text. Remedy: put it in quotation marks.",
            id="a number for text in a list",
        ),
        pytest.param(
            {"connect": ["replicas"]},
            "wrong-type: `connect` is a list, at replications.orders.connect. It must be a mapping. Remedy: write "
            "`connect: {KEY: VALUE}`.",
            id="a list for a mapping",
        ),
        pytest.param(
            {"intervals": {"emitHeartbeatsSeconds": "often"}},
            "wrong-type: `emitHeartbeatsSeconds` is text, at replications.orders.intervals.emitHeartbeatsSeconds. "
            "It must be a whole number. Remedy: write `emitHeartbeatsSeconds: 3`.",
            id="text for a number",
        ),
        pytest.param(
            {"connect": {"replicas": True}},
            "wrong-type: `replicas` is true or false, at replications.orders.connect.replicas. It must be a whole "
            "number. Remedy: write `replicas: 3`.",
            id="yes for a number, which Python counts as 1",
        ),
        pytest.param(
            {"connectors": {"source": {"tasksMax": 2**31}}},
            "out-of-range: `tasksMax` is 2147483648, at replications.orders.connectors.source.tasksMax. It must be at "
            "most 2147483647. Remedy: set `tasksMax` to 2147483647 or less.",
            id="a number that Kubernetes and Kafka cannot hold",
        ),
        pytest.param(
            {"kind": "flows"},
            "not-accepted: `kind` is 'flows', at replications.orders.kind. Accepted: 'flow', 'prefixlessPair', "
            "'split', 'mirrorMaker2'. Remedy: set `kind` to one of these.",
            id="a kind that does not exist, by the name of its key",
        ),
        pytest.param(
            {"connect": {"config": {"topic.creation.enable": [1]}}},
            "wrong-type: `topic.creation.enable` is a list, at "
            "replications.orders.connect.config.topic.creation.enable. It must be text or true or false or a whole "
            "number or a number. Remedy: write `topic.creation.enable` as text or true or false or a whole number or "
            "a number.",
            id="a value of none of several types, in one problem",
        ),
        pytest.param(
            {"intervals": {False: 5}},
            "wrong-type: a key is true or false: False, at replications.orders.intervals.false. Without quotation "
            "marks YAML does not read it as text: `no`, `off`, `yes` and `on` become true or false. Remedy: put the "
            "key in quotation marks.",
            id="a key that YAML does not read as text",
        ),
        pytest.param(
            {"intervals": {5: 5}},
            "wrong-type: a key is a number: 5, at replications.orders.intervals.5. Without quotation marks YAML does "
            "not read it as text. Remedy: put the key in quotation marks.",
            id="a key that is a number",
        ),
        pytest.param(
            {"connect": {"config": {"topic.creation.enable": {"value": True}}}},
            "wrong-type: `topic.creation.enable` is a mapping, at "
            "replications.orders.connect.config.topic.creation.enable. It must be text or true or false or a whole "
            "number or a number. Remedy: write `topic.creation.enable` as text or true or false or a whole number or "
            "a number.",
            id="a mapping for a value of several types, by its path in the file",
        ),
        pytest.param(
            {"connectors": {"sources": {"Fast_1": {"topics": ["orders"]}}}},
            "not-accepted: the key `Fast_1` is not accepted here, at replications.orders.connectors.sources.Fast_1. "
            "Accepted: lower-case letters, digits and, between them, `-`. Remedy: rename it accordingly.",
            id="a name that becomes a Kubernetes name",
        ),
        pytest.param(
            {"connect": {"resources": {"limits": {"memory": "2GB"}}}},
            "not-accepted: `memory` is '2GB', at replications.orders.connect.resources.limits.memory. Accepted: a "
            "quantity of Kubernetes, such as `500m`, `4`, `2Gi`. Remedy: set `memory` to one of these.",
            id="a unit that Kubernetes does not know",
        ),
        pytest.param(
            {"connect": {"template": {"pod": {"volumes": None}}}},
            "wrong-type: `volumes` is empty, at replications.orders.connect.template.pod.volumes. It must be a list. "
            "Remedy: write `volumes: [VALUE]`.",
            id="an empty list in a template",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_reported_in_yamls_terms(settings: dict[str, Any], words: str) -> None:
    assert problem_texts(a_topology(a_flow(**settings))) == [words]


@pytest.mark.parametrize(
    ("data", "what"), [(None, "is empty"), ([], "is a list"), ("strimzi", "is text")], ids=["empty", "list", "text"]
)
def test_a_file_without_keys_is_reported_with_the_keys_to_write(data: object, what: str) -> None:
    assert problem_texts(data) == [
        f"no-mapping: the file {what}, at the top of the file. Nothing is declared in it. Remedy: write the keys "
        "`strimzi:`, `clusters:`, `replications:`, each at the beginning of a line."
    ]


def test_a_replication_without_a_kind_is_reported() -> None:
    flow = a_flow()
    del flow["kind"]
    assert problem_texts(a_topology(flow)) == [
        "missing-key: `kind` is missing, at replications.orders.kind. It has no default. Remedy: set `kind`."
    ]


@pytest.mark.parametrize(("between", "fewer"), [(["useast"], "more"), (["useast", "uswest", "eu"], "fewer")])
def test_a_pair_must_have_two_clusters(between: list[str], fewer: str) -> None:
    pair = {"kind": "prefixlessPair", "between": between, "topics": ["ledger"]}
    assert problem_texts(a_topology(pair)) == [
        f"out-of-range: the number of entries in `between` is {len(between)}, at replications.orders.between. It needs "
        f"{fewer}. Remedy: give `between` {fewer} entries."
    ]


@pytest.mark.parametrize("password", ["hunter2", 123456, 12.5, True])
def test_a_credential_in_the_file_is_reported_without_showing_it(password: object) -> None:
    topology = a_topology()
    topology["clusters"]["useast"]["authentication"]["password"] = password
    (problem,) = problem_texts(topology)
    assert problem.startswith(
        "plain-text-secret: `password` is given as plain text, at clusters.useast.authentication."
    )
    assert str(password) not in problem


@pytest.mark.parametrize(
    ("password", "key"),
    [({"secret": "Kafka_Mirror", "key": "password"}, "secret"), ({"secret": "mirror", "key": "team/password"}, "key")],
)
def test_a_secret_name_that_kubernetes_refuses_is_refused(password: dict[str, str], key: str) -> None:
    """A slash or a colon in it would also end a placeholder too early."""
    topology = a_topology()
    topology["clusters"]["useast"]["authentication"]["password"] = password
    (problem,) = problem_texts(topology)
    assert problem.startswith(
        f"not-accepted: `{key}` is {password[key]!r}, at clusters.useast.authentication.password."
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(
            {"parts": {"sales": {"topics": ["orders"]}}},
            "It is a key of `kind: split`, and would have no effect here. Remedy: remove it.",
            id="a key of another kind",
        ),
        pytest.param(
            {"TopicsExclude": []}, "It would have no effect. Remedy: did you mean `topicsExclude`?", id="the wrong case"
        ),
        pytest.param(
            {"sync_topic_acl": True}, "It would have no effect. Remedy: did you mean `syncTopicAcls`?", id="underscores"
        ),
        pytest.param(
            {"replicas": 2},
            "It would have no effect. Remedy: did you mean `connect.replicas`?",
            id="one level too high",
        ),
    ],
)
def test_the_remedy_for_an_unknown_key_fits_the_kind(settings: dict[str, Any], words: str) -> None:
    (problem,) = problem_texts(a_topology(a_flow(**settings)))
    assert problem == f"unknown-key: `{next(iter(settings))}` is not a key here, at replications.orders." + (
        f"{next(iter(settings))}. {words}"
    )


A_PAIR = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["ledger"]}


@pytest.mark.parametrize(
    ("replication", "key", "words"),
    [
        pytest.param(
            {**A_PAIR, "namespace": {"create": False}},
            "namespace",
            "A pair has two namespaces, `mirror-PAIR-to-CLUSTER` beside each cluster, and their names are fixed. "
            "Remedy: remove it; if these namespaces already exist, set `createNamespaces: false`.",
            id="the namespace of a pair",
        ),
        pytest.param(
            a_flow(createNamespaces=False),
            "createNamespaces",
            "Only a pair has this key, because it has two namespaces. Remedy: set `namespace.create`.",
            id="two namespaces of a flow",
        ),
        pytest.param(
            {**A_PAIR, "groupsExclude": ["billing-.*"]},
            "groupsExclude",
            "A pair translates no offsets, so it has no groups and no checkpoint connector. Remedy: remove it.",
            id="groups of a pair",
        ),
        pytest.param(
            {**A_PAIR, "connectors": {"sources": {"fast": {"topics": ["ledger"]}}}},
            "connectors.sources",
            "Only a `flow` and a part of a `split` can have several source connectors in one direction. Remedy: write "
            "all topics under `topics`, and the connectors' other settings under `connectors.source`.",
            id="several source connectors of a pair",
        ),
        pytest.param(
            a_flow(connect={"rack": {"topologyKey": "zone", "envVarName": "RACK"}}),
            "connect.rack.envVarName",
            "It is a key of `type: environment-variable`, and would have no effect here. Remedy: remove it.",
            id="a variable beside a label, which Strimzi takes",
        ),
    ],
)
def test_a_key_of_another_kind_is_not_taken_for_a_similar_key(
    replication: dict[str, Any], key: str, words: str
) -> None:
    """The similar key takes other values, so a second problem would ask for those."""
    topology = a_topology(replication)
    (problem,) = problem_texts(topology)
    name = key.rpartition(".")[2]
    assert problem == f"unknown-key: `{name}` is not a key here, at replications.orders.{key}. {words}"
    left = partial_topology(topology)
    assert left is not None
    assert left.further == ()


@pytest.mark.parametrize(
    ("trust", "key", "words"),
    [
        pytest.param(
            {"secret": "ca", "config": "ca", "pattern": "*.crt"},
            "config",
            "It cannot be combined with `pattern`, `secret`. Remedy: remove either `config` or `pattern`, `secret`.",
            id="a key of another form",
        ),
        pytest.param(
            {"secret": "ca", "key": "ca.crt", "password": {"config": "store"}},
            "password",
            "It has an effect only together with `format`. Remedy: remove it, or add `format`.",
            id="without the key that it needs",
        ),
    ],
)
def test_the_remedy_for_an_unknown_key_is_never_the_key_itself(trust: dict[str, Any], key: str, words: str) -> None:
    topology = a_topology(clusters={"useast": a_cluster(tls={"trust": trust}), "uswest": a_cluster("us-west-2")})
    assert problem_texts(topology) == [
        f"unknown-key: `{key}` is not a key here, at clusters.useast.tls.trust.{key}. {words}"
    ]


def test_a_misspelt_key_below_a_user_chosen_name_has_a_remedy() -> None:
    parts = {"sales": {"topics": ["orders"], "connec": {"replicas": 1}}}
    split = {"kind": "split", "source": "useast", "target": "uswest", "groups": ["shop"], "parts": parts}
    (problem,) = problem_texts(a_topology(split))
    assert problem.endswith("Remedy: did you mean `connect`?")
