"""The Go programs that tests run beside those of the local stack; built once, like these."""

from pathlib import Path

from rich.console import Console

from infra.local import paths
from infra.local.artifacts import COLD_BUILD_SECONDS
from infra.local.go_tools import GoTool, ensure_go_tool
from infra.local.locks import exclusive


def go_program(tool: GoTool) -> Path:
    """The program in its pinned version: from PATH, else built."""
    console = Console()
    with exclusive(paths.BUILT / "build.lock", console, "building Go programs", COLD_BUILD_SECONDS):
        return ensure_go_tool(tool, console)
