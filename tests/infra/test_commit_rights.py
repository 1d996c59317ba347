"""A real cluster with an authorizer reports what a login may commit, for groups that exist and for others."""

import uuid

import pytest

from kafka_replication.components.clients.writer import GroupWriter, MissingReads
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.kafka.positions import CommittedOffset, TopicPartition
from kafka_replication.infra.local.endpoints import ADMIN, APP, MIRROR, VALIDATOR, Endpoints, Region
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.infra.machine.waiting import NotYetError, wait_for

TOPIC = "rights"


@pytest.fixture(scope="module")
def region(endpoints: Endpoints) -> Region:
    region = endpoints.regions["useast"]
    create_topics(region, {TOPIC: 1})
    return region


def missing(region: Region, user: str, *groups: str) -> MissingReads:
    return GroupWriter(region.alias, region.client_config(user)).missing_reads(groups, [TOPIC])


@pytest.fixture
def group(region: Region) -> str:
    """A group that has committed."""
    name = f"checkout-{uuid.uuid4().hex[:6]}"
    writer = GroupWriter(region.alias, region.client_config(ADMIN))

    def commit() -> None:
        try:
            writer.commit(name, {TopicPartition(TOPIC, 0): CommittedOffset(0)})
        except CannotRunError as error:
            # The coordinator is still loading.
            raise NotYetError(str(error)) from error

    wait_for("the group to commit", commit, 60)
    return name


def test_a_user_that_may_read_lacks_nothing(region: Region, group: str) -> None:
    assert missing(region, APP, group, "not-there") == MissingReads()


def test_a_user_that_may_only_describe_groups_may_not_commit_for_them(region: Region, group: str) -> None:
    assert missing(region, VALIDATOR, group, "not-there") == MissingReads(groups=(group, "not-there"))


def test_a_user_without_any_right_lacks_all_of_them(region: Region, group: str) -> None:
    assert missing(region, MIRROR, group) == MissingReads(groups=(group,), topics=(TOPIC,))
