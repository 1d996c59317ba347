"""Names of remote topics, and which topics a flow never replicates."""

import itertools
import re

import pytest

from kafka_replication.components.contract.kept_positions import positions_topic
from kafka_replication.components.kafka.automata import automaton
from kafka_replication.components.kafka.patterns import Selection
from kafka_replication.components.kafka.replication_policy import is_readable, upstream_hops
from kafka_replication.components.kafka.topic_names import internal_by_ending
from tests.components.kafka.legs import a_policy


def selected(names: list[str], kind: str = "default", separator: str = ".") -> list[str]:
    """What a flow that selects everything replicates of a cluster's topics."""
    return Selection((".*",), a_policy(kind, separator).never_selected).of(names)


def test_selecting_everything_leaves_out_internal_topics_and_topics_that_would_cycle() -> None:
    """The job must not wait on the target for a topic that came from there."""
    names = [
        "orders",
        "uswest.orders",
        "eu.uswest.orders",
        "heartbeats",
        "eu.heartbeats",
        ".hidden",
        "mm2-offset-syncs.uswest.internal",
        positions_topic("orders"),
    ]
    assert selected([*names, "__consumer_offsets"]) == ["orders"]


@pytest.mark.parametrize("kind", ["default", "identity"])
def test_internal_topics_have_the_flows_separator(kind: str) -> None:
    names = ["mm2-offset-syncs_uswest_internal", "useast_checkpoints_internal", "orders_internal", "orders"]
    assert selected(names, kind, "_") == ["orders", "orders_internal"]


def test_versions_before_4_leave_out_whatever_ends_like_an_internal_topic() -> None:
    assert internal_by_ending("3.9", "_") == (r".*[\-\.]internal", ".*_internal")
    assert internal_by_ending("3.9", ".") == (r".*[\-\.]internal",)
    assert internal_by_ending("4.0", "_") == ()


def test_the_identity_policy_does_not_stop_a_cycle() -> None:
    assert selected(["orders", "uswest.orders"], "identity") == ["orders", "uswest.orders"]


def test_a_prefix_with_nothing_after_it_is_an_ordinary_name() -> None:
    """Java drops empty parts at the end when it splits a name."""
    assert selected(["uswest.", "uswest..", "uswest.orders."]) == ["uswest.", "uswest.."]


def test_remote_topics_carry_the_source_alias_only_under_the_default_policy() -> None:
    assert a_policy(separator="_").remote("orders") == "useast_orders"
    assert a_policy("identity").remote("orders") == "orders"


def test_the_identity_policy_prefixes_names_that_end_like_heartbeats() -> None:
    """On the target such a topic has another name, and it does not go back."""
    policy = a_policy("identity")
    assert policy.remote("device-heartbeats") == "useast.device-heartbeats"
    assert policy.original("useast.device-heartbeats") == "device-heartbeats"
    assert policy.original("useast.orders") == "useast.orders"
    assert selected(["device-heartbeats", "uswest.device-heartbeats"], "identity") == ["device-heartbeats"]


def test_heartbeat_topics_name_every_upstream_cluster_and_its_fewest_hops() -> None:
    names = ["heartbeats", "useast.heartbeats", "useast.eu.heartbeats", "ap.eu.heartbeats.", "x.y.eu.heartbeats"]
    assert upstream_hops(names, ".") == {"useast": 1, "eu": 2, "x": 1, "y": 2}


@pytest.mark.parametrize("separator", [".", "_", "--", "..", "-.", "---", "-mirror-", ".mirrored-from."])
@pytest.mark.parametrize("kind", ["default", "identity"])
def test_every_pattern_of_a_policy_has_an_exact_automaton(kind: str, separator: str) -> None:
    for pattern in a_policy(kind, separator).never_selected:
        assert automaton(pattern).is_exact, pattern


@pytest.mark.parametrize("separator", ["--", "---", "-.-", "aba", "aab", "abab", "ab"])
def test_aliases_end_at_the_first_separator(separator: str) -> None:
    """The pattern once had a hundred million characters for a separator of eight different ones."""
    remote = re.compile(a_policy(separator=separator).came_from_target)
    for text in map("".join, itertools.product({*separator, "z"}, repeat=6)):
        rest = text
        while separator in rest:
            rest = rest.partition(separator)[2]
        assert bool(remote.fullmatch(f"{text}uswest{separator}x")) == (not rest), text


def test_a_separator_of_several_characters_splits_at_its_first_occurrence() -> None:
    """Java finds `-uswest` after the first `--`, and `-x` after `uswest--`."""
    names = ["eu--uswest--x", "eu---uswest--x", "uswest---x", "uswest---", "uswest----", "orders"]
    assert selected(names, separator="--") == ["eu---uswest--x", "orders", "uswest----"]
    assert upstream_hops(["eu--us--heartbeats", "ap---heartbeats"], "--") == {"eu": 1, "us": 2}


@pytest.mark.parametrize(
    ("alias", "separator", "readable"),
    [("us", "--", True), ("us-east", "--", True), ("us-", "--", False), ("us--1", "--", False), ("us-", ".-", True)],
)
def test_an_alias_must_not_run_into_the_separator(alias: str, separator: str, readable: bool) -> None:
    assert is_readable(alias, separator) is readable
