"""Pulumi's file backend: where its folder is, and the broken files that a killed engine leaves in it."""

import json
import os
import pwd
from pathlib import Path

_FILES = "file://"
_ORGANIZATION = "organization"


def file_backend(url: str, folder: Path) -> Path | None:
    """Folder of a file backend, from its URL, for commands that run in `folder`; None for any other backend.

    Source: Pulumi's DIY backend, where `~` is the account's home whatever HOME says.
    """
    if not url.startswith(_FILES):
        return None
    path = url.removeprefix(_FILES).partition("?")[0]
    return folder / (f"{pwd.getpwuid(os.getuid()).pw_dir}{path[1:]}" if path.startswith("~") else path)


def locks_folder(backend: Path, project: str, stack: str) -> Path:
    """Folder with the locks of a stack."""
    return backend / ".pulumi" / "locks" / _ORGANIZATION / project / stack


def remove_torn_attributes(backend: Path, project: str, stack: str) -> None:
    """Remove half-written attribute files beside a stack's files: with them no engine can open the stack.

    Nothing needs the attributes: they are a media type and a checksum that nobody compares. Source: gocloud.dev's
    fileblob, which writes attributes in place and every other file under a temporary name first.
    """
    state = (backend / ".pulumi" / "stacks" / project).glob(f"{stack}.json*.attrs")
    for file in (*state, *locks_folder(backend, project, stack).glob("*.attrs")):
        try:
            json.loads(file.read_text())
        except FileNotFoundError:
            continue
        except ValueError:
            file.unlink(missing_ok=True)
