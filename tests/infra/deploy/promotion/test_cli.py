"""The command `replicate promote`: whose name it records, and what it says after a Ctrl-C."""

import pytest
from typer.testing import CliRunner

from kafka_replication.infra.commands.app import app
from kafka_replication.infra.deploy.promotion.run import promotion as run_module
from kafka_replication.infra.deploy.promotion.run.promotion import Promotion


@pytest.mark.parametrize(
    ("arguments", "environment", "who"),
    [
        (["--as", "ann"], {"REPLICATE_USER": "bob", "LOGNAME": "root"}, "ann"),
        ([], {"REPLICATE_USER": "bob", "LOGNAME": "root"}, "bob"),
        ([], {"REPLICATE_USER": "", "LOGNAME": "carol"}, "carol"),
    ],
    ids=["the option", "the environment", "the login"],
)
def test_the_recorded_name_comes_from_the_option_the_environment_or_the_login(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], environment: dict[str, str], who: str
) -> None:
    seen: list[str] = []

    def promote(run: Promotion) -> int:
        seen.append(run.request.who)
        return 1

    monkeypatch.setattr(run_module, "promote", promote)
    answer = CliRunner().invoke(app, ["promote", *arguments], env=environment)
    assert (answer.exit_code, seen) == (1, [who])


def test_after_ctrl_c_promote_says_that_it_can_be_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Promotion) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "promote", interrupted)
    answer = CliRunner().invoke(app, ["promote"])
    assert answer.exit_code == 130
    assert "Run it again" in answer.output


def test_skipping_without_a_reason_is_refused() -> None:
    answer = CliRunner().invoke(app, ["promote", "--skip", " "])
    assert answer.exit_code == 2
    assert "say why" in answer.output
