"""Runs a Pulumi program against mocks and records what it registered, with parents, dependencies and outputs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pulumi
from google.protobuf.json_format import MessageToDict
from pulumi.runtime import mocks
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.sync_await import _ensure_event_loop

#: Marks a wrapped secret on the wire. Source: pulumi sdk, `sig.Secret`.
_SECRET = "1b47061264138c4ac30d75fd1eb44270"


@dataclass(frozen=True)
class Registered:
    """One registered resource, as the engine is told of it; a secret input reads `{"secret": value}`.

    `aliases` are types, `hooks` names of hooks before an update. `size` is in bytes, without the lines of the program.
    """

    token: str
    name: str
    urn: str
    parent: str
    dependencies: tuple[str, ...]
    inputs: dict[str, Any]
    provider: str = ""
    aliases: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    size: int = 0


@dataclass
class Recorder:
    """What a program registered, in order, and which components told their outputs."""

    resources: list[Registered] = field(default_factory=list)
    finished: dict[str, dict[str, Any]] = field(default_factory=dict)

    def named(self, name: str) -> Registered:
        """The one resource of this Pulumi name."""
        named = [resource for resource in self.resources if resource.name == name]
        assert len(named) == 1, f"{name}: {len(named)} of {sorted(resource.name for resource in self.resources)}"
        return named[0]

    def check_complete(self) -> None:
        """Fail on a name registered twice and on a component that told no outputs."""
        urns = [resource.urn for resource in self.resources]
        assert len(urns) == len(set(urns)), f"registered twice: {sorted(urn for urn in urns if urns.count(urn) > 1)}"
        components = {resource.urn for resource in self.resources if resource.token.startswith(_COMPONENTS)}
        assert components == set(self.finished), f"without outputs: {components - set(self.finished)}"


_COMPONENTS = ("replication:kafka:", "kafka-replication:index:")
#: The fields of a request that name lines of the program.
_LINES = ("sourcePosition", "stackTrace")
_KNOWN = (*_COMPONENTS, "kubernetes:", "pulumi:providers:kubernetes")


class _Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        if not args.typ.startswith(_KNOWN):
            raise ValueError(f"unknown resource type {args.typ}")
        return f"{args.name}-id", args.inputs

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        raise ValueError(f"unexpected call of {args.token}")


class _Monitor(mocks.MockMonitor):
    """MockMonitor forgets parents, dependencies, secrets and outputs; this one hands them to the recorder."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(_Mocks())
        self._recorder = recorder

    def RegisterResource(self, request: resource_pb2.RegisterResourceRequest) -> Any:  # noqa: N802
        answer = super().RegisterResource(request)  # type: ignore[no-untyped-call]
        if request.type != "pulumi:pulumi:Stack":
            inputs = _readable(MessageToDict(request.object))
            dependencies = tuple(sorted(request.dependencies))
            self._recorder.resources.append(
                Registered(
                    request.type,
                    request.name,
                    answer.urn,
                    request.parent,
                    dependencies,
                    inputs,
                    request.provider,
                    tuple(alias.spec.type for alias in request.aliases),
                    tuple(request.hooks.before_update),
                    # Pulumi before 3.195 sends no stack.
                    request.ByteSize() - sum(getattr(request, f).ByteSize() for f in _LINES if hasattr(request, f)),
                )
            )
        return answer

    def RegisterResourceOutputs(self, request: resource_pb2.RegisterResourceOutputsRequest) -> Any:  # noqa: N802
        if any(component in request.urn for component in _COMPONENTS):
            self._recorder.finished[request.urn] = _readable(MessageToDict(request.outputs))
        return super().RegisterResourceOutputs(request)  # type: ignore[no-untyped-call]


def record(program: Callable[[], None]) -> Recorder:
    """Run a program and return what it registered; fails on what `check_complete` says."""
    recorder = Recorder()
    # Since Python 3.14 no thread has a loop before one is set.
    _ensure_event_loop()  # type: ignore[no-untyped-call]
    pulumi.runtime.set_mocks(_Mocks(), project="replication", stack="test", monitor=_Monitor(recorder))
    pulumi.runtime.test(program)()  # type: ignore[no-untyped-call]
    recorder.check_complete()
    return recorder


def _readable(value: Any) -> Any:
    match value:
        case {"4dabf18193072939515e22adb298388d": signature, "value": inner} if signature == _SECRET:
            return {"secret": inner}
        case dict():
            return {key: _readable(inner) for key, inner in value.items()}
        case list():
            return [_readable(inner) for inner in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value
