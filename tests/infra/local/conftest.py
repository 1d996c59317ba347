"""No test of this folder may touch the stack that a developer runs beside it."""

from tests.infra.own_paths import own_stack

__all__ = ["own_stack"]
