"""No test of this folder may touch the stack that a developer runs at the same time."""

from tests.infra.own_paths import own_stack

__all__ = ["own_stack"]
