"""The alert on records that a pair sends back, on series of both flows: promtool's tests for `make alerts`."""

from collections.abc import Iterator, Sequence
from typing import Any

from kafka_replication.components.contract import exported_series as series
from kafka_replication.components.render import metrics

_PAIR = ("ledger-to-useast", "ledger-to-uswest")


def _pair_test(
    name: str, replicated: Sequence[str], ends: Sequence[str], lags: str, returns: Sequence[bool], at: str = "50m"
) -> dict[str, Any]:
    """A case of a pair: the records that each flow replicated, the ends on its source, and the lag of both.

    `returns` says for each flow whether its alert fires.
    """
    inputs: list[dict[str, str]] = []
    for flow, records, end in zip(_PAIR, replicated, ends, strict=True):
        of = f'stack="prod",flow="{flow}"'
        inputs += [
            {"series": f'{metrics.RECORD_COUNT}{{{of},topic="ledger",partition="0"}}', "values": records},
            {"series": f"{series.SOURCE_ENDS.name}{{{of}}}", "values": end},
            {"series": f"{series.LAG_RECORDS.name}{{{of}}}", "values": lags},
        ]
    firing = 'count(ALERTS{{alertname="MirrorRecordsReturn",flow="{}",alertstate="firing"}}) or vector(0)'
    tests = [
        {"expr": firing.format(flow), "eval_time": at, "exp_samples": [{"labels": "{}", "value": int(fires)}]}
        for flow, fires in zip(_PAIR, returns, strict=True)
    ]
    return {"name": name, "interval": "1m", "input_series": inputs, "promql_expr_test": tests}


def pair_tests() -> Iterator[dict[str, Any]]:
    """Cases: nothing comes back, records circle, or each record comes back once."""
    never, both = (False, False), (True, True)
    # The records of an hour are waiting when the clusters reach each other again.
    catching_up = "0x25 0+6000x12 72000x52", "0+600x25 15600+6600x12 95000+600x52", "0+3000x25 72000-6000x12 0x52"
    for at in ("38m", "50m", "78m"):
        yield _pair_test("each side writes", ["0+600x90", "0+400x90"], ["0+1000x90"] * 2, "500x90", never, at)
        yield _pair_test("only one side writes", ["0+600x90", "0x90"], ["0+600x90"] * 2, "600x90", never, at)
        replicated, ends, lags = catching_up
        yield _pair_test("both catch up at once", [replicated] * 2, [ends] * 2, lags, never, at)
    # Both sides have 200,000 records; half of them are deleted with their topic.
    deleted = ["200000+1000x25 126000+1000x64"] * 2
    for at in ("38m", "50m", "78m"):
        yield _pair_test("a topic is deleted on both sides", ["0+600x90", "0+400x90"], deleted, "500x90", never, at)
    circling = "a record that comes back is sent again"
    yield _pair_test(circling, ["0+2000x90"] * 2, ["0+2000x90"] * 2, "1500x90", both, "38m")
    yield _pair_test("nobody writes, and records circle", ["0+600x90"] * 2, ["0+600x90"] * 2, "900x90", both, "38m")
    # Both sides write 600 records a minute. The flow to uswest also sends back the records that came from uswest.
    once, grown = ["0+600x90", "0+1200x90"], ["0+1800x90", "0+1200x90"]
    yield _pair_test("a record comes back once", once, grown, "1500x90", (False, True), "78m")
