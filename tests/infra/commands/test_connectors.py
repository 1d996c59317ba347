"""`replicate pause|stop --for` takes a duration, and says what is wrong with any other text."""

import pytest
from typer.testing import CliRunner

from kafka_replication.infra.commands.app import app


@pytest.mark.parametrize(
    ("duration", "problem"),
    [
        ("", "is not a duration: write a number and s, m, h or d"),
        ("soon", "`soon` is not a duration"),
        ("1h30m", "`1h30m` is not a duration"),
        ("-5m", "`-5m` is not a duration"),
        ("9999999d", "`9999999d` is more than ten years: leave `--for` out"),
        ("99999999999999999999s", "is more than ten years"),
    ],
)
@pytest.mark.parametrize("command", ["pause", "stop"])
def test_what_is_no_duration_is_refused_before_anything_is_looked_at(command: str, duration: str, problem: str) -> None:
    answer = CliRunner().invoke(app, [command, "dev", "orders", f"--for={duration}"], terminal_width=300)
    assert answer.exit_code == 2
    assert problem in " ".join(answer.output.replace("│", " ").split())
