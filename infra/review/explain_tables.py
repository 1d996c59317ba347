"""Prints an explanation as tables."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from components.render.client_settings import ClientSetting
from components.render.config_layers import LayerName
from infra.review.explain import Explained, Explanation, Reader, shown


def print_explanation(explained: Explanation, console: Console) -> None:
    """A table for each connector, client and the workers: each property, its value, who set it, and why.

    A client's connection is only shown at its connector.
    """
    for reader in explained.readers:
        shown_here = [
            each for each in reader.properties if not (reader.client and each.holds.layer == LayerName.CLUSTERS)
        ]
        if not shown_here:
            continue
        table = Table(title=_title(reader), title_justify="left", title_style="bold", expand=False)
        for column in ("property", "value", "set by", "why"):
            table.add_column(column, overflow="fold")
        for each in shown_here:
            table.add_row(*_row(each.name, each.name, each.holds))
        console.print(table)


def print_property(explained: Explanation, console: Console) -> None:
    """A table for each reader: what each layer says of one property, lowest first, struck out if another layer wins."""
    for reader in explained.readers:
        for each in reader.properties:
            table = Table(title=_title(reader), title_justify="left", title_style="bold", caption_justify="left")
            table.caption = _definition(each)
            for column in ("property", "value", "set by", "why"):
                table.add_column(column, overflow="fold")
            for said in each.said:
                style = "" if said is each.holds else "dim strike"
                table.add_row(*_row(each.name, said.key or each.name, said), style=style)
            console.print(table)


def _title(reader: Reader) -> str:
    client = f", its {reader.client}" if reader.client else ""
    note = f" (only with {reader.note})" if reader.note else ""
    return escape(f"{reader.connector}{client}{note}")


def _definition(each: Explained) -> str:
    if each.definition is None:
        return "Kafka does not define it."
    default = "no default" if each.definition.default is None else f"default {each.definition.default or '(empty)'}"
    return escape(f"{each.definition.type.value}, {default}. {each.definition.documentation}")


def _row(name: str, key: str, setting: ClientSetting) -> tuple[str, str, str, str]:
    by = setting.layer if setting.key in {"", name} else f"{setting.layer}, {setting.key}"
    return escape(key), escape(shown(name, setting)), escape(by), escape(setting.why)
