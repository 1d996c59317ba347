"""The runbook of a stack: one Markdown page from its model. Asks no cluster; the same model gives the same page."""

import re
from collections.abc import Iterable, Iterator

from infra.operate.rehearse import changes, names, switches, troubles
from infra.operate.rehearse.model import RunbookModel, Section, commands

_LOOK = "Look first"


def runbook(model: RunbookModel) -> str:
    """The page. No line of it holds a credential."""
    sections = tuple(_sections(model))
    lines = [f"# Runbook of {model.stack}", "", *_introduction(model), "", "## What do I do when …", ""]
    lines += [f"- [{section.question}](#{_anchor(section.title)})" for section in sections]
    for section in sections:
        lines += ["", f"## {section.title}", "", *section.lines]
    return "\n".join(_without_double_blanks(lines)) + "\n"


def _introduction(model: RunbookModel) -> Iterator[str]:
    yield f"Written from `{model.topology_file}` by `replicate runbook {model.stack}`. Do not edit this page: write it"
    yield "again after each change of the topology, and after each drill."
    yield ""
    yield "Type the commands in the project's folder. `status` and every command with `--dry-run` change nothing. Run a"
    yield "command again if it was interrupted."


def _sections(model: RunbookModel) -> Iterator[Section]:
    if not model.flows:
        yield Section(_LOOK, "I was woken?", (f"The stack `{model.stack}` has no flow in its region.",))
        return
    yield _look_first(model)
    yield from switches.sections(model)
    yield from troubles.sections(model)
    yield from changes.sections(model)
    yield from names.sections(model)


def _look_first(model: RunbookModel) -> Section:
    lines = (
        *commands(f"replicate status {model.stack}"),
        "",
        "It answers within seconds, also if a region is down.",
        "",
        "| it says | go to |",
        "| --- | --- |",
        f"| a source does not answer | {_link(switches.LOST)} |",
        f"| a target does not answer | {_link(switches.TARGET_DOWN)} |",
        f"| `failed` | {_link(troubles.FAILED)} |",
        f"| `lag` grows, or the newest heartbeat is old | {_link(troubles.LAG)} |",
        f"| `re-read` is high | {_link(troubles.AGAIN)} |",
        f"| an authentication or authorization failed | {_link(troubles.LOGIN)} |",
    )
    return Section(_LOOK, "I was woken and do not know why?", lines)


def _link(title: str) -> str:
    return f"[{title}](#{_anchor(title)})"


def _anchor(title: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _without_double_blanks(lines: Iterable[str]) -> Iterator[str]:
    before = ""
    for line in lines:
        if line or before:
            yield line
        before = line
