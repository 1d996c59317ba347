"""Quantities of Kubernetes as numbers."""

from collections.abc import Callable
from decimal import Decimal


def quantity(value: str | int | float) -> Decimal:
    """Return a Kubernetes quantity as a number; its parser is slow to load, and few topologies have a quantity."""
    from kubernetes.utils.quantity import parse_quantity

    parse: Callable[[str], Decimal] = parse_quantity
    return parse(str(value))
