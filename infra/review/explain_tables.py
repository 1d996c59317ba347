"""Prints an explanation: as tables on a terminal, and one fact a line in a file or a pipe."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from components.render.config_layers import LayerName, Setting
from infra.review.explain import Explained, Explanation, Reader, shown
from infra.review.printed_lines import print_fact


def print_explanation(explained: Explanation, console: Console) -> None:
    """Each connector, client and the workers: each property, its value, who set it, and why.

    A client's connection is only shown at its connector.
    """
    for reader in explained.readers:
        shown_here = [
            each for each in reader.properties if not (reader.client and each.holds.layer == LayerName.CLUSTERS)
        ]
        if not console.is_terminal:
            for each in shown_here:
                _print_line(reader, each, each.holds, console)
        elif shown_here:
            table = _table(reader)
            for each in shown_here:
                table.add_row(*_row(each.name, each.name, each.holds))
            console.print(table)


def print_property(explained: Explanation, console: Console) -> None:
    """Each reader: the value of one property in each layer, lowest first; a terminal strikes out overridden values. In
    a file or a pipe, the effective value comes first.
    """
    for reader in explained.readers:
        for each in reader.properties:
            if console.is_terminal:
                console.print(_history(reader, each))
                continue
            _print_line(reader, each, each.holds, console)
            for said in reversed(each.said[:-1]):
                _print_line(reader, each, said, console, note=" overrides")
            print_fact(console, f"{_title(reader)}: {escape(each.name)}: {_definition(each)}")


def _history(reader: Reader, each: Explained) -> Table:
    table = _table(reader)
    table.caption, table.caption_justify = _definition(each), "left"
    for said in each.said:
        style = "" if said is each.holds else "dim strike"
        table.add_row(*_row(each.name, said.key or each.name, said), style=style)
    return table


def _table(reader: Reader) -> Table:
    table = Table(title=_title(reader), title_justify="left", title_style="bold")
    for column in ("property", "value", "set by", "why"):
        table.add_column(column, overflow="fold")
    return table


def _print_line(reader: Reader, each: Explained, setting: Setting, console: Console, note: str = "") -> None:
    key, value, by, why = _row(each.name, each.name, setting)
    verb = f"{note} " if note else " = "
    print_fact(console, f"{_title(reader)}: {key}{verb}{value} ({by}: {why})")


def _title(reader: Reader) -> str:
    client = f", its {reader.client}" if reader.client else ""
    note = f" (only with {reader.note})" if reader.note else ""
    return escape(f"{reader.connector}{client}{note}")


def _definition(each: Explained) -> str:
    if each.definition is None:
        return "Kafka does not define it."
    default = "no default" if each.definition.default is None else f"default {each.definition.default or '(empty)'}"
    return escape(f"{each.definition.type.value}, {default}. {each.definition.documentation}")


def _row(name: str, key: str, setting: Setting) -> tuple[str, str, str, str]:
    by = setting.layer if setting.key in {"", name} else f"{setting.layer}, {setting.key}"
    return escape(key), escape(shown(name, setting)), escape(by), escape(setting.why)
