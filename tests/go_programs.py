"""The Go programs that tests run beside those of the local stack; built once, like these."""

from pathlib import Path

from kafka_replication.infra.machine.toolchain import GoTool, ensure_go_tool
from tests.building import building

ACTIONLINT = GoTool("actionlint", "1.7.12", "actionlint", "github.com/rhysd/actionlint/cmd/actionlint", "-version")
KUSTOMIZE = GoTool("kustomize", "5.8.1", "kustomize", "sigs.k8s.io/kustomize/kustomize/v5", "version")
FOR_TESTS = (ACTIONLINT, KUSTOMIZE)
"""They check workflow files and rendered folders."""


def go_program(tool: GoTool) -> Path:
    """The program in its pinned version: from PATH, else built."""
    with building("building Go programs") as console:
        return ensure_go_tool(tool, console)
