"""Writes the reference pages and tables that the code knows: `make reference`.

Commands and their options, the keys of topologies, plans and stack files, the alerts, the series of the exporter, what
an import makes of published resources, and every problem code. What benches measure is written by the benches, with
`--write`.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.core import TyperGroup

from kafka_replication.components.contract import exported_series
from kafka_replication.components.render.monitoring import monitoring_objects
from kafka_replication.components.topology.in_cluster import InCluster
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.commands.app import COMMANDS, app
from kafka_replication.infra.deploy.promotion.rule.plan import PromotionPlan
from tests import problem_catalogue
from tests.builders import a_flow, a_topology
from tests.infra.onboard.importing import table as imports
from tests.pages import table, with_section
from tests.repository import ROOT

COMMANDS_PAGE = ROOT / "infra" / "COMMANDS.md"
KEYS_PAGE = ROOT / "stacks" / "KEYS.md"
ALERTS_PAGE = ROOT / "infra" / "operate" / "ALERTS.md"
_COMMANDS = """\
# Commands: arguments and options

**What do I do when I need an option of a command?** Find it here, or call the command with `--help`. `make reference`
writes this page.

Each command takes `--help`. Exit codes: 0 done, 1 problems found or refused, 2 could not run, 130 Ctrl-C.
"""
_KEYS = """\
# Keys of topologies, stack files and promotion plans

**What do I do when I need a key?** Find it here. [topologies/README.md](topologies/README.md) explains how to use the
keys of a topology. `make reference` writes this page.

A key with dots is nested: `offsetSyncs.lagMax` is `offsetSyncs: {lagMax: …}`. A name in angle brackets is yours to
choose.
"""
#: Headings and the models below them, by class name. A model with a heading is not unfolded in the tables of others.
_MODELS: Mapping[str, tuple[str, ...]] = {
    "A topology file": ("Topology",),
    "A cluster": ("Cluster",),
    "A replication": ("Flow", "PrefixlessPair", "Split", "MirrorMaker2"),
    "A part of a `split`": ("SplitPart",),
    "One of several `sources` of a `mirrorMaker2`": ("MirrorSource",),
    "A source connector": ("SourceConnector",),
    "A checkpoint or heartbeat connector": ("OptionalConnector",),
    "One of several source connectors": ("SourcePart",),
    "`connect`: the workers": ("ConnectCluster",),
    "`quota`": ("Quota",),
    "`transforms`": ("Transforms",),
    "A transform": ("Transform",),
    "A converter": ("Converter",),
    "`monitoring`": ("MonitoringSettings",),
    "A promotion plan": ("PromotionPlan",),
    "An environment of a plan": ("Environment",),
    "A wave of an environment": ("Wave",),
    "`inCluster` in `replication:validation` of a stack file": ("InCluster",),
}


def commands_page() -> str:
    """Return the page of all commands."""
    parts = [_COMMANDS]
    for name, command, context in _commands(typer.main.get_command(app), "replicate", None):
        text = inspect.cleandoc(command.help or "").replace("\b", "").partition("\f")[0]
        parts.append(f"## {name}\n\n{text or COMMANDS.get(name.split()[-1], '')}\n")
        known = sorted(command.params, key=lambda parameter: parameter.param_type_name != "argument")
        rows = [_option(parameter, context) for parameter in known if parameter.name != "help" and not parameter.hidden]
        if rows:
            parts.append(table(("argument or option", "default", "meaning"), rows) + "\n")
    return "\n".join(parts)


def _commands(command: Any, name: str, parent: Any) -> Iterator[tuple[str, Any, Any]]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    if not isinstance(command, TyperGroup):
        yield name, command, context
        return
    for verb in command.commands:
        _, inner, _ = command.resolve_command(context, [verb])
        yield from _commands(inner, f"{name} {verb}", context)


def _option(parameter: Any, context: Any) -> tuple[str, str, str]:
    default = parameter.get_default(context) if getattr(parameter, "show_default", True) else None
    shown = (
        "" if default in (None, False, 0, (), []) or callable(default) else f"`{getattr(default, 'value', default)}`"
    )
    help_text = " ".join((parameter.help or "").split())
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
        return f"`{name}`", "required" if parameter.required else shown, help_text
    name = max(parameter.opts, key=len)
    choices = get_args(parameter.type_descriptor.annotation) or ()
    value = parameter.metavar or "/".join(each for each in choices if isinstance(each, str)) or "VALUE"
    return f"`{name}`" if parameter.is_flag else f"`{name} {value}`", shown, help_text


def keys_page() -> str:
    """Return the page of all keys."""
    known = {one.__name__: one for root in (Topology, PromotionPlan, InCluster) for one in _reached(root)}
    own = {known[name] for names in _MODELS.values() for name in names}
    parts = [_KEYS]
    for title, names in _MODELS.items():
        models = [known[name] for name in names]
        if len(models) == 1:
            shown = table(("key", "default", "meaning"), list(_rows(models[0], "", own)))
        else:
            shown = table(("key", "kinds", "default", "meaning"), list(_rows_of_kinds(models, own)))
        parts.append(f"## {title}\n\n{shown}\n")
    return "\n".join(parts)


def _reached(one: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield one
    for field in one.model_fields.values():
        for nested in _models(field.annotation):
            yield from _reached(nested)


def _rows_of_kinds(kinds: Sequence[type[BaseModel]], own: set[type[BaseModel]]) -> Iterator[tuple[str, str, str, str]]:
    """Yield one row for each key that kinds of a replication share, if it means the same in each."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for kind in kinds:
        for row in _rows(kind, "", own):
            found.setdefault(row, []).append(f"`{kind.model_fields['kind'].default}`")
    for (key, default, meaning), names in sorted(found.items(), key=lambda row: _rank(row[0][0])):
        if key != "`kind`":
            yield key, "all" if len(names) == len(kinds) else ", ".join(names), default, meaning


