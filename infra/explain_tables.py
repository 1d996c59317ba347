"""Prints an explanation as tables. Decides nothing."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from components.specs.effective import ClientSetting
from components.specs.layers import LayerName
from infra.explain import Explained, Explanation, Place, shown


def print_explanation(explained: Explanation, console: Console) -> None:
    """One table a connector, client and workers: each property, its value, who set it, and why.

    A client's connection is shown at its connector only.
    """
    for place in explained.places:
        shown_here = [
            each for each in place.properties if not (place.client and each.holds.layer == LayerName.CLUSTERS)
        ]
        if not shown_here:
            continue
        table = Table(title=_title(place), title_justify="left", title_style="bold", expand=False)
        for column in ("property", "value", "set by", "why"):
            table.add_column(column, overflow="fold")
        for each in shown_here:
            table.add_row(*_row(each.name, each.name, each.holds))
        console.print(table)


def print_property(explained: Explanation, console: Console) -> None:
    """One table a place: what each layer says of one property, the lowest first, struck where another wins."""
    for place in explained.places:
        for each in place.properties:
            table = Table(title=_title(place), title_justify="left", title_style="bold", caption_justify="left")
            table.caption = _definition(each)
            for column in ("property", "value", "set by", "why"):
                table.add_column(column, overflow="fold")
            for said in each.said:
                style = "" if said is each.holds else "dim strike"
                table.add_row(*_row(each.name, said.key or each.name, said), style=style)
            console.print(table)


def _title(place: Place) -> str:
    client = f", its {place.client}" if place.client else ""
    note = f" (only with {place.note})" if place.note else ""
    return escape(f"{place.connector}{client}{note}")


def _definition(each: Explained) -> str:
    if each.definition is None:
        return "Kafka does not define it."
    default = "no default" if each.definition.default is None else f"default {each.definition.default or '(empty)'}"
    return escape(f"{each.definition.type.value}, {default}. {each.definition.documentation}")


def _row(name: str, key: str, setting: ClientSetting) -> tuple[str, str, str, str]:
    by = setting.layer if setting.key in {"", name} else f"{setting.layer}, {setting.key}"
    return escape(key), escape(shown(name, setting)), escape(by), escape(setting.why)
