"""Kubernetes quantities as numbers. Imports nothing of ours."""

from collections.abc import Callable
from decimal import Decimal


def quantity(value: str | int | float) -> Decimal:
    """A quantity as a number. Kubernetes' parser takes a while to load, and few topologies have one."""
    from kubernetes.utils.quantity import parse_quantity

    parse: Callable[[str], Decimal] = parse_quantity
    return parse(str(value))


def shown(value: Decimal) -> str:
    """A number as a quantity that people read."""
    for suffix, factor in (("Gi", 1024**3), ("Mi", 1024**2)):
        if value >= factor and value % factor == 0:
            return f"{value // factor}{suffix}"
    return f"{value.normalize():f}"
