"""The same faults in each shape: a flow, a split, a mirrorMaker2 and a pair, for each policy and delivery guarantee."""

from collections.abc import Iterator

from kafka_replication.components.contract.report import Verdict
from tests.bench.fault_makers import held, lost, nothing, running, written
from tests.bench.fault_places import COMMITTED, EVERY
from tests.bench.fault_rows import Fault, at
from tests.bench.fault_stack import PAIR, SHAPES, Variant

PASS, FAIL, ERROR = Verdict.PASS, Verdict.FAIL, Verdict.ERROR


def shape_faults(variant: Variant) -> Iterator[Fault]:
    """The faults of each shape. A pair has only those that it can recognise, and only with the identity policy."""
    for shape, (flow, _, _) in SHAPES.items():
        paired = shape == PAIR
        if shape == "filtered" or (paired and variant.policy == "default"):
            continue
        repeated = ("records-repeated", "duplicated-exactly-once")
        # In offset syncs, which a pair does not have, the markers of an exactly-once flow look like a restart, which
        # could explain it.
        twice = ERROR if variant.exactly_once and not paired else FAIL
        again = ("duplicated-exactly-once",) if variant.exactly_once else ("duplicated-records",)
        restarted = "" if variant.exactly_once else ", as after a restart: no fault"
        given = [
            ("healthy", "no fault", PASS, running(nothing), (), ()),
            ("hole", "one record is missing", FAIL, running(held(range(40), range(41, 100))), ("missing-records",),
             at("1 record of useast is missing on uswest")),
            ("neighbours", "two records are swapped", FAIL,
             running(held(range(40), range(41, 42), range(40, 41), range(42, 100))), ("records-reordered",),
             at()),
            ("all-twice", "every record is sent again by somebody else", twice, running(written("west", *EVERY)),
             repeated, at("100 records")),
            ("sent-twice", f"5 records are sent again{restarted}", ERROR if variant.exactly_once else PASS,
             running(written("west", *range(95, 100))), again, at("5 records")),
            ("lost-fifty", "retention removes 50 records before the connector reads them", ERROR if paired else FAIL,
             running(lost(150, 20)), ("losses-not-visible",) if paired else ("lost-to-retention",),
             () if paired else ("{topic}-0", "100 to 149")),
        ]  # fmt: skip
        if not paired:
            forged = running(lambda place: place.forge_checkpoint(COMMITTED, 90))
            given += [
                ("stray", "somebody produces a record to the remote topic", FAIL, running(written("west", 7_000)),
                 ("extra-records",), at("1 record on uswest does not exist on useast")),
                ("checkpoint", "a checkpoint translates 60 to 90", FAIL, forged, ("offset-skips-records",),
                 ("{group}", "{topic}-0", "skip" if variant.exactly_once else f"skip {90 - COMMITTED} records")),
            ]  # fmt: skip
        for name, what, verdict, making, codes, words in given:
            yield Fault(
                f"{shape.lower()}-{name}", f"{shape}: {what}", verdict, making, codes, words, flow=flow, shape=shape,
                prepares=True, stops=name == "lost-fifty",
            )  # fmt: skip
