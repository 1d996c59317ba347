"""The operators' own documents, declared as a topology: every one of their fields is rendered."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import Severity
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.planned_objects import PlannedObject
from kafka_replication.components.topology.parsing import parse_topology
from tests.repository import ROOT

DOCUMENTS = sorted((Path(__file__).parent / "documents").glob("*.yaml"))
ANY = "any"
#: The keys that identify an object of a document; `absent: true` means that it must not exist.
_IDENTITY = ("kind", "role", "part", "name")


def _planned(topology: Any) -> list[PlannedObject]:
    parsed = parse_topology(topology)
    problems = [problem for problem in check_topology(parsed) if problem.severity is Severity.ERROR]
    assert not problems, "\n".join(map(str, problems))
    flows = resolve_flows(parsed, None, {})
    return [planned for deployment in deployments(flows) for planned in deployment.objects]


def _missing(expected: Any, actual: Any, path: str) -> Iterator[str]:
    """The fields of `expected` that are missing or different in `found`; lists are compared item by item."""
    if isinstance(expected, Mapping):
        for key, value in expected.items():
            here = f"{path}.{key}"
            if isinstance(actual, Mapping) and key in actual:
                yield from _missing(value, actual[key], here)
            else:
                yield f"{here} is not there"
    elif isinstance(expected, Sequence) and not isinstance(expected, str):
        if not isinstance(actual, Sequence) or len(actual) != len(expected):
            yield f"{path} has {actual!r}"
        else:
            for index, value in enumerate(expected):
                yield from _missing(value, actual[index], f"{path}[{index}]")
    elif expected not in (ANY, actual):
        yield f"{path} is {actual!r}, not {expected!r}"


def _leaves(expected: Any) -> int:
    inner = expected.values() if isinstance(expected, Mapping) else expected if isinstance(expected, list) else ()
    return sum(map(_leaves, inner)) or 1


def _has_identity(planned: PlannedObject, expected: Mapping[str, Any]) -> bool:
    identity = {"kind": planned.kind, "role": planned.role.value, "part": planned.part, "name": planned.name}
    return all(identity[key] == expected[key] for key in _IDENTITY if key in expected)


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.stem)
def test_every_field_of_the_documents_objects_is_rendered(file: Path) -> None:
    document = yaml.safe_load(file.read_text())
    planned = _planned(document["topology"])
    names = {f"@{planned_object.key}": planned_object.name for planned_object in planned}
    missing: list[str] = []
    fields = 0
    for expected in document["objects"]:
        candidates = [candidate for candidate in planned if _has_identity(candidate, expected)]
        identity = " ".join(str(expected[key]) for key in (*_IDENTITY,) if key in expected)
        if len(candidates) != (0 if expected.get("absent") else 1):
            missing.append(f"there are {len(candidates)} of {identity}")
        for candidate in candidates:
            has = _with_names(expected.get("has", {}), names)
            fields += _leaves(has)
            missing += _missing(has, candidate.manifest, identity)
    assert not missing, "\n".join(missing)
    assert fields > 5, "the table holds next to nothing"


def _with_names(value: Any, names: Mapping[str, str]) -> Any:
    """`@<role>` in a text stands for the name of the object with that role."""
    if isinstance(value, Mapping):
        return {key: _with_names(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_names(inner, names) for inner in value]
    if isinstance(value, str):
        for placeholder, name in sorted(names.items(), reverse=True):
            value = value.replace(placeholder, name)
    return value


def test_the_readmes_table_names_every_document_and_only_existing_tests() -> None:
    text = (ROOT / "tests" / "components" / "render" / "documents" / "README.md").read_text()
    table = text[text.index("| in the guide | here | held by |") :].partition("\n\n")[0].splitlines()[2:]
    named = {name.strip() for row in table for name in row.split("|")[-2].split(",")}
    tests = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    documents = {file.stem for file in DOCUMENTS}
    assert documents <= named
    assert named - documents <= tests
