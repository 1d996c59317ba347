"""Waits until stopped connectors have stored their last offsets. Connect reports STOPPED before that."""

from collections.abc import Callable, Sequence

from infra.machine.waiting import NotYetError, wait_for

_POLL_SECONDS = 1.0


def wait_until_ended(unended: Callable[[str], Sequence[int]], connectors: Sequence[str], seconds: float) -> None:
    """Wait until no task of these connectors is left; `unended` gives the numbers of the remaining ones. Raises
    DeadlineError after this many seconds, and what `unended` raises.
    """

    def probe() -> None:
        left = {name: found for name in connectors if (found := unended(name))}
        if left:
            said = (f"tasks {', '.join(map(str, found))} of {name} have not ended" for name, found in left.items())
            raise NotYetError("; ".join(said))

    wait_for(f"the tasks of {', '.join(connectors)} to end", probe, seconds, _POLL_SECONDS)
