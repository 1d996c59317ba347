"""Runs the state machine of tests/model ten thousand times: `make model`."""

import time

from tests.model.machine import Offsets, run

RUNS = 10_000


def main() -> None:
    began = time.monotonic()
    run(Offsets, RUNS, shrink=True)
    print(f"{RUNS} runs without a counterexample in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
