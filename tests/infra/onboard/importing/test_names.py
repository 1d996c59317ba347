"""Names that Kubernetes refuses or that two replications share: each replication gets a valid name of its own."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.topology.clusters import is_label
from kafka_replication.infra.onboard.importing.flows import Names
from tests.infra.onboard.importing.test_as_flows import RESOURCE, imported


def resource_with_sources(*aliases: str) -> str:
    """The resource of the README with one mirror for each of these sources."""
    body: dict[str, Any] = yaml.safe_load(RESOURCE)
    mirror = body["spec"]["mirrors"][0]
    body["spec"]["mirrors"] = [
        {**mirror, "source": {"alias": alias, "bootstrapServers": f"kafka-{at}:9092"}, "topicsPattern": f"topic-{at}"}
        for at, alias in enumerate(aliases)
    ]
    return yaml.safe_dump(body)


def test_an_alias_that_kubernetes_refuses_leads_to_a_valid_replication_name(tmp_path: Path) -> None:
    code, output, replications = imported(tmp_path, resource_with_sources("US_East", "eucentral"))
    assert code == 0, output
    assert {name: each["source"] for name, each in replications.items()} == {
        "mm2-from-us-east": "US_East",
        "mm2-from-eucentral": "eucentral",
    }
    assert (
        "mm2-from-us-east: US_East->uswest of KafkaMirrorMaker2 kafka/mm2. `mm2-from-US_East` is not a valid name in "
        "Kubernetes. The alias `US_East` stays: MirrorMaker names topics after it."
    ) in output


@pytest.mark.parametrize("aliases", [("US_East", "us-east"), ("us-east", "US_East")])
def test_if_two_aliases_lead_to_one_name_the_valid_alias_keeps_it(tmp_path: Path, aliases: tuple[str, str]) -> None:
    code, output, replications = imported(tmp_path, resource_with_sources(*aliases))
    assert code == 0, output
    assert {each["source"]: name for name, each in replications.items()} == {
        "us-east": "mm2-from-us-east",
        "US_East": "mm2-from-us-east-2",
    }
    assert "and `mm2-from-us-east` is the name of another replication" in output
    assert output.count("is not a valid name in Kubernetes") == 1


def test_a_flow_does_not_take_the_name_of_another_resource(tmp_path: Path) -> None:
    """Before, two replications with one name became one, and the other was lost silently."""
    first = yaml.safe_load(resource_with_sources("useast", "eucentral"))
    second = yaml.safe_load(resource_with_sources("apsouth"))
    second["metadata"]["name"] = "mm2-from-useast"
    second["spec"]["target"] |= {"groupId": "own", "offsetStorageTopic": "own-offsets"}
    _, output, replications = imported(tmp_path, yaml.safe_dump_all([first, second]))
    assert sorted(replication["source"] for replication in replications.values()) == ["apsouth", "eucentral", "useast"]
    assert "`mm2-from-useast` is the name of another replication" in output


def test_no_name_is_reported_if_every_alias_is_valid(tmp_path: Path) -> None:
    assert "Named otherwise" not in imported(tmp_path, resource_with_sources("useast", "eucentral"))[1]


@pytest.mark.parametrize("given", ["US_East", "__", "Ü", "-a-", "a.b", ".", "mm2-from-_"])
def test_every_name_is_valid_and_unique(given: str) -> None:
    names = Names()
    found = [names.free(given, namespace) for namespace in ("", "", "kafka", "kafka", "kafka", "")]
    assert all(map(is_label, found))
    assert len(set(found)) == len(found)
