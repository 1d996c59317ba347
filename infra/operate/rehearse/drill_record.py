"""What a drill measured, in a file beside the stack files: the team has it even when Kubernetes does not answer."""

from pathlib import Path

from pydantic import ValidationError

from kafka_replication.components.contract.parameters import DocumentPart, Name
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.stack.settings import StackSettings
from kafka_replication.infra.stack.yaml_files import shown


class DrillStep(DocumentPart):
    """A step of a drill, and how many seconds it took."""

    name: Name
    seconds: float


class DrillRecord(DocumentPart):
    """One drill of a flow. `expected`, `skipped`, `announced` and `read_again` count records: those that the group had
    to read, those that it missed, and re-reads as the failover announced them and as they were. `announced` is a lower
    bound if `announced_at_least`.
    """

    schema_version: int = 1
    flow: Name
    at: Name
    passed: bool
    partitions: int
    expected: int
    skipped: int
    announced: int
    announced_at_least: bool
    read_again: int
    steps: tuple[DrillStep, ...]

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)


def record_file(settings: StackSettings, flow: str) -> Path:
    """Return the file of a flow's newest drill."""
    return settings.stacks / "drills" / f"{settings.stack}.{flow}.json"


def read_record(settings: StackSettings, flow: str) -> DrillRecord | None:
    """Return the newest drill; None if there was none. Raises CannotRunError for a malformed file."""
    path = record_file(settings, flow)
    if not path.is_file():
        return None
    try:
        return DrillRecord.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        what = f"the file is not what a drill writes: {at or 'the file'}: {first['msg']}"
        why = "The runbook takes the expected durations from it."
        remedy = f"delete the file, or run `replicate drill {settings.stack} {flow}` again."
        raise CannotRunError("drill-record-unreadable", what, shown(path), why, remedy) from None


def write_record(settings: StackSettings, record: DrillRecord) -> Path:
    """Replace the record of a flow's drill."""
    path = record_file(settings, record.flow)
    path.parent.mkdir(exist_ok=True)
    path.write_text(record.model_dump_json(by_alias=True, indent=2) + "\n")
    return path
