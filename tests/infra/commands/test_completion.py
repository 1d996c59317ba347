"""TAB completion: what a shell offers, requested in the way of Typer's own completion scripts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_replication.infra.stack.settings import stack_names
from tests.repository import ROOT, STACKS

pytestmark = pytest.mark.process

PRODUCTION = [name for name in stack_names(STACKS) if name.startswith("prod-")]
_RUN = "from kafka_replication.infra.commands.app import main; main()"
_LOADED = "print('loaded', {'pulumi', 'kubernetes', 'pyspark'} & set(sys.modules))"


def offered(line: str, folder: Path = ROOT) -> list[str]:
    """What bash offers at the end of a line; the last item says which slow packages were loaded for it."""
    words = line.split(" ")
    variables = {"_REPLICATE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    start = f"import sys; sys.argv[0] = 'replicate'; import atexit; atexit.register(lambda: {_LOADED}); {_RUN}"
    answer = subprocess.run(
        [sys.executable, "-c", start],
        cwd=folder,
        env=os.environ | variables | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr == ""
    return [each for each in answer.stdout.splitlines() if each]


@pytest.mark.parametrize(
    "line",
    [f"replicate {command} prod-" for command in ("up", "adopt", "validate", "promote --to", "diff")],
)
def test_stacks_are_completed_without_loading_pulumi_or_a_client(line: str) -> None:
    assert offered(line) == [*PRODUCTION, "loaded set()"]


def test_a_stack_that_was_named_is_not_offered_again() -> None:
    assert offered("replicate check prod-us-west-2 prod-")[:-1] == [
        each for each in PRODUCTION if each != "prod-us-west-2"
    ]


def test_completion_offers_the_flows_of_the_stack_on_the_line() -> None:
    assert offered("replicate explain local-pair l")[:-1] == ["ledger-to-uswest", "ledger-to-useast"]
    assert offered("replicate validate local-pair --flow l")[:-1] == ["ledger-to-uswest", "ledger-to-useast", "ledger"]


@pytest.mark.parametrize("line", ["replicate explain nowhere x", "replicate up x", "replicate validate x --flow "])
def test_a_mistake_on_the_line_completes_nothing_and_prints_no_traceback(line: str, tmp_path: Path) -> None:
    assert offered(line, tmp_path) == ["loaded set()"]
