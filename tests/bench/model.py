"""Runs every state machine of tests/model ten thousand times: `make model`."""

import time

from tests.model.disaster_machine import Disaster
from tests.model.flow_machine import Flow
from tests.model.keeper_machine import Keeper
from tests.model.machine import Offsets, run
from tests.model.night_machine import Night
from tests.model.pair_keeper_machine import PairKeeper
from tests.model.pair_machine import Marks
from tests.model.pair_night_machine import PairNight
from tests.model.parity_machine import Parity
from tests.model.return_machine import Return

RUNS = 10_000
MACHINES = (
    (Offsets, "offsets"),
    (Parity, "records"),
    (Flow, "flows"),
    (Marks, "pairs"),
    (Night, "failover and failback"),
    (Return, "failback with the identity policy"),
    (PairNight, "failover in a pair"),
    (Disaster, "failover after the loss of the source"),
    (Keeper, "positions that are kept for it"),
    (PairKeeper, "positions that are kept in a pair"),
)


def main() -> None:
    for machine, what in MACHINES:
        began = time.monotonic()
        run(machine, RUNS, shrink=True)
        print(f"{what}: {RUNS} runs without a counterexample in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
