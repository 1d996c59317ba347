"""What Pulumi's engine stopped at, as an error that says what to do about it."""

from importlib.metadata import version

from infra.errors import CannotRunError

#: With this the engine says once more what a program said already.
_AGAIN = "an unhandled error occurred: "
#: What the engine says of a mistake, and what mends it. The first that matches holds.
_REMEDIES = (
    ("no resource plugin", f"`pulumi plugin install resource kubernetes {version('pulumi-kubernetes')}`."),
    (
        "passphrase",
        "set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE to what the stack was made with.",
    ),
    (
        "currently locked by",
        "wait until that deployment has ended; if it surely has, `pulumi cancel` in the stack's backend.",
    ),
)


class NoSuchStackError(CannotRunError):
    """Pulumi knows no stack of this name where it is logged in to."""

    def __init__(self, stack: str) -> None:
        super().__init__(
            f"stack `{stack}` is not deployed",
            "Pulumi's state",
            "Where Pulumi is logged in to, no outputs of it are kept.",
            f"run `replicate up {stack}` first, or name the right backend by `pulumi login` or PULUMI_BACKEND_URL.",
        )


def engine_failure(said: str, stack: str, *, opened: bool) -> CannotRunError:
    """The error for what the engine `said` when it failed, before or after the stack was `opened`."""
    what = "; ".join(_engine_errors(said)) or "the engine failed"
    if opened:
        why, remedy = "Pulumi's engine stopped; what it had done by then is in the stack's state.", "correct the cause"
    else:
        why = "Pulumi could not open the stack, so nothing was changed."
        remedy = "correct where the state is, by `pulumi login` or PULUMI_BACKEND_URL"
    known = next((remedy for sign, remedy in _REMEDIES if sign in what), f"{remedy}, and run the command again.")
    return CannotRunError(what, f"stack `{stack}`", why, known)


def _engine_errors(text: str) -> list[str]:
    """The lines with which the engine says what went wrong, each once; without any, the last that it said."""
    found = [line.split("error:", 1)[1].strip().removeprefix(_AGAIN) for line in text.splitlines() if "error:" in line]
    told = (line.strip().removeprefix("stdout:").removeprefix("stderr:").strip() for line in text.splitlines())
    return list(dict.fromkeys(line for line in found if line)) or [line for line in told if line][-1:]