def _rank(key: str) -> int:
    """Return where a key comes: what is replicated comes first."""
    first = ("`source`", "`target`", "`between`", "`sources`", "`parts`", "`topics`", "`topicsExclude`", "`groups`")
    return first.index(key) if key in first else len(first)


def _rows(one: type[BaseModel], prefix: str, own: set[type[BaseModel]]) -> Iterator[tuple[str, str, str]]:
    for name, field in one.model_fields.items():
        key, nested = f"{prefix}{field.alias or name}", [each for each in _models(field.annotation) if each not in own]
        meaning = " ".join((field.description or "").split())
        if nested and _is_collection(field.annotation):
            yield f"`{key}`", _default(field), meaning
            for each in nested:
                yield from _rows(each, f"{key}[].", own)
        elif nested == [_bare(field.annotation)]:
            yield from _rows(nested[0], f"{key}.", own)
        else:
            yield f"`{key}`", _default(field), f"{meaning}{_choices(field.annotation)}".strip()
            for each in nested:
                yield f"`{key}: {_form(each)}`", "", _said(each)


def _form(one: type[BaseModel]) -> str:
    """Return the keys of one of several forms of a value; `?` marks those that may be left out."""
    keys = []
    for name, field in one.model_fields.items():
        bare = _bare(field.annotation)
        fixed = f": {' or '.join(map(str, get_args(bare)))}" if get_origin(bare) is Literal else ""
        keys.append(f"{field.alias or name}{fixed}{'' if field.is_required() or fixed else '?'}")
    return f"{{{', '.join(keys)}}}"


def _said(one: type[BaseModel]) -> str:
    return " ".join((one.__doc__ or "").partition("\n\n")[0].split()).partition(" Source:")[0]


def _bare(annotation: Any) -> Any:
    """Return the annotation without `Annotated` and without `None`."""
    while hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    if get_origin(annotation) in (Union, UnionType):
        others = [each for each in get_args(annotation) if each is not type(None)]
        if len(others) == 1:
            return _bare(others[0])
    return annotation


