"""Runs `replicate` in the process of the tests: a process of its own imports for longer than most commands run."""

import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO

import pytest

from kafka_replication.infra.commands import console
from kafka_replication.infra.commands.app import main
from tests.repository import ROOT


@dataclass(frozen=True)
class Answer:
    """What a command ended with, and printed into pipes."""

    returncode: int
    stdout: str
    stderr: str


def replicate(*arguments: object, answer: str = "", **variables: str) -> Answer:
    """The command in the folder of this repository, with more environment variables, and with `answer` on stdin."""
    out, err, code = StringIO(), StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(ROOT)
        # Said in full, as pytest's readline adds a width to the environment.
        patch.delenv("COLUMNS", raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        # Consoles take their width when they are imported, which another test may have done in a terminal.
        for each in (console.out, console.err):
            patch.setattr(each, "_width", console.width_of(out))
        patch.setattr(sys, "stdin", StringIO(answer))
        patch.setattr(sys, "argv", ["replicate", *map(str, arguments)])
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return Answer(code, out.getvalue(), err.getvalue())
