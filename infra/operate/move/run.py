"""The frame of every move: look and plan, print the plan, carry it out unless a precondition is unmet.

`Failover`, `FencedFailover`, `DisasterFailover`, `Failback` and `FlowBack` fill it in. Each can be run again at any
time after an interruption.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from rich.console import Console
from rich.markup import escape

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.contract.wording import named, number
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.move.facts import CheckedPlan, Group, GroupPlan, Mode, NewPosition, Precondition
from kafka_replication.infra.operate.move.groups import Direction, commit_positions
from kafka_replication.infra.operate.move.rights import commit_rights
from kafka_replication.infra.operate.move.source_only import SourceOnly, export
from kafka_replication.infra.operate.partition_logs import Say

_MARKS = {True: "[green]✓[/]", False: "[red]✗[/]", None: "[yellow]![/]"}
_WIDTH = 13
POINT_OF_NO_RETURN = "point of no return: committing positions; if this is interrupted, run the command again"

PlanT = TypeVar("PlanT", bound=CheckedPlan)


@dataclass(frozen=True)
class MoveCall:
    """What the user asked of `replicate failover` or `replicate failback`, and the consoles that it prints to."""

    out: Console
    err: Console
    user: str
    groups: Sequence[str] = ()
    dry_run: bool = False
    as_json: bool = False
    wait_seconds: float = 180
    watch_seconds: float = 10
    max_lag: int = 0
    export: Path | None = None
    mode: Mode = Mode.PLANNED
    #: Groups that a switch stops before positions are committed, and starts afterwards on the other side.
    switched: frozenset[str] = frozenset()
    #: The producers that it also stops before, in words.
    stopped_producers: str = ""
    #: Called before anything is changed.
    before_change: Callable[[], object] = lambda: None

    def without_switched(self, groups: Iterable[Group]) -> tuple[Group, ...]:
        """Return the groups; in a dry run, as they are on the source once a switch has stopped its own."""
        idle = self.switched if self.dry_run else ()
        return tuple(replace(group, members_on_source=0) if group.name in idle else group for group in groups)

    def not_switched(self, topics: Mapping[str, list[str]]) -> dict[str, list[str]]:
        """Return the topics of the groups that the user moves."""
        return {group: consumed for group, consumed in topics.items() if group not in self.switched}

    def say(self, text: str) -> None:
        if not self.as_json:
            self.out.print(escape(text), soft_wrap=True)

    def done(self, text: str) -> None:
        """Say that a step is done."""
        if not self.as_json:
            self.out.print(f"{_MARKS[True]} {escape(text)}", soft_wrap=True)

    @contextmanager
    def progress(self, title: str) -> Iterator[Say]:
        """Show the title until the body replaces it."""
        with self.err.status(title) as status:
            yield status.update


class Operation(ABC, Generic[PlanT]):
    """One move of a flow's groups. Raises RefusedError, CannotRunError and NoAnswerError."""

    direction: ClassVar[Direction]
    asking: ClassVar[str] = "asking Kubernetes and Kafka"

    def __init__(self, call: MoveCall, opened: FlowAccess) -> None:
        self.call, self.opened, self.flow = call, opened, opened.parameters
        self.stack = opened.stack.name

    @abstractmethod
    def look(self, say: Say) -> PlanT:
        """Look at the clusters without changing anything, and return the plan."""

    @abstractmethod
    def carry_out(self, plan: PlanT) -> None:
        """Carry out a plan whose preconditions are met, and say what the user does next."""

    def records_to_export(self) -> tuple[KafkaReader, Sequence[SourceOnly]] | None:
        """Return the records that `--export` writes, and the reader of their cluster; None if there are none."""
        return None

    def details(self) -> Mapping[str, object]:
        """Return what the JSON document of this move has beside the plan."""
        records = self.records_to_export()
        return {} if records is None else {"sourceOnly": [span.document() for span in records[1]]}

    def run(self) -> None:
        with self.call.progress(self.asking) as say:
            plan = self.with_rights(self.look(say))
        self.finish(plan)

    def with_rights(self, plan: PlanT) -> PlanT:
        """Return the plan with preconditions about the rights that it needs. Raises NoAnswerError."""
        return replace(plan, preconditions=(*plan.preconditions, *self.rights(plan), *self._switched(plan)))

    def _switched(self, plan: PlanT) -> Iterator[Precondition]:
        """Yield why the groups that a switch moves cannot go on."""
        if not isinstance(plan, GroupPlan):
            return
        missing = self.call.switched - {position.group for position in plan.positions}
        for group, why in plan.left_alone.items():
            if group in missing:
                yield Precondition("switch", f"{group} cannot move: {why}", met=False)
        if unknown := sorted(missing - plan.left_alone.keys()):
            start = "a group starts at the offset that it has there, or else at its `auto.offset.reset`"
            met = None if self.call.mode is Mode.DISASTER else False
            yield Precondition("switch", f"no position to commit for {named(unknown)}: {start}", met=met)

    def rights(self, plan: PlanT) -> Iterator[Precondition]:
        """Yield whether the logins may do what the plan needs. Raises NoAnswerError."""
        if isinstance(plan, GroupPlan):
            groups = {position.group for position in plan.positions}
            topics = {position.target.topic for position in plan.positions}
            yield from commit_rights(self.opened, self.direction.destination, groups, topics)

    def finish(self, plan: PlanT) -> None:
        """Print a plan and carry it out, unless it is a dry run. Raises RefusedError if a precondition is unmet."""
        call = self.call
        if not call.as_json:
            print_plan(plan, call.out)
        self._export()
        carries_out = not call.dry_run and not plan.unmet
        if carries_out:
            call.before_change()
            self.carry_out(plan)
        if call.as_json:
            document = {**plan.document(committed=carries_out), **self.details()}
            call.out.out(json.dumps(document, indent=2), highlight=False)
        if plan.unmet:
            what = "; ".join(f"{unmet.name}: {unmet.value}" for unmet in plan.unmet)
            why = f"A {self.direction.command} needs every precondition to be met; nothing was changed."
            remedy = "correct these, and run the command again; `--dry-run` shows them without changing anything."
            raise RefusedError("precondition-unmet", what, f"flow {self.flow.name} of {self.stack}", why, remedy)
        if call.dry_run:
            call.say("nothing was changed")

    def commit(self, positions: Sequence[NewPosition], say: Say) -> None:
        """Commit positions where the groups continue, and read them back."""
        if positions:
            side = self.direction.destination
            reader = self.opened.reader(getattr(self.flow, side))
            commit_positions(self.opened.writer(side), reader, positions, say)

    def _export(self) -> None:
        if self.call.export is None or (records := self.records_to_export()) is None:
            return
        reader, ranges = records
        with self.call.progress("exporting") as say:
            count = export(reader, ranges, self.call.export, say, committed=self.flow.exactly_once)
        self.call.done(f"{number(count, 'record')} exported to {self.call.export}")


def print_plan(plan: CheckedPlan, console: Console) -> None:
    """Print the preconditions, what would be changed, and the groups that are left alone."""
    print_preconditions(plan.preconditions, console)
    for line in plan.lines():
        console.print(escape(line), soft_wrap=True)
    for warning in plan.warnings():
        console.print(f"{_MARKS[None]} {escape(warning)}", soft_wrap=True)


def print_preconditions(preconditions: Iterable[Precondition], console: Console, width: int = _WIDTH) -> None:
    for precondition in preconditions:
        line = f"{_MARKS[precondition.met]} {precondition.name:<{width}} {escape(precondition.value)}"
        console.print(line, soft_wrap=True)


def topics_of(positions: Iterable[NewPosition]) -> dict[str, list[str]]:
    """Return the source's topics that each group consumes, by group."""
    topics: dict[str, set[str]] = {}
    for position in positions:
        topics.setdefault(position.group, set()).add(position.source.topic)
    return {group: sorted(consumed) for group, consumed in topics.items()}