def _is_collection(annotation: Any) -> bool:
    origin = get_origin(_bare(annotation))
    return isinstance(origin, type) and issubclass(origin, (tuple, Mapping))


def _models(annotation: Any) -> list[type[BaseModel]]:
    bare = _bare(annotation)
    if isinstance(bare, type) and get_origin(bare) is None:
        return [bare] if issubclass(bare, BaseModel) else []
    if get_origin(bare) is Literal:
        return []
    return list(dict.fromkeys(one for each in get_args(bare) for one in _models(each)))


def _choices(annotation: Any) -> str:
    bare = _bare(annotation)
    if isinstance(bare, type) and get_origin(bare) is None and issubclass(bare, Enum):
        return f" One of {', '.join(f'`{each.value}`' for each in bare)}."
    if get_origin(bare) is Literal and len(get_args(bare)) > 1:
        return f" One of {', '.join(f'`{each}`' for each in get_args(bare))}."
    return ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Enum):
        return f"`{value.value}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "" if value in (None, (), {}) or isinstance(value, (BaseModel, tuple, Mapping)) else f"`{value}`"


def alerts() -> dict[str, str]:
    """Return what the code says about each alert, by its name."""
    watched = {
        "connect": {"metrics": {"type": "jmxPrometheusExporter"}},
        "objectives": {"lagSeconds": 30, "readAgain": 1000},
    }
    flow = a_flow(**watched, onLoss="stop", connectors={"sources": {"fast": {"topics": ["orders"]}}})
    del flow["topics"]
    pair = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["ledger"], **watched}
    monitoring = {"namespace": "monitoring", "exporter": True}
    found: dict[str, str] = {}
    for replications in ({"orders": flow}, {"ledger": pair}):
        topology = parse_topology({**a_topology(monitoring=monitoring), "replications": replications})
        for planned in monitoring_objects(topology, "STACK", None):
            if planned.kind == "PrometheusRule":
                for group in planned.manifest["spec"]["groups"]:
                    found |= {rule["alert"]: _alert(rule) for rule in group["rules"] if rule["alert"] not in found}
    return found


def _alert(rule: Mapping[str, Any]) -> str:
    said = rule["annotations"]
    summary = said["summary"].partition(": ")[2]
    text = _shown(f"“{summary}”. {said['description']}").replace("ledger", "FLOW").replace("orders", "FLOW")
    return f"**{rule['labels']['severity']}**, for {rule['for'].removesuffix('m')} min: {text}"


def _shown(text: str) -> str:
    """Return a template of Prometheus as a reader sees it: `{{ $labels.connector }}` is CONNECTOR."""
    labels = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda match: match[1].upper(), text)
    return re.sub(r"\{\{ \$value.*?\}\}", "N", labels)


def series() -> str:
    """Return the table of the exporter's series."""
    rows = [
        (f"`{one.name}`", ", ".join(f"`{each}`" for each in one.more), one.meaning)
        for one in exported_series.ABOUT_FLOWS
    ]
    rows.append((f"`{exported_series.LOOK_TIME.name}`", "only `stack`", exported_series.LOOK_TIME.meaning))
    return table(("series", "more labels", "meaning"), rows)


def _with(page: Path, sections: Mapping[str, str]) -> str:
    text = page.read_text()
    for name, section in sections.items():
        text = with_section(text, name, section)
    return text


def alerts_page() -> str:
    """Return the page of alerts and series with what the code knows; the rest of the page stays."""
    return _with(ALERTS_PAGE, {**alerts(), "series": series()})


#: Every page that `make reference` writes.
PAGES: Mapping[Path, Callable[[], str]] = {
    problem_catalogue.PAGE: problem_catalogue.catalogue,
    COMMANDS_PAGE: commands_page,
    KEYS_PAGE: keys_page,
    ALERTS_PAGE: alerts_page,
    imports.PAGE: imports.page,
}


if __name__ == "__main__":
    for written, text_of in PAGES.items():
        written.write_text(text_of())
