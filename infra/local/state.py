"""The state file, which stores a stack's ports, passwords, cluster ids and processes between commands. Mode 0600."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.parts.processes import ProcessRecord


class PartRecord(ProcessRecord):
    """The process of a part; `ready` is true once it has served and is configured, so that `up` need not wait again."""

    ready: bool = False


class State(BaseModel):
    """The state of one local stack."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    ports: Mapping[str, int] = Field(default_factory=dict)
    cluster_ids: Mapping[str, str] = Field(default_factory=dict)
    parts: Mapping[str, PartRecord] = Field(default_factory=dict)
    passwords: Mapping[str, str] = Field(default_factory=dict, repr=False)

    def with_part(self, record: PartRecord) -> "State":
        """Return a copy with `record` under its name."""
        return self.model_copy(update={"parts": {**self.parts, record.name: record}})

    def without_part(self, name: str) -> "State":
        """Return a copy without the part."""
        others = {key: record for key, record in self.parts.items() if key != name}
        return self.model_copy(update={"parts": others})


def load_state(file: Path | None = None) -> State:
    """Return the saved state, empty before the first start. Raises CannotRunError if the file is damaged."""
    file = file or paths.state_file()
    try:
        return State.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return State()
    except ValidationError as error:
        # Pydantic's text quotes the input, which contains passwords, so show only where it is wrong.
        places = ", ".join(".".join(map(str, problem["loc"])) or "the file" for problem in error.errors())
        what = f"the local stack's state cannot be read (invalid: {places})"
        why = "It names the processes, ports and passwords of the stack."
        remedy = "stop the running processes by hand, then delete the stack's data with `replicate local down --purge`"
        raise CannotRunError("state-damaged", what, str(file), why, remedy) from None


def save_state(state: State, file: Path | None = None) -> None:
    """Replace the file atomically: a reader sees the old state or the new one, even after a kill -9."""
    write_private(file or paths.state_file(), state.model_dump_json(indent=2))


def write_private(file: Path, content: str | bytes) -> None:
    """Write a file atomically that only its owner can read."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # mkstemp creates the file with mode 0600, so others can never read it.
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content.encode("utf-8") if isinstance(content, str) else content)
            out.flush()
            os.fsync(out.fileno())
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
