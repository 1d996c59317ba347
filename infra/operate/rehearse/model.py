"""The data for a runbook, its sections, and the forms of text that sections share."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from components.contract.parameters import FlowParameters
from components.flows.resolved import ResolvedFlow
from components.render.acls import flows_without_addresses
from components.render.job_parameters import flow_parameters
from infra.operate.rehearse.drill_record import DrillRecord, read_record
from infra.stack.environment import stack_environment
from infra.stack.settings import StackSettings
from infra.stack.stack_checks import raise_mistakes


@dataclass(frozen=True)
class Section:
    """One situation. `question` ends the sentence "What do I do when …"."""

    title: str
    question: str
    lines: tuple[str, ...]


def commands(*typed: str) -> Iterator[str]:
    """Lines to paste into a shell."""
    yield from ("```sh", *typed, "```")


@dataclass(frozen=True)
class Do:
    """One step: what to do, and the commands for it."""

    what: str
    typed: tuple[str, ...] = ()


def steps(*given: Do) -> Iterator[str]:
    """Numbered steps with their commands."""
    for number, step in enumerate(given, start=1):
        yield f"{number}. {step.what}"
        if step.typed:
            yield ""
            yield from (f"   {line}" for line in commands(*step.typed))
            yield ""


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A Markdown table; a bar in a cell does not end it."""
    heads = list(columns)
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    for row in rows:
        cells = (cell.replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |"


def code(entries: Iterable[str]) -> str:
    """Names as code, or "none"."""
    return ", ".join(f"`{each}`" for each in entries) or "none"


@dataclass(frozen=True)
class RunbookModel:
    """A stack; `drills` are by flow. `topology_file` is the file's path in the project."""

    settings: StackSettings
    topology_file: str
    flows: tuple[ResolvedFlow, ...]
    drills: Mapping[str, DrillRecord]

    @property
    def stack(self) -> str:
        return self.settings.stack

    @property
    def on_this_machine(self) -> bool:
        return stack_environment(self.settings).on_this_machine

    def parameters(self) -> tuple[FlowParameters, ...]:
        """What the validation job and `failover` know of each flow, with sentences for unknown addresses."""
        return tuple(map(flow_parameters, self.flows))


def runbook_model(settings: StackSettings, topology_file: str) -> RunbookModel:
    """Read what a runbook needs. Raises ReplicationError for a topology with mistakes."""
    raise_mistakes(settings)
    flows = flows_without_addresses(settings.topology, settings.region)
    found = {flow.name: read_record(settings, flow.name) for flow in flows}
    drills = {name: record for name, record in found.items() if record is not None}
    return RunbookModel(settings, topology_file, flows, drills)
