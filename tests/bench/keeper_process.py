"""The keeper that benches run as a user does, and when it last looked."""

import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs do not re-export them
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.kept_positions import kept_positions, positions_topic
from kafka_replication.infra.local.endpoints import ADMIN, VALIDATOR, Region, part_name
from kafka_replication.infra.local.parts.processes import is_ending
from kafka_replication.infra.local.state import load_state
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.drill_commands import Drills
from tests.repository import ROOT

RECOVERY_SECONDS, _CALL_SECONDS = 180.0, 10.0


@dataclass
class Keeper:
    """The process of `replicate keep`."""

    drills: Drills
    log: Path
    process: "subprocess.Popen[bytes] | None" = None

    def start(self, *options: str) -> None:
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(self.drills.words("keep", *options), cwd=ROOT, stdout=out, stderr=out)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()


def newest_look_ms(drills: Drills, flow: str) -> int:
    """When the keeper began its newest look, in ms since 1970; 0 if there is none."""
    reader = KafkaReader("uswest", drills.target.client_config(ADMIN))
    look = kept_positions(flow, reader.records(positions_topic(flow), newest=100)).look
    return 0 if look is None else look.at_ms


def seconds_until_looked(drills: Drills, flows: Iterable[str], within: float = RECOVERY_SECONDS) -> float:
    """Wait until the keeper has looked at each flow from now on; returns how long that took."""
    began, since = time.monotonic(), time.time_ns() // 1_000_000

    def expect_looks() -> None:
        for flow in flows:
            try:
                if newest_look_ms(drills, flow) <= since:
                    raise NotYetError(f"{flow} was not looked at")
            except NoAnswerError as error:
                raise NotYetError(str(error)) from None

    wait_for("the keeper to look", expect_looks, within, 0.2)
    return time.monotonic() - began


def kill_broker(alias: str) -> None:
    psutil.Process(load_state().parts[part_name(alias)].pid).kill()


def wait_until_ended(alias: str) -> None:
    """Wait until the last thread of a broker that was killed has ended and its ports are free."""
    record = load_state().parts[part_name(alias)]

    def expect_ended() -> None:
        if is_ending(record):
            raise NotYetError(f"{alias} is ending")

    wait_for("the broker to end", expect_ended, _CALL_SECONDS, 0.01)


@contextmanager
def denied(region: Region, topics: Iterable[str], operation: AclOperation) -> Iterator[None]:
    """Deny the login with which commands read these topics an operation on them while the body runs."""
    admin, user = AdminClient(region.client_config(ADMIN)), f"User:{VALIDATOR}"
    rules = [
        (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, user, "*", operation, AclPermissionType.DENY)
        for topic in topics
    ]
    for future in admin.create_acls([AclBinding(*rule) for rule in rules]).values() if rules else ():
        future.result(_CALL_SECONDS)
    try:
        yield
    finally:
        for removed in admin.delete_acls([AclBindingFilter(*rule) for rule in rules]).values() if rules else ():
            removed.result(_CALL_SECONDS)
