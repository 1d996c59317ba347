"""Finds in a worker's log why it does not start. Pure."""

import re

_RECORD = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (.*?)(?: \(\w+\))?$")
_THROWN = re.compile(r"^(?:Caused by: )?(?:[\w$]+\.)+([\w$]+(?:Exception|Error)): (.*)$")
_TELLING_WARNING = re.compile(
    r"could not be established|terminated during authentication|Bootstrap broker .* disconnected"
    r"|resolve server|[Nn]ot authorized|[Aa]uthorization failed|Forbidden"
)
_JVM_REFUSAL = re.compile(r"^(?:Error: |Unrecognized VM option|Exception in thread)")


def first_problem(log: str) -> str | None:
    """The first error with its root cause, or else the last warning about a connection; None without either."""
    lines = log.splitlines()
    telling = None
    for number, line in enumerate(lines):
        record = _RECORD.match(line)
        if record is None:
            if _JVM_REFUSAL.match(line):
                return line.strip()
        elif record[1] in {"ERROR", "FATAL"}:
            return _with_cause(record[2], lines[number + 1 :])
        elif record[1] == "WARN" and _TELLING_WARNING.search(record[2]):
            telling = record[2]
    return telling


def _with_cause(message: str, following: list[str]) -> str:
    """The message, the exception that follows it and the last of its causes, without repetition."""
    thrown: list[str] = []
    for line in following:
        if _RECORD.match(line):
            break
        found = _THROWN.match(line)
        if found:
            thrown.append(f"{found[1]}: {found[2]}")
    parts = [message.strip(), *thrown[:1], *thrown[-1:]]
    return "; ".join(dict.fromkeys(parts))


def trace_summary(trace: str) -> str:
    """The first line of a stack trace, and its root cause if that is a different one; `no trace` if there is none."""
    lines = [line.strip() for line in trace.strip().splitlines() if line.strip()]
    causes = [line for line in lines[1:] if line.startswith("Caused by: ")]
    return "; ".join(dict.fromkeys([*lines[:1], *causes[-1:]])) or "no trace"
