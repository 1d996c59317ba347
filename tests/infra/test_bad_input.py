"""Every problem code has one file of bad input that raises it and only it."""

import ast
from pathlib import Path

import pytest
import yaml

from kafka_replication.components.contract.problems import CannotRunError, Problem, ReplicationError
from kafka_replication.infra.stack.listed_names import listed_problems, read_names
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.stack.stack_checks import problems
from tests.builders import a_cluster, a_topology
from tests.infra.stacks import write_stack
from tests.repository import ROOT

FILES = sorted((ROOT / "tests" / "bad_input").glob("*.yaml"))
#: Promotion plans and states of stacks; tests/infra/deploy/promotion/test_bad_plans.py tests them.
PROMOTION_FILES = sorted((ROOT / "tests" / "bad_input" / "promotion").glob("*.yaml"))


def found_in(file: Path, stacks: Path) -> list[Problem]:
    topology, configuration, names, other, *_ = [*file.read_text().split("---\n"), "", "", ""]
    (stacks / "topologies").mkdir()
    (stacks / "topologies" / "bad.yaml").write_text(topology)
    config = {"replication:topology": "bad", **(yaml.safe_load(configuration) or {})}
    (stacks / "Pulumi.bad.yaml").write_text(yaml.safe_dump({"config": config}))
    (stacks / "names.yaml").write_text(names)
    if other:
        of_other = {"replication:topology": "bad", **yaml.safe_load(other)}
        (stacks / "Pulumi.other.yaml").write_text(yaml.safe_dump({"config": of_other}))
    try:
        settings = read_settings("bad", stacks)
        listed = listed_problems(settings, read_names(stacks / "names.yaml", set())) if names else []
        return [*problems(settings), *listed]
    except ReplicationError as error:
        return list(error.problems)
    except CannotRunError as error:
        return [Problem(error.where, error.code, error.what, error.why, error.remedy, place=error.place)]


def codes_in_sources() -> set[str]:
    """The second argument of every Problem(…) in the sources, with four exceptions that other tests raise:

    problems of options (onboard/new_project/test_answers.py and validate/test_topology_alone.py), of what a cluster
    holds (contract/test_gitops.py and the tests of adoption), of a component's arguments
    (components/provider/test_host.py), and of a switch file (operate/switch).
    """
    elsewhere = (
        "new_project/answers.py",
        "promotion/run/jobs_in_cluster.py",
        "provider/replications.py",
    )
    files = [*(ROOT / "components").rglob("*.py"), *(ROOT / "infra").rglob("*.py")]
    files = [file for file in files if file.parent.name not in ("adoption", "switch")]
    sources = [file for file in files if not file.as_posix().endswith(elsewhere)]
    calls = [
        node
        for source in sources
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Problem", "warning")
    ]
    codes = {str(call.args[1].value) for call in calls if isinstance(call.args[1], ast.Constant)}
    # The operator's stand-in has warnings of its own, whose texts are not codes.
    return {code for code in codes if " " not in code} - {"config-without-stack"}


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_bad_file_raises_its_own_code_and_no_other(file: Path, tmp_path: Path) -> None:
    found = found_in(file, tmp_path)
    assert {problem.code for problem in found} == {file.stem}, "\n".join(map(str, found))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_problem_says_where_why_and_what_to_do(file: Path, tmp_path: Path) -> None:
    for problem in found_in(file, tmp_path):
        assert all((problem.where, problem.what, problem.why.endswith("."), problem.remedy.endswith((".", "?"))))
        assert "hunter2" not in str(problem)


def test_an_invalid_replication_name_is_reported_even_with_configured_credentials(tmp_path: Path) -> None:
    """The Secret of the credentials is named after the replication before that name is checked."""
    cluster = a_cluster(authentication={"type": "plain", "username": "mirror", "password": {"config": "password"}})
    topology = a_topology(name="Orders", clusters={"useast": cluster, "uswest": a_cluster("us-west-2")})
    stacks = write_stack(tmp_path, topology, password={"secure": "v1:abc"})
    found = problems(read_settings("test", stacks))
    assert {problem.code for problem in found} == {"name-not-kubernetes"}


def test_every_code_in_the_sources_has_a_bad_file() -> None:
    unreadable = {"invalid-yaml"}
    assert codes_in_sources() | unreadable == {file.stem for file in [*FILES, *PROMOTION_FILES]}
