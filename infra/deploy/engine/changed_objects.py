"""A program whose Kubernetes objects are changed before they are registered."""

from collections.abc import Callable, Mapping
from typing import Any

import pulumi

KUBERNETES = "kubernetes:"

#: Takes a rendered object, and returns it as it should be registered.
Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def with_changed_objects(change: Change, program: Callable[[], None]) -> None:
    """Run a program with `change` applied to each of its Kubernetes objects."""

    def changed(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if not args.type_.startswith(KUBERNETES) or not isinstance(args.props.get("metadata"), Mapping):
            return None
        return pulumi.ResourceTransformationResult(change(args.props), args.opts)

    pulumi.runtime.register_stack_transformation(changed)
    program()
