"""`make monitoring`: lets a real Prometheus watch every shape of flow, makes faults, and prints which alerts fire.

It runs on its own local stack. For each form of metrics (two exporters, two forms of Kafka's names) it asks every query
of the dashboard and of the alerts. Then it waits for some minutes of traffic without an alert, and makes faults: those
of one flow one after the other, those of different flows at the same time, since every alert names its flow. To save
time, the `for` of every alert is divided by the same factor. `--write` puts what was seen into the page of the alerts,
and draws the dashboard.

No test uses a real Prometheus: it takes too long, and not every machine has one.
"""

import argparse
import os
import re
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

# Read when infra.local.paths is imported: this stack keeps its state, ports and processes to itself.
_ROOT = Path(__file__).resolve().parents[2]
_OWN = _ROOT / ".local" / "monitoring"
os.environ["REPLICATE_LOCAL"] = str(_OWN)

from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.render.monitoring import monitoring_objects
from kafka_replication.components.topology.model import Topology
from kafka_replication.infra.local import stack
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, exclusive, wait_for
from kafka_replication.infra.stack.session import OpenStack
from tests.bench import dashboard_recording
from tests.bench.dashboard_picture import picture
from tests.bench.fault_stack import STACK, World
from tests.bench.monitoring_faults import FAULTS, Fault
from tests.bench.monitoring_page import NOT_MADE, Asked, Clean, Seen, keep, kept, write_table
from tests.bench.monitoring_queries import Answer, Prometheus, Watch, queries
from tests.bench.monitoring_stack import FORMS, Form, deploy, everything, forget_series, publish, running, shorten

_OTHER_RUN_SECONDS = 3600.0
#: How long it may take until the queries have series after a deployment, and until the alerts end after a fault.
_SERIES_SECONDS, _QUIET_SECONDS = 420, 900
_ROWS, _DASHBOARD = _OWN / "seen.json", _OWN / "dashboard.json"
_PICTURE = _ROOT / "stacks" / "images" / "dashboard.svg"


def topology_of(world: World) -> Topology:
    return world.deployed.settings.topology


def ask(world: World, prometheus: Prometheus, form: Form) -> Asked:
    """Ask every query again until each answer is as expected, or time is up."""
    asked = list(queries(topology_of(world), STACK, OpenStack(world.deployed.settings).flows))
    answers: list[Answer] = []

    def as_they_should_be() -> None:
        answers[:] = [prometheus.ask(each) for each in asked]
        if wrong := [each for each in answers if each.wrong]:
            raise NotYetError(f"{len(wrong)} of {len(asked)}, such as {wrong[0].query}: {wrong[0].wrong}")

    try:
        wait_for("every query to have series", as_they_should_be, _SERIES_SECONDS, interval_seconds=10)
    except DeadlineError as error:
        print(error, flush=True)
    wrong = [f"{each.query.where} of {each.query.flow}: {each.wrong}" for each in answers if each.wrong]
    nothing = [each.query for each in answers if not each.series and not each.wrong]
    silent = sorted({each.where for each in nothing if not each.foreign})
    foreign = sorted({f"{each.where} ({each.flow})" for each in nothing if each.foreign})
    answered = sum(bool(each.series) for each in answers)
    return Asked(
        form.metrics, form.names, form.kafka, len(asked), answered, tuple(silent), tuple(foreign), tuple(wrong)
    )


def quiet(watch: Watch, flow: str | None = None) -> None:
    """Wait until no alert (of a flow) fires or is about to. Raises DeadlineError."""

    def nothing_fires() -> None:
        raised = watch.prometheus.raised("pending", "firing")
        if found := [each for each in raised if flow in (None, each[1])]:
            raise NotYetError(str(found))

    wait_for(f"no alert of {flow or 'any flow'} to fire", nothing_fires, _QUIET_SECONDS, interval_seconds=2)


def clean(watch: Watch, minutes: float, form: str) -> Clean:
    """Wait for some minutes of traffic; returns what fired meanwhile."""
    quiet(watch)
    first, blind, end = len(watch.fired), watch.blind, time.monotonic() + 60 * minutes

    def over() -> None:
        if time.monotonic() < end:
            raise NotYetError("there is time left")

    wait_for("the minutes to pass", over, 60 * minutes + 60, interval_seconds=5)
    assert watch.blind == blind, "Prometheus did not always answer"
    return Clean(form, minutes, tuple(f"{each.alert} of {each.flow}" for each in watch.fired[first:]))


def one_by_one(
    world: World, watch: Watch, faults: Iterable[Fault], fors: dict[tuple[str, str], int], factor: int
) -> None:
    """Make the faults of one flow, each after the previous one has ended."""
    for fault in faults:
        try:
            quiet(watch, fault.flow)
            seen = made(world, watch, fault, fors[fault.flow, fault.alert], factor)
        except Exception as error:  # noqa: BLE001  # whatever a fault meets, the others go on
            seen = Seen(fault.what, fault.alert, None, None, (), (f"{NOT_MADE}: {type(error).__name__}: {error}",))
        keep(_ROWS, "faults", fault.what, seen)
        print(seen, flush=True)


