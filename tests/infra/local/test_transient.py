"""Errors of a starting broker are retried: otherwise committing a group in a new region would fail by chance."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_replication.infra.local.acls import retried


def answer(codes: Iterator[int]) -> str:
    """Fail with each code in turn, then answer."""
    code = next(codes, None)
    if code is not None:
        raise KafkaException(KafkaError(code))
    return "done"


def test_a_coordinator_that_is_still_loading_is_asked_again() -> None:
    codes = iter([KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS])
    assert retried(lambda: answer(codes)) == "done"


def test_a_refused_request_is_not_retried() -> None:
    codes = iter([KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.NOT_COORDINATOR])
    with pytest.raises(KafkaException) as refused:
        retried(lambda: answer(codes))
    assert refused.value.args[0].code() == KafkaError.GROUP_AUTHORIZATION_FAILED
    assert next(codes) == KafkaError.NOT_COORDINATOR


def test_an_error_that_lasts_is_raised_after_the_deadline() -> None:
    codes = iter([KafkaError.NOT_COORDINATOR])
    with pytest.raises(KafkaException, match="NOT_COORDINATOR"):
        retried(lambda: answer(codes), deadline_seconds=0)
