"""A backend of files of Pulumi: where it lies, and what an engine that was killed leaves torn in it."""

import json
import os
import pwd
from pathlib import Path

_FILES = "file://"
_ORGANIZATION = "organization"


def file_backend(url: str, folder: Path) -> Path | None:
    """Where a backend of files lies by its URL, for commands that run in `folder`; None for any other backend.

    Source: Pulumi's DIY backend: `~` is the account's home, whatever HOME says.
    """
    if not url.startswith(_FILES):
        return None
    path = url.removeprefix(_FILES).partition("?")[0]
    return folder / (f"{pwd.getpwuid(os.getuid()).pw_dir}{path[1:]}" if path.startswith("~") else path)


def locks_folder(backend: Path, project: str, stack: str) -> Path:
    """Where the locks of a stack lie."""
    return backend / ".pulumi" / "locks" / _ORGANIZATION / project / stack


def remove_torn_attributes(backend: Path, project: str, stack: str) -> None:
    """Remove the attributes that were not written to their end beside a stack's files: no engine reads these any more.

    Nothing is missed without them: they are a media type and a checksum that nobody compares. Source: gocloud.dev's
    fileblob, which writes attributes in place, and everything else under another name first.
    """
    state = (backend / ".pulumi" / "stacks" / project).glob(f"{stack}.json*.attrs")
    for file in (*state, *locks_folder(backend, project, stack).glob("*.attrs")):
        try:
            json.loads(file.read_text())
        except FileNotFoundError:
            continue
        except ValueError:
            file.unlink(missing_ok=True)
