"""The page of numbers, the data file of the model, and what the bench fits say the same, whatever was measured."""

import json
from collections.abc import Mapping

import pytest

from kafka_replication.components.kafka.throughput import FILE, Case, Cost, Measured, measurements, measurements_of
from tests.bench.mirror import fit, page
from tests.bench.mirror.cells import HELD_BACK, PACED, QUESTIONS, reduced
from tests.bench.mirror.looks import Look, paused, rate
from tests.pages import section


def test_the_page_shows_what_the_data_file_holds() -> None:
    text = page.PAGE.read_text()
    assert {name: section(text, name) for name in page.sections(measurements())} == page.sections(measurements())
    assert page.PLOT.read_text() == page.plot(measurements())


def test_the_data_file_holds_what_is_fitted_to_its_cells() -> None:
    measured = measurements()
    fitted = fit.fit(measured.cells, measured.cores)
    assert fitted == measured.fitted
    held_back = {case: measured.cells[case] for case in measured.held_back}
    assert list(held_back) == [case for case in measured.cells if case in HELD_BACK]
    if held_back:
        spent = fit.whole_cost(measured.cells)
        assert measured.error == pytest.approx(fit.error(held_back, fitted, spent, measured.cores))


def test_a_written_data_file_reads_back_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    document = json.loads(FILE.read_text())
    file = type(FILE)(str(tmp_path)) / "throughput.json"
    monkeypatch.setattr(fit, "FILE", file)
    fit.write(document)
    assert measurements_of(json.loads(file.read_text())) == measurements()


def test_costs_are_fitted_by_relative_errors() -> None:
    points = [(size, 3e-6 + 7e-9 * size) for size in (100, 1_000, 10_000)]
    assert fit.cost(points) == pytest.approx(Cost(3e-6, 7e-9))
    off = fit.cost([(100, 2.0), (100, 4.0), (10_000, 200.0)])
    assert off.of_byte(100) * 100 == pytest.approx(2.4, rel=0.05), "twice too much counts as much as half too little"


def test_only_cells_of_the_grid_are_fitted() -> None:
    others = {*HELD_BACK, *PACED}
    assert not others & set(reduced())
    known = measurements().cells
    grid = {case: got for case, got in known.items() if case not in others and case in set(reduced())}
    nonsense = Measured(1, 1.0, 100.0, 100.0, 100.0, 1.0, 1.0, 1.0)
    asked = {Case("throughput", "source", 80, 1, question.partitions, 1_000): nonsense for question in QUESTIONS}
    assert fit.fit({**grid, **dict.fromkeys(others, nonsense), **asked}, 2) == fit.fit(grid, 2)


def looks(rises: Mapping[float, int], until: float) -> list[Look]:
    """A look each tenth of a second at a target where so many records arrive at each of these seconds."""
    times = [number / 10 for number in range(int(until * 10) + 1)]
    return [Look(at, sum(count for rise, count in rises.items() if rise <= at)) for at in times]


def test_a_fetch_that_was_under_way_before_the_first_look_does_not_count() -> None:
    """Four fetches arrive in the time of three, and the link would seem to carry a third more than it can."""
    seen = looks({0: 1, 0.05: 999} | dict.fromkeys((2.05, 4.05, 6.05), 1_000), until=6.2)
    assert rate(seen) == pytest.approx(500)
    assert paused(seen)


def test_where_records_come_all_the_time_everything_counts() -> None:
    steady = [Look(number / 10, 100 * number) for number in range(50)]
    assert rate(steady) == pytest.approx(1_000)
    assert not paused(steady)
    stumbled = looks({0.05: 10, 0.25: 10, 0.45: 10} | {1 + number / 10: 100 for number in range(60)}, until=7)
    assert rate(stumbled) == pytest.approx(6_030 / 7), "three early pauses are not the rhythm of the rest"
