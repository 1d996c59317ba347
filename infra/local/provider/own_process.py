"""Starts the provider as a separate process, and ends it.

The engine notices a little later that the program that deploys has died. If the provider died at the same time, the
engine would take a creation without an answer for a failure, and would forget an object that exists. The next
deployment would be refused.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from components.contract.problems import CannotRunError


@contextmanager
def provider_process(kubeconfig: Path, *, patch_force: bool) -> Iterator[int]:
    """Run the provider while the context lasts, and yield its port. It ends by itself if this process is killed.

    A terminal's Ctrl-C does not reach it: the engine tells it what to cancel.
    """
    forced = ["--patch-force"] if patch_force else []
    # `-P`: the folder in which `replicate` runs may have its own `infra`.
    command = [sys.executable, "-P", "-m", "infra.local.provider", "--kubeconfig", str(kubeconfig), *forced]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # Leaving Popen's context closes its standard input, which ends it, and waits.
        port = process.stdout.readline()
        if not port:
            raise CannotRunError(
                "provider-not-started",
                f"the local Kubernetes provider ended at its start with exit code {process.wait()}",
                "the local stack",
                "Pulumi's engine deploys through it.",
                "correct the error that it printed above; `replicate local status` shows whether the local API server "
                "runs.",
            )
        yield int(port)
