"""Resources as people publish them: what is imported, what is left out and why, and what the rendering changes.

Each file in `cases` begins with the expected result. The rest is imported, as a file with the name `file`.
`replications` and `clusters` are those of each topology, whole; `left` has a line for each thing that is not taken
over, `problems` the codes that `replicate check` finds, and `proof` a line for each replication: what happens to
records, and what differs.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import ReplicationError
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.onboard.importing.deployment_changes import changes_of_imports
from kafka_replication.infra.onboard.importing.project_files import needed_values
from kafka_replication.infra.onboard.importing.reading import ReadInput, read_objects
from kafka_replication.infra.onboard.importing.topologies import ImportedTopology, imported_topologies
from tests.infra.onboard.importing.resources import CASES

PASSWORDS = ("hunter2", "correct-horse")


def imported(case: Path, folder: Path) -> tuple[dict[str, Any], ReadInput, list[ImportedTopology], list[str]]:
    first, _, rest = case.read_text().partition("\n---\n")
    expected = yaml.safe_load(first)
    read = folder / expected.get("file", "read.yaml")
    read.write_text(rest)
    found = read_objects([str(read)], "default")
    topologies, left_out = imported_topologies(found, None, "imported")
    return expected, found, topologies, [f"{each.code} {each.obj} {each.field}" for each in left_out]


def checks_and_proofs(topology: ImportedTopology, found: ReadInput) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """The codes that a check finds, and for each replication its effects and differences."""
    try:
        parsed = parse_topology(topology.document)
    except ReplicationError as error:
        return [problem.code for problem in error.problems], {}
    proofs = {
        proof.name: {
            "effects": [f"{effect.severity} {effect.code}" for effect in proof.effects],
            "differs": [
                f"{difference.obj}: {difference.key}"
                for difference in proof.differences
                if "config.providers" not in difference.key
            ],
        }
        for proof in changes_of_imports(topology, found.of("ConfigMap"))
    }
    return sorted({each.code for each in check_topology(parsed)}), proofs


def outcome(case: Path, folder: Path) -> dict[str, Any]:
    expected, found, topologies, left = imported(case, folder)
    given: dict[str, Any] = {key: expected[key] for key in ("about", "file") if key in expected}
    given |= {"left": left, "set": needed_values(topologies, "prod")}
    documents, checked = [], []
    for topology in topologies:
        codes, proofs = checks_and_proofs(topology, found)
        documents.append({key: topology.document[key] for key in ("clusters", "replications")})
        checked.append({"problems": codes, "proof": proofs})
    return {**given, "topologies": documents, "checked": checked}


@pytest.mark.parametrize("case", CASES, ids=[each.stem for each in CASES])
def test_a_published_resource_is_imported_as_its_case_says(case: Path, tmp_path: Path) -> None:
    expected = yaml.safe_load(case.read_text().partition("\n---\n")[0])
    found = outcome(case, tmp_path)
    assert found == expected
    assert not [each for each in PASSWORDS if each in str(found)]


@pytest.mark.parametrize("case", CASES, ids=[each.stem for each in CASES])
def test_no_credential_that_was_read_is_printed_or_written(case: Path, tmp_path: Path) -> None:
    """The command writes and prints more than the cases compare."""
    first, _, rest = case.read_text().partition("\n---\n")
    read, folder = tmp_path / yaml.safe_load(first).get("file", "read.yaml"), tmp_path / "project"
    read.write_text(rest)
    result = CliRunner().invoke(app, ["import", str(read), "--out", str(folder)])
    written = [each.read_text() for each in folder.rglob("*") if each.is_file()]
    assert result.exit_code in (0, 1), result.output
    assert not [each for each in PASSWORDS for text in (result.output, *written) if each in text]


def test_there_is_a_case_for_every_way_in_which_people_publish_resources() -> None:
    assert len(CASES) >= 25
