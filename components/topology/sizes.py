"""Sizes as Kubernetes and as Spark write them, as numbers. Stdlib only."""

import re

_SIZE = re.compile(r"([0-9.]+)(.*)")
_UNITS = {
    "": 1.0,
    "m": 0.001,
    **{unit: 1000.0**power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": 1024.0**power for power, unit in enumerate("KMGTPE", 1)},
}


def quantity_value(quantity: str | int | float) -> float:
    """A quantity of Kubernetes as a number, such as bytes or cores."""
    number, unit = _SIZE.fullmatch(str(quantity)).groups()  # type: ignore[union-attr]
    return float(number) * _UNITS[unit] if unit in _UNITS else float(quantity)


def heap_bytes(heap: str) -> float:
    """A size as Spark reads it: its units are powers of two, so its `g` is Kubernetes' `Gi`."""
    size = heap.lower().removesuffix("b")
    return quantity_value(f"{size[:-1]}{size[-1].upper()}i")
