"""Turns a failure of Pulumi's engine into an error that says what to do about it."""

from importlib.metadata import version

from components.contract.problems import CannotRunError

#: The engine repeats what the program said, with this in front.
_AGAIN = "an unhandled error occurred: "
#: Words of the engine's message, and the remedy. The first that matches is used.
_REMEDIES = (
    ("no resource plugin", f"`pulumi plugin install resource kubernetes {version('pulumi-kubernetes')}`."),
    (
        "passphrase",
        "set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE to the passphrase the stack was created with.",
    ),
    (
        "currently locked by",
        "wait until that deployment has ended; if you are sure that it has, run `pulumi cancel` on the stack.",
    ),
)


class NoSuchStackError(CannotRunError):
    """Pulumi's backend has no stack of this name."""

    def __init__(self, stack: str) -> None:
        super().__init__(
            "stack-not-deployed",
            f"stack `{stack}` is not deployed",
            "Pulumi's state",
            "The backend that Pulumi is logged in to has no outputs of it.",
            f"run `replicate up {stack}` first, or choose the right backend with `pulumi login` or PULUMI_BACKEND_URL.",
        )


def engine_failure(said: str, stack: str, *, opened: bool) -> CannotRunError:
    """The error for what the engine `said` when it failed, before or after the stack was `opened`."""
    what = "; ".join(_engine_errors(said)) or "the engine failed"
    if opened:
        why, remedy = "Pulumi's engine stopped; the stack's state holds what it had done by then.", "correct the cause"
    else:
        why = "Pulumi could not open the stack, so nothing was changed."
        remedy = "choose the right backend with `pulumi login` or PULUMI_BACKEND_URL"
    known = next((remedy for sign, remedy in _REMEDIES if sign in what), f"{remedy}, and run the command again.")
    return CannotRunError("engine-failed", what, f"stack `{stack}`", why, known)


def _engine_errors(text: str) -> list[str]:
    """Every different error line of the engine, or its last line if there is none."""
    found = [line.split("error:", 1)[1].strip().removeprefix(_AGAIN) for line in text.splitlines() if "error:" in line]
    said = (line.strip().removeprefix("stdout:").removeprefix("stderr:").strip() for line in text.splitlines())
    return list(dict.fromkeys(line for line in found if line)) or [line for line in said if line][-1:]
