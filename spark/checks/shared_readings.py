"""What several checks of one flow need, read once for all of them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property

from components.contract.parameters import FlowParameters
from components.contract.problems import CannotRunError
from components.kafka.positions import TopicPartition
from components.kafka.rings import rings_of_topics
from spark.checks.heartbeats import Observer
from spark.checks.loops import Loop, find_loops, without_loops
from spark.checks.offsets import read_syncs
from spark.checks.parity_readings import FirstPass, read_first_pass
from spark.checks.translation import SyncHistory
from spark.flows import OpenFlow


@dataclass(frozen=True)
class SharedReadings:
    """One flow among the `flows` of its document. `without_loops` is the flow without the topics that loop."""

    flow: OpenFlow
    flows: Sequence[FlowParameters]
    catch_up_seconds: float
    loops: Sequence[Loop]
    without_loops: OpenFlow
    syncs: Mapping[TopicPartition, SyncHistory]
    observer: Observer

    @property
    def first_pass(self) -> FirstPass:
        """Counts and digests of both sides; raises what kept them from being read, without trying a second time."""
        if isinstance(self._first_pass, CannotRunError):
            raise self._first_pass
        return self._first_pass

    @cached_property
    def _first_pass(self) -> FirstPass | CannotRunError:
        try:
            return read_first_pass(self.without_loops, self.catch_up_seconds, self.syncs)
        except CannotRunError as error:
            return error


@contextmanager
def shared_readings(
    flow: OpenFlow, flows: Sequence[FlowParameters], catch_up_seconds: float
) -> Iterator[SharedReadings]:
    """Find loops, read the offset syncs, and observe heartbeats until the end."""
    loops = find_loops(flow, rings_of_topics(flow.parameters.leg, [each.leg for each in flows], flow.partitions))
    looped_out = without_loops(flow, loops)
    # Read before anything waits: by the end of the waiting, the checkpoints must have caught up with these syncs.
    flow.progress(f"{flow.name}: reading offset syncs")
    syncs = read_syncs(looped_out)
    observer = Observer(flow.target, flow.parameters.heartbeats, catch_up_seconds)
    with observer if flow.parameters.heartbeats.enabled else nullcontext():
        yield SharedReadings(flow, flows, catch_up_seconds, loops, looped_out, syncs, observer)
