"""What a stack must remember between commands: ports, passwords, cluster ids and processes. One file, mode 0600."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from infra.local import paths
from infra.local.errors import LocalStackError
from infra.local.processes import ProcessRecord


class PartRecord(ProcessRecord):
    """The process of a part; `ready` says that it served and was configured, so a later `up` need not do it again."""

    ready: bool = False


class State(BaseModel):
    """Everything remembered of one local stack; changed by `with_*`, never in place."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ports: Mapping[str, int] = Field(default_factory=dict)
    cluster_ids: Mapping[str, str] = Field(default_factory=dict)
    parts: Mapping[str, PartRecord] = Field(default_factory=dict)
    passwords: Mapping[str, str] = Field(default_factory=dict, repr=False)

    def with_(self, **changes: Any) -> "State":
        """A copy in which the given mappings are replaced."""
        return self.model_copy(update=changes)

    def with_part(self, record: PartRecord) -> "State":
        """A copy that remembers `record` under its name."""
        return self.with_(parts={**self.parts, record.name: record})

    def without_part(self, name: str) -> "State":
        """A copy that no longer remembers the part."""
        return self.with_(parts={key: record for key, record in self.parts.items() if key != name})


def load_state(file: Path | None = None) -> State:
    """The remembered state, or an empty one before the first start. Raises LocalStackError if the file is damaged."""
    file = file or paths.STATE_FILE
    try:
        return State.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return State()
    except ValidationError as error:
        # Pydantic's text quotes the input, which holds passwords: only the places are told.
        places = ", ".join(".".join(map(str, problem["loc"])) or "the file" for problem in error.errors())
        raise LocalStackError(
            f"{file} cannot be read (wrong: {places})",
            "run `replicate local down --purge`, which starts from nothing, after ending what still runs by hand",
        ) from None


def save_state(state: State, file: Path | None = None) -> None:
    """Replace the file in one step: a reader sees the old state or the new one, also after a kill -9."""
    write_private(file or paths.STATE_FILE, state.model_dump_json(indent=2))


def write_private(file: Path, content: str | bytes) -> None:
    """Write a file that only its owner can read, in one step."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # mkstemp creates with mode 0600: there is no moment at which others could read it.
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
