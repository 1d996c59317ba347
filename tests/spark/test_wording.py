"""Findings that read right for one record and for many."""

import pytest

from kafka_replication.components.contract.report import Coverage
from kafka_replication.components.contract.wording import agreeing, numbered
from kafka_replication.spark.checks.parity import meanings
from kafka_replication.spark.checks.parity.differences import Difference
from kafka_replication.spark.checks.parity.meanings import Meaning
from tests.spark.test_aborted_and_compacted import ORDERS

_ALL = {f"{name} {each.code}": each for name, each in vars(meanings).items() if isinstance(each, Meaning)}
_NAMES = {"source": "useast", "target": "uswest", "filter": "from-uswest", "mark": "from-useast"}


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 records are missing"), (1, "1 record is missing"), (2, "2 records are missing")],
)
def test_a_sentence_agrees_with_its_count(count: int, text: str) -> None:
    assert numbered(count, "record[|s] [is|are] missing") == text


def test_only_brackets_with_two_choices_are_replaced() -> None:
    assert agreeing(1, "[dim] a|b [one|two] [x]") == "[dim] a|b one [x]"


@pytest.mark.parametrize("meaning", _ALL.values(), ids=_ALL.keys())
def test_every_difference_is_grammatical_for_one_record_and_for_many(meaning: Meaning) -> None:
    one, many = meaning.sentence(1, **_NAMES), meaning.sentence(12, **_NAMES)
    assert one.removeprefix("1 older ").removeprefix("1 ").split()[0] in ("record", "block", "key")
    assert many.removeprefix("12 older ").removeprefix("12 ").split()[0] in ("records", "blocks", "keys")
    assert not set("[|]{}") & set(one + many)
    assert {"are", "have", "they", "them"}.isdisjoint(one.split(".")[0].split(" on ")[0].split()), one


@pytest.mark.parametrize(("last", "place"), [(5, "partition 0 offset 5"), (9, "partition 0 offsets 5 to 9")])
def test_one_offset_is_not_a_range(last: int, place: str) -> None:
    assert Difference(ORDERS, "extra", 1, 5, last).place == place


def test_coverage_of_one_thing_names_it_in_the_singular() -> None:
    assert str(Coverage("partitions", 0, {"compacted": 1})) == "judged 0 of 1 partition; not judged: 1 compacted"
    assert str(Coverage("partitions", 2, {"compacted": 1})) == "judged 2 of 3 partitions; not judged: 1 compacted"
