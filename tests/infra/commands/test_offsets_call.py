"""What `replicate offsets` prints when offsets move between its plan and the change."""

from types import SimpleNamespace
from typing import cast

import pytest

from kafka_replication.infra.commands.offsets_call import change
from kafka_replication.infra.kubernetes.api import KubernetesApi
from kafka_replication.infra.operate.offsets.change import PURPOSE, Run
from kafka_replication.infra.operate.offsets.plan import OffsetChange
from kafka_replication.infra.operate.offsets.reader import OffsetsReader
from tests.infra.operate.connectors.test_changes import SOURCE, a_request
from tests.infra.operate.offsets.test_change import BACK, ORDERS, Cluster, a_connector

EARLIER = OffsetChange(SOURCE.name, ORDERS, 40, 0, None)
MOVED = "Offsets have moved since the plan was printed"


def lines(capsys: pytest.CaptureFixture[str], *plans: list[OffsetChange]) -> list[str]:
    """What the command prints if it computes these changes, one list before it stops the connectors and one after."""
    cluster, computed = Cluster(SOURCE, a_connector()), iter(plans)
    reader = SimpleNamespace(
        source="useast",
        stored=cluster.read,
        unended=cluster.unended,
        present=cluster.tasks,
        known=lambda names: names,
        resets=lambda _: next(computed),
    )
    request = a_request("stopped", by=f"ann{PURPOSE}")
    run = Run(cast(KubernetesApi, cluster), cast(OffsetsReader, reader), request, "reset", 5, lambda _: None)
    change(run, [SOURCE], None, yes=True)
    return capsys.readouterr().out.splitlines()


def test_changes_that_are_no_longer_needed_are_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    said = lines(capsys, [BACK], [])
    assert f"{MOVED}, and nothing had to be changed." in said
    assert not [each for each in said if "instead" in each or "read back" in each]


def test_changes_that_differ_from_the_plan_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    said = lines(capsys, [BACK], [EARLIER])
    after = said.index(f"{MOVED}. These changes were made instead:")
    assert said[after + 1] == EARLIER.text
    assert "1 offset set, and read back from Connect" in said
