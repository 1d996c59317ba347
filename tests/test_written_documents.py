"""Today's program reads whatever an earlier version left in files, in ConfigMaps and in the outputs of stacks."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jsonschema
import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract import evidence as proofs
from kafka_replication.components.contract.parameters import Parameters
from kafka_replication.components.contract.problems import Severity
from kafka_replication.components.contract.published_verdict import (
    BINARY,
    HISTORY,
    REPORT,
    packed_history,
    read_history,
    read_topic_ids,
    read_verdict,
)
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.deploy.promotion.rule.evidence import evidence_config_map, read_evidence
from kafka_replication.infra.operate.rehearse.drill import DrillRecord
from tests import release
from tests.repository import ROOT
from tests.written_documents import DOCUMENTS, written

MOST_BYTES = 1024 * 1024
VERSION = release.project()["version"]
KEPT = [(folder.name, file.stem) for folder in sorted(DOCUMENTS.iterdir()) for file in sorted(folder.glob("*.json"))]


def kept(version: str, name: str) -> Any:
    return json.loads((DOCUMENTS / version / f"{name}.json").read_text())


def topologies(document: Mapping[str, Any]) -> Any:
    for name, topology in document.items():
        errors = [each for each in check_topology(parse_topology(topology)) if each.severity is Severity.ERROR]
        assert errors == [], name
    return document


def report(document: Mapping[str, Any]) -> Any:
    jsonschema.validate(document, json.loads((ROOT / "spark" / "report" / "schema.json").read_text()))
    return document


def verdict(document: Mapping[str, Any]) -> Any:
    """Read every entry of a published verdict, and write what was read."""
    data = {key: json.dumps(value) if key == REPORT else value for key, value in document.items()}
    data |= {key: _packed(proofs.compressed(value)) for key, value in document.items() if key in BINARY}
    newest, history = read_verdict(data), read_history(data)
    parity, positions = proofs.read_evidence(data), proofs.read_positions(data)
    assert parity is not None
    assert positions is not None
    packed = {
        HISTORY: packed_history(history),
        proofs.EVIDENCE: proofs.packed_evidence(parity),
        proofs.POSITIONS: proofs.packed_positions(positions, MOST_BYTES) or b"",
    }
    assert [check.name for check in newest.checks] == [check["name"] for check in document[REPORT]["checks"]]
    assert read_topic_ids(data) == document[REPORT]["topicIds"]
    head = {"verdict": newest.verdict, "digest": newest.digest, "time": newest.time, "began": newest.began}
    again = {key: proofs.uncompressed(_packed(value)) for key, value in packed.items()}
    return {**document, **head, "passingSince": newest.passing_since, **again}


def _packed(value: bytes) -> str:
    return base64.b64encode(value).decode()


#: Reads a document of each name, and returns what today's program would write after that.
READERS: Mapping[str, Callable[[Any], Any]] = {
    "topologies": topologies,
    "parameters": lambda document: Parameters.model_validate(document).document(),
    "report": report,
    "verdict": verdict,
    "promotion": lambda document: evidence_config_map(read_evidence(document), "promotion")["data"],
    "drill": lambda document: DrillRecord.model_validate(document).model_dump(mode="json", by_alias=True),
}


def lost(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """The paths whose value is another one, or missing, in `after`."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from lost(value, after.get(key), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from lost(old, new, f"{path}.{place}")
    elif before != after:
        yield path


@pytest.mark.parametrize(("version", "name"), KEPT, ids=[f"{version}-{name}" for version, name in KEPT])
def test_a_document_of_an_earlier_version_is_read_whole(version: str, name: str) -> None:
    document = kept(version, name)
    assert list(lost(document, READERS[name](document))) == []


def form(document: Any) -> Any:
    """The keys and types of a document, whatever its values are."""
    if isinstance(document, dict):
        return {key: form(value) for key, value in document.items()}
    if isinstance(document, list):
        forms = [form(value) for value in document]
        return [value for place, value in enumerate(forms) if value not in forms[:place]]
    return type(document).__name__


@pytest.mark.parametrize("name", sorted(READERS.keys() - {"topologies"}))
def test_a_document_of_this_version_is_kept_in_the_form_that_is_written_today(name: str) -> None:
    """A change of a released one needs a new version. Before the release, run `python -m tests.written_documents`."""
    assert form(json.loads(json.dumps(written()[name]))) == form(kept(VERSION, name))


def test_the_parameters_of_the_same_flows_are_the_same_as_those_that_are_kept() -> None:
    """A deployed stack keeps them in its outputs. Another digest would void what it has proven."""
    assert written()["parameters"] == kept(VERSION, "parameters")


def test_a_reader_is_tested_with_what_every_version_wrote() -> None:
    assert {name for version, name in KEPT if version == VERSION} == READERS.keys() >= written().keys()
