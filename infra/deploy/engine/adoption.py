"""Imports existing objects into Pulumi's state without changing them. Pulumi's import refuses an object that differs
from what the program declares, unless its fields are ignored. So each is imported with every field ignored; the
deployment that follows then sees the differences.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial

import pulumi

from infra.deploy.engine.command import Say
from infra.deploy.engine.deployment import Change, program_of
from infra.deploy.engine.failures import NoSuchStackError
from infra.deploy.engine.stack import KUBERNETES, objects_in, open_stack, settle_pending_creates
from infra.kubernetes.api import KubernetesApi, Reference, reference
from infra.stack.settings import StackSettings


def known_objects(settings: StackSettings) -> frozenset[Reference]:
    """The Kubernetes objects in the state of a stack, and those whose creation is pending; none for an unknown
    stack.
    """
    try:
        with open_stack(settings, create=False, configured=False) as stack:
            return objects_in(stack.export_stack().deployment or {})
    except NoSuchStackError:
        return frozenset()


def import_objects(
    settings: StackSettings,
    api: KubernetesApi,
    objects: Collection[Reference],
    say: Say,
    change: Change | None = None,
) -> None:
    """Import these objects, and after `change`, create declared objects of the flows that do not exist.

    An object that is already in the state is skipped. Raises CannotRunError if the engine fails.
    """
    with open_stack(settings) as stack:
        settle_pending_creates(stack, api, say)
        program = partial(_importing, frozenset(objects), program_of(settings, change))
        stack.up(on_output=say, on_error=say, suppress_outputs=True, show_secrets=False, program=program)


def _importing(objects: Collection[Reference], program: Callable[[], None]) -> None:
    """Run a program in which resources for these objects are imported."""

    def as_it_is(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        inputs = args.props
        if not args.type_.startswith(KUBERNETES) or not isinstance(inputs.get("metadata"), Mapping):
            return None
        found = reference(inputs)
        if found not in objects:
            return None
        options = pulumi.ResourceOptions(import_=found.identifier, ignore_changes=["*"])
        return pulumi.ResourceTransformationResult(inputs, pulumi.ResourceOptions.merge(args.opts, options))

    pulumi.runtime.register_stack_transformation(as_it_is)
    program()