def made(world: World, watch: Watch, fault: Fault, whole: int, factor: int) -> Seen:
    """What fired for the flow from the moment of the fault until its alert fired."""
    with fault.making(world):
        began = time.monotonic()
        try:
            wait_for(fault.alert, lambda: _expect(watch, fault, began), 60 * fault.minutes, interval_seconds=1)
        except DeadlineError:
            print(f"{fault.what}: {fault.alert} has not fired", flush=True)
        fired = watch.of(fault.flow, began)
    at = next((each.at for each in fired if each.alert == fault.alert), None)
    seconds = None if at is None else round(at - began)
    others = dict.fromkeys(each.alert for each in fired if each.alert != fault.alert)
    also = tuple(each for each in others if each in fault.also)
    wrong = tuple(each for each in others if each not in fault.also)
    return Seen(fault.what, fault.alert, seconds, seconds and seconds + whole - whole // factor, also, wrong)


def _expect(watch: Watch, fault: Fault, began: float) -> None:
    found = watch.of(fault.flow, began)
    if fault.alert not in {each.alert for each in found}:
        raise NotYetError(str([each.alert for each in found]))


def seconds_of_for(topology: Topology) -> dict[tuple[str, str], int]:
    """The `for` of each alert in seconds, by flow and name."""
    rules = (each.manifest for each in monitoring_objects(topology, STACK, None) if each.kind == "PrometheusRule")
    found = (rule for each in rules for rule in each["spec"]["groups"][0]["rules"])
    return {(rule["labels"]["flow"], rule["alert"]): 60 * int(rule["for"].removesuffix("m")) for rule in found}


def make_faults(world: World, watch: Watch, pattern: str, factor: int) -> None:
    """Make the faults whose names match."""
    chosen: dict[str, list[Fault]] = {}
    for fault in FAULTS:
        if re.search(pattern, fault.what):
            chosen.setdefault(fault.flow, []).append(fault)
    fors = seconds_of_for(topology_of(world))
    with ThreadPoolExecutor(len(chosen)) as pool:
        for each in [pool.submit(one_by_one, world, watch, group, fors, factor) for group in chosen.values()]:
            each.result()


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make monitoring")
    forms = f"the forms of metrics among {','.join(FORMS)}, which are the default; the last meets faults"
    parser.add_argument("--forms", default=",".join(FORMS), help=forms)
    parser.add_argument("--no-queries", action="store_true", help="do not ask the queries of dashboard and alerts")
    parser.add_argument("--clean", type=float, default=20, metavar="MINUTES", help="traffic without a fault")
    parser.add_argument("--faults", default=".", help="a regular expression for the faults; `-` for none")
    parser.add_argument("--factor", type=int, default=10, help="what the `for` of every alert is divided by")
    parser.add_argument("--keep", action="store_true", help="leave the stack running, and use the one that a run left")
    parser.add_argument("--write", action="store_true", help="only write the tables and the picture of what was seen")
    return parser.parse_args()


def main() -> int:
    """Print what was seen; 1 if anything is not as expected, 2 if nothing could run."""
    given = parsed()
    if given.write:
        rows = kept(_ROWS)
        page, when = _ROOT / "infra" / "operate" / "ALERTS.md", datetime.now(UTC).strftime("%d %B %Y")
        write_table(page, rows, [each.what for each in FAULTS], when, given.factor)
        if _DASHBOARD.exists():
            _PICTURE.write_text(picture(dashboard_recording.kept(_DASHBOARD)))
        return 0
    console = Console(stderr=True, highlight=False, width=200)
    try:
        with (
            exclusive(_OWN / "bench.lock", console, "trying the monitoring", _OTHER_RUN_SECONDS),
            running(_OWN, console, keep=given.keep) as endpoints,
        ):
            address = stack.prometheus_address()
            assert address is not None
            prometheus, forms = Prometheus(address), given.forms.split(",")
            for form in forms:
                console.print(f"deploying with {form}")
                world = deploy(_OWN, FORMS[form], endpoints)
                forget_series()
                shorten(world, given.factor)
                publish(world)
                with everything(world, _OWN), Watch(prometheus).running() as watch:
                    _one_form(world, watch, form, given, last=form == forms[-1])
    except CannotRunError as error:
        console.print(str(error), style="red", markup=False)
        return 2
    return 1 if any(row["wrong"] for kind in ("faults", "asked") for row in kept(_ROWS).get(kind, {}).values()) else 0


def _one_form(world: World, watch: Watch, form: str, given: argparse.Namespace, *, last: bool) -> None:
    if not given.no_queries:
        asked = ask(world, watch.prometheus, FORMS[form])
        keep(_ROWS, "asked", form, asked)
        print(asked, flush=True)
    if not last:
        return
    if given.clean:
        seen = clean(watch, given.clean, FORMS[form].metrics)
        keep(_ROWS, "clean", form, seen)
        print(seen, flush=True)
    if given.faults != "-":
        began = time.time()
        make_faults(world, watch, given.faults, given.factor)
        flows = [flow.name for flow in OpenStack(world.deployed.settings).flows]
        recording = dashboard_recording.recorded(watch.prometheus, STACK, flows, began, time.time())
        dashboard_recording.keep(_DASHBOARD, recording)


if __name__ == "__main__":
    sys.exit(main())
