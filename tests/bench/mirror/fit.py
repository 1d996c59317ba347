"""Fits the model of `kafka_replication.components.kafka.throughput` to measured cells, and writes its data file."""

import itertools
import json
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from kafka_replication.components.kafka.throughput import FILE, Case, Cost, Factors, Fitted, Measured
from kafka_replication.infra.machine import versions
from tests.bench.mirror.cells import HELD_BACK, prediction, reduced, whole

Results = Mapping[Case, Measured]
#: What the model may be fitted to.
_GRID = frozenset(reduced()) | frozenset(whole())
#: Milliseconds that a fetch or an acknowledgement may take besides the round trip.
_MILLISECONDS = [number / 2 for number in range(1, 25)]


def fit(results: Results, cores: int) -> Fitted:
    """Return what fits best to the cells that were not held back: the least squares of relative errors."""
    used = {case: got for case, got in results.items() if case in _GRID and case not in HELD_BACK}
    plain = {case: got for case, got in used.items() if not (case.tls or case.exactly_once)}
    near = {case: got for case, got in plain.items() if not case.round_trip_ms and case.partitions > case.tasks}
    kinds = sorted({case.settings for case in near})

    def costs(seconds: Callable[[Measured], float], tasks: Collection[int] = range(100)) -> dict[str, Cost]:
        chosen = [(case, seconds(got) / got.records) for case, got in near.items() if case.tasks in tasks]
        return {
            kind: cost([(case.record_bytes, took) for case, took in chosen if case.settings == kind]) for kind in kinds
        }

    task, worker, brokers = costs(lambda got: got.seconds, [1]), costs(_worker_seconds), costs(_brokers_seconds)
    of_worker, of_brokers = _factors(used, _worker_seconds), _factors(used, _brokers_seconds)
    tried = (
        Fitted(task, worker, brokers, fetch, acknowledge, of_worker, of_brokers)
        for fetch, acknowledge in itertools.product(_MILLISECONDS, _MILLISECONDS)
    )
    return min(tried, key=lambda candidate: error(plain, candidate, whole_cost(near), cores))


def _worker_seconds(got: Measured) -> float:
    return got.worker_cpu


def _brokers_seconds(got: Measured) -> float:
    return got.brokers_cpu


def cost(points: Iterable[tuple[int, float]]) -> Cost:
    """Return the line through (bytes of a record, seconds of a record) with the least squares of relative errors."""
    # Divided by the seconds, each point reads 1 = per_record * u + per_byte * v.
    pairs = [(1 / seconds, size / seconds) for size, seconds in points]
    uu, uv, vv = (sum(pair[i] * pair[j] for pair in pairs) for i, j in ((0, 0), (0, 1), (1, 1)))
    u, v = (sum(pair[i] for pair in pairs) for i in (0, 1))
    determinant = uu * vv - uv * uv
    return Cost((u * vv - v * uv) / determinant, (v * uu - u * uv) / determinant)


def whole_cost(results: Results) -> dict[str, Cost]:
    """Return the processor seconds of everything on the machine: the worker, the brokers and the proxy."""
    pairs = [
        (case, (got.worker_cpu + got.brokers_cpu + got.proxy_cpu) / got.records)
        for case, got in results.items()
        if not (case.tls or case.exactly_once or case.round_trip_ms or case.pace or case.link)
        and case.partitions > case.tasks
    ]
    kinds = sorted({case.settings for case, _ in pairs})
    return {kind: cost([(case.record_bytes, took) for case, took in pairs if case.settings == kind]) for kind in kinds}


def predicted(case: Case, fitted: Fitted, spent: Mapping[str, Cost], cores: int) -> float:
    """Return the bytes a second of a cell on this machine, whose processors the worker shares with the brokers."""
    return min(prediction(case, fitted).rate, cores / spent[case.settings].of_byte(case.record_bytes))


def error(results: Results, fitted: Fitted, spent: Mapping[str, Cost], cores: int) -> float:
    """Return the typical relative error: the root of the mean square of the logarithms."""
    squares = [
        math.log(predicted(case, fitted, spent, cores) / got.rate(case)) ** 2
        for case, got in results.items()
        if case.settings in spent and not case.pace
    ]
    return math.exp(math.sqrt(sum(squares) / len(squares))) - 1


def _factors(results: Results, seconds: Callable[[Measured], float]) -> Factors:
    """Return how much more of these seconds is needed than for the same case without TLS or exactly once.

    A factor below 1 comes from the noise of the measurement.
    """
    ratios: dict[tuple[bool, bool], list[float]] = {}
    for case, got in results.items():
        plain = replace(case, tls=False, exactly_once=False)
        if plain != case and plain in results:
            ratio = (seconds(got) / got.records) / (seconds(results[plain]) / results[plain].records)
            ratios.setdefault((case.tls, case.exactly_once), []).append(ratio)
    means = {kind: max(1.0, sum(found) / len(found)) for kind, found in ratios.items()}
    return Factors(means.get((True, False), 1.0), means.get((False, True), 1.0))


def document(results: Results, machine: str, java: str) -> dict[str, Any]:
    """Return what the data file of the model holds."""
    cores = os.cpu_count() or 1
    fitted = fit(results, cores)
    held_back = {case: results[case] for case in HELD_BACK if case in results}
    return {
        "machine": machine,
        "cores": cores,
        "date": str(datetime.now(UTC).date()),
        "versions": {"kafka": versions.KAFKA, "java": java},
        "fitted": asdict(fitted),
        "error": error(held_back, fitted, whole_cost(results), cores) if held_back else None,
        "cells": [
            {"cell": asdict(case), "measured": asdict(got), "held_back": case in HELD_BACK}
            for case, got in results.items()
        ],
    }


def write(measured: Mapping[str, Any]) -> None:
    """Write the data file of the model, with a line for each cell."""
    lines = [f'"{key}": {json.dumps(value)}' for key, value in measured.items() if key != "cells"]
    cells = ",\n".join(json.dumps(cell) for cell in measured["cells"])
    FILE.write_text("{\n" + ",\n".join([*lines, f'"cells": [\n{cells}\n]']) + "\n}\n", encoding="utf-8")
