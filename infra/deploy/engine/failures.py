"""Turns a failure of Pulumi's engine into an error that says what to do about it."""

import re
from collections.abc import Iterator
from importlib.metadata import version

from kafka_replication.components.contract.problems import CannotRunError

#: The engine repeats the program's message after this text.
_AGAIN = "an unhandled error occurred: "
_ERROR = re.compile(r"error:|^\s*\* ")
_COUNTED = re.compile(r"\d+ errors? occurred:$")
_ENDINGS = ("update failed", "preview failed")
#: Who holds a stack; a line of its own for each lock. Source: Pulumi's DIY backend.
_LOCK_HOLDER = re.compile(r"created by \S+ \(pid \d+\) at \S+")
#: Words of the engine's message -> the remedy. The first that matches is used.
_REMEDIES = {
    "no resource plugin": f"`pulumi plugin install resource kubernetes {version('pulumi-kubernetes')}`.",
    "passphrase": "set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE to the passphrase the stack was "
    "created with.",
    "currently locked by": "wait until that deployment has ended. If its process no longer runs, release its lock: run "
    "`replicate up STACK --unlock`, or `pulumi cancel`.",
    "failed to load checkpoint: EOF": "delete the empty `.attrs` files beside the stack's file in the backend's "
    "folder.",
    "already exists": "if an earlier deployment failed after it had replaced this object, deploy that change again "
    "until it succeeds, and undo it then. If it is a namespace that you created for your Secrets, set "
    "`namespace: {create: false}` (`createNamespaces: false` for a pair). If somebody else created the object, run "
    "`replicate adopt STACK`.",
}


class NoSuchStackError(CannotRunError):
    """Pulumi's backend has no stack with this name."""

    def __init__(self, stack: str) -> None:
        super().__init__(
            "stack-not-deployed",
            f"stack `{stack}` is not deployed",
            "Pulumi's state",
            "The backend that Pulumi is logged in to has no outputs for it.",
            f"run `replicate up {stack}` first, or choose the right backend with `pulumi login` or PULUMI_BACKEND_URL.",
        )


def engine_failure(said: str, stack: str, *, opened: bool) -> CannotRunError:
    """Return the error that explains what the engine `said` when it failed, before or after the stack was `opened`."""
    if edited := list(dict.fromkeys(_edited_fields(said))):
        return CannotRunError(
            "field-conflict",
            f"somebody else changed fields that this deployment would change: {'; '.join(edited)}",
            f"stack `{stack}`",
            "Kubernetes records who wrote each field, and a deployment overwrites only its own fields.",
            f"`replicate diff {stack} --against cluster` shows both values. `replicate up {stack} --refresh` deploys "
            "the stack's value; to keep the other one, write it into the topology.",
        )
    what = "; ".join([*_engine_errors(said), *_LOCK_HOLDER.findall(said)]) or "the engine failed"
    if opened:
        why, remedy = "Pulumi's engine stopped; the stack's state records what it had done so far.", "correct the cause"
    else:
        why = "Pulumi could not open the stack, so nothing was changed."
        remedy = "choose the right backend with `pulumi login` or PULUMI_BACKEND_URL"
    known = next(
        (remedy.replace("STACK", stack) for sign, remedy in _REMEDIES.items() if sign in what),
        f"{remedy}, and run the command again.",
    )
    return CannotRunError("engine-failed", what, f"stack `{stack}`", why, known)


#: How the provider names the object that it could not update. Source: pulumi-kubernetes provider.go, Update.
_OBJECT = re.compile(r'reported that "(?P<object>[^"]+)" failed to fully initialize')
#: Who owns a field; the field follows on the same line, or several do as a list. Source: Kubernetes getConflictMessage.
_OWNER = re.compile(
    r'conflicts? with "(?P<manager>[^"]+)"(?: with subresource "[^"]+")?'
    r"(?: using \S+?)?(?: at (?P<since>\S+Z))?:\s*(?P<field>\.\S+)?\s*$"
)
_LISTED = re.compile(r"\s*- \.(?P<field>\S+)\s*$")


def _edited_fields(said: str) -> Iterator[str]:
    """Yield each field that the provider did not overwrite, with its object, who wrote it and when."""
    place = by = ""
    for line in said.splitlines():
        if found := _OBJECT.search(line):
            place = found["object"]
        if found := _OWNER.search(line):
            by = f"{found['manager']} changed it" + (f" at {found['since']}" if found["since"] else "")
            if found["field"]:
                yield f"{found['field'].lstrip('.')} of {place}: {by}"
        elif by and (found := _LISTED.match(line)):
            yield f"{found['field']} of {place}: {by}"


def _engine_errors(text: str) -> list[str]:
    """Every distinct error line of the engine, or else its last line. Errors that a provider counts follow stars."""
    signs = (line.split("error:", 1)[-1].strip() for line in text.splitlines() if _ERROR.search(line))
    said = [line.removeprefix("* ").removeprefix(_AGAIN) for line in signs if not _COUNTED.search(line)]
    # The engine ends with a line about itself, which adds nothing to the others.
    found = [line for line in said if line not in _ENDINGS] or said
    lines = (line.strip().removeprefix("stdout:").removeprefix("stderr:").strip() for line in text.splitlines())
    return list(dict.fromkeys(line for line in found if line)) or [line for line in lines if line][-1:]
