"""Values as Kafka parses them; a stricter rule would refuse a topology that works."""

import pytest

from kafka_replication.components.properties.definitions import Owner, definitions
from kafka_replication.components.properties.values import Value, type_problem, value_text


def problem(owner: Owner, name: str, value: Value) -> str | None:
    return type_problem(definitions("4.2", owner)[name], value)


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        pytest.param(Owner.SOURCE, "offset.lag.max", "0", id="a number as text"),
        pytest.param(Owner.SOURCE, "offset.lag.max", -1, id="no range is defined"),
        pytest.param(Owner.SOURCE, "sync.topic.acls.enabled", " True ", id="a boolean in any case, trimmed"),
        pytest.param(Owner.SOURCE, "errors.tolerance", "all", id="one of a set"),
        pytest.param(Owner.SOURCE, "exactly.once.support", "Required", id="one of a set in any case"),
        pytest.param(Owner.SOURCE, "topics", "orders , payments-.*", id="a list of anything"),
        pytest.param(Owner.SOURCE, "topics", "", id="an empty list"),
        pytest.param(Owner.PRODUCER, "linger.ms", "${cfmap:ns/name:linger}", id="a placeholder"),
        pytest.param(Owner.PRODUCER, "acks", -1, id="an accepted word that is a number"),
        pytest.param(Owner.PRODUCER, "compression.gzip.level", "-1", id="a special value outside the range"),
        pytest.param(Owner.PRODUCER, "buffer.memory", 2**40, id="a long"),
        pytest.param(Owner.CONSUMER, "auto.offset.reset", "by_duration:P7D", id="a duration"),
        pytest.param(Owner.CONSUMER, "sasl.login.refresh.window.factor", "8e-1", id="a fraction"),
        pytest.param(Owner.CONSUMER, "sasl.jaas.config", "anything", id="a password"),
        pytest.param(Owner.SOURCE, "replication.policy.class", "com.example.Policy$Inner", id="a class"),
        pytest.param(Owner.CLUSTER, "security.protocol", "sasl_ssl", id="a protocol in lower case"),
    ],
)
def test_a_value_that_kafka_accepts_is_accepted(owner: Owner, name: str, value: Value) -> None:
    assert problem(owner, name, value) is None


@pytest.mark.parametrize(
    ("owner", "name", "value", "words"),
    [
        pytest.param(Owner.SOURCE, "offset.lag.max", "often", "must be an integer", id="a word for a number"),
        pytest.param(Owner.SOURCE, "offset.lag.max", 1.5, "must be an integer", id="a fraction for an integer"),
        pytest.param(Owner.SOURCE, "offset.lag.max", True, "must be an integer", id="a boolean for a number"),
        pytest.param(Owner.SOURCE, "tasks.max", 0, "must be an integer from 1 to 2147483647", id="below the least"),
        pytest.param(Owner.PRODUCER, "linger.ms", "-1", "must be an integer of at least 0", id="a negative duration"),
        pytest.param(
            Owner.PRODUCER,
            "batch.size",
            2**31,
            "must be an integer from 0 to 2147483647",
            id="more than the type holds",
        ),
        pytest.param(
            Owner.CHECKPOINT,
            "checkpoints.topic.replication.factor",
            40000,
            "must be an integer from -32768 to 32767",
            id="more than the type holds, if no range is defined",
        ),
        pytest.param(
            Owner.PRODUCER,
            "compression.gzip.level",
            0,
            "must be an integer from 1 to 9, or -1",
            id="between the range and the special value",
        ),
        pytest.param(
            Owner.CONSUMER,
            "sasl.login.refresh.window.factor",
            "2",
            "must be a number from 0.5 to 1.0",
            id="a fraction out of range",
        ),
        pytest.param(Owner.SOURCE, "sync.topic.acls.enabled", "yes", "must be true or false", id="yes for true"),
        pytest.param(Owner.SOURCE, "sync.topic.acls.enabled", 1, "must be true or false", id="a number for a boolean"),
        pytest.param(
            Owner.SOURCE, "errors.tolerance", "All", "must be `none` or `all`", id="the wrong case where case matters"
        ),
        pytest.param(
            Owner.CONSUMER,
            "isolation.level",
            "committed",
            "must be `read_committed` or `read_uncommitted`",
            id="not of the set",
        ),
        pytest.param(
            Owner.CONSUMER,
            "auto.offset.reset",
            "by_duration",
            "must be `latest`, `earliest`, `none` or `by_duration:PnDTnHnMn.nS`",
            id="an incomplete duration",
        ),
        pytest.param(
            Owner.SOURCE,
            "replication.policy.class",
            "the identity policy",
            "must be the full name of a Java class",
            id="prose for a class",
        ),
    ],
)
def test_a_value_that_kafka_refuses_is_refused_with_a_reason(owner: Owner, name: str, value: Value, words: str) -> None:
    assert problem(owner, name, value) == words


def test_each_element_of_a_list_must_be_accepted() -> None:
    formats = definitions("4.3", Owner.SOURCE)["metric.names.formats"]
    assert type_problem(formats, "legacy, new") is None
    assert type_problem(formats, "legacy,old") == "must be a comma-separated list of `legacy` or `new`"


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (0, "0"), (0.5, "0.5"), (" x ", " x ")])
def test_a_value_is_written_as_the_text_of_a_connector_property(value: Value, text: str) -> None:
    assert value_text(value) == text
