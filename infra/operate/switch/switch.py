"""Moves applications with a failover: stops them, commits positions, leads them to the target, and starts them there.

Until the first consumer is started on the target, a failure puts everything back. From then on the command says how far
it has come, and running it again continues from there.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError, Problem, RefusedError, ReplicationError
from kafka_replication.components.contract.wording import agreeing, named, number
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.infra.kubernetes.access import asking_kubernetes, connected
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.move.facts import Mode, Precondition
from kafka_replication.infra.operate.move.run import MoveCall, Operation, print_preconditions
from kafka_replication.infra.operate.switch.file import Command, read_switch
from kafka_replication.infra.operate.switch.workloads import LiveWorkload, Right, role_text
from kafka_replication.infra.stack.settings import KubernetesAccess
from kafka_replication.infra.stack.yaml_files import placed, shown

_WHY = "The command stops and starts the workloads of the switch file."
_PERMISSION = "let your user get and patch these workloads and what holds their settings, and list pods."


class Hook:
    """An application that a program stops and starts. Members raise CannotRunError if the program fails.

    `at` is the side on which it runs; None while it is stopped.
    """

    def __init__(self, application: Command, opened: FlowAccess, call: MoveCall, folder: Path) -> None:
        self.application, self.opened, self.call, self.folder = application, opened, call, folder
        self.title = f"command {application.name}"

    @cached_property
    def at(self) -> Side | None:
        moved = self.application.reports and self._call("moved", "target", (0, 1))[0] == 0
        return "target" if moved else "source"

    def is_on(self, side: Side) -> bool:
        return self.at == side

    def lines(self, _: Side) -> Iterator[str]:
        yield f"start {self.title}: {' '.join(self.application.command)}"

    def stop(self, side: Side) -> str:
        self.at = None
        return self._run("stop", side)

    def lead(self, side: Side) -> None:
        """Do nothing: the program does it when it starts the application."""

    def start(self, side: Side) -> None:
        self.call.done(self._run("start", side))
        self.at = side

    def expect_down(self) -> None:
        """Trust the program's exit status."""

    def expect_up(self) -> None:
        """Trust the program's exit status."""

    def _run(self, step: str, side: Side) -> str:
        for line in self._call(step, side, (0,))[1].splitlines():
            self.call.say(f"  {line}")
        return f"{self.title}: {step} on {getattr(self.opened.parameters, side).alias}"

    def _call(self, step: str, side: Side, accepted: Sequence[int]) -> tuple[int, str]:
        """Run the program; returns its exit status and what it printed."""
        cluster = getattr(self.opened.parameters, side)
        given = {
            "STACK": self.opened.stack.name,
            "FLOW": self.opened.flow.name,
            "MODE": self.call.mode.value,
            "STEP": step,
            "CLUSTER": cluster.alias,
            "BOOTSTRAP": cluster.bootstrap_servers,
            "GROUPS": ",".join(self.application.groups),
        }
        environment = {**os.environ, **{f"REPLICATE_{name}": value for name, value in given.items()}}
        why = f"The switch goes on only after exit status {' or '.join(map(str, accepted))}."
        remedy = "correct it, and run the command again."
        # A pipe would stay open for as long as what the program leaves running.
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            try:
                status = subprocess.run(
                    self.application.command,
                    cwd=self.folder,
                    env=environment,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=self.call.wait_seconds,
                    check=False,
                ).returncode
            except (OSError, subprocess.TimeoutExpired) as error:
                raise CannotRunError("hook-failed", f"{step} did not run: {error}", self.title, why, remedy) from error
            output.seek(0)
            text = output.read().strip()
        if status not in accepted:
            what = f"{step} ended with exit status {status}"
            raise CannotRunError("hook-failed", what, self.title, why, remedy, text)
        return status, text


class Switch:
    """One move with the applications of a file. Raises what the move raises, and ReplicationError."""

    def __init__(self, call: MoveCall, opened: FlowAccess, operation: type[Operation[Any]], path: Path) -> None:
        self.call, self.opened, self.operation, self.path = call, opened, operation, path
        self.file, self.alias = read_switch(path), opened.parameters.target.alias
        self._contexts = ExitStack()

    def run(self) -> None:
        with self._contexts, asking_kubernetes(f"flow {self.opened.flow.name}", _WHY, _PERMISSION):
            self._look()
            self._run()

    @cached_property
    def workloads(self) -> list[LiveWorkload]:
        flow = self.opened.parameters
        addresses: dict[Side, str] = {"source": flow.source.bootstrap_servers, "target": flow.target.bootstrap_servers}
        apis: dict[str | None, KubernetesApi] = {None: self._contexts.enter_context(self.opened.kubernetes())}
        for context in dict.fromkeys(workload.context for workload in self.file.workloads):
            if context is not None:
                access = KubernetesAccess(context=context)
                remedy = "correct `context`, or set KUBECONFIG."
                apis[context] = self._contexts.enter_context(connected(access, shown(self.path), remedy))
        return [
            LiveWorkload(workload, apis[workload.context], f"workloads.{place}", addresses)
            for place, workload in enumerate(self.file.workloads)
        ]

    def _look(self) -> None:
        """Raise RefusedError for a missing right, and ReplicationError if a workload cannot be switched."""
        missing: dict[str, dict[Right, None]] = {}
        for live in self.workloads:
            for right in live.missing_rights():
                missing.setdefault(live.application.namespace, {})[right] = None
        for namespace, rights in missing.items():
            verb, _, resource, name = next(iter(rights))
            what = f"you may not {verb} {' '.join(filter(None, (resource, name)))} in {namespace}"
            remedy = "bind this Role to your user."
            raise RefusedError("switch-forbidden", what, shown(self.path), _WHY, remedy, role_text(missing))
        problems = [problem for live in self.workloads for problem in live.problems()]
        if problems:
            raise ReplicationError(placed(problems, self.path))
        titles = {live.title for live in self.workloads}
        shared = [
            Problem(
                where,
                "setting-shared",
                f"{title} also reads {setting.kind} {setting.name}",
                "It would go to the other cluster with its next restart, without its positions.",
                "name it in the file as well, or give it a ConfigMap or Secret of its own.",
            )
            for live in self.workloads
            for title, setting, where in live.readers()
            if title not in titles
        ]
        if shared:
            raise ReplicationError(placed(shared, self.path))
        notes = (Precondition("switch", note, met=None) for live in self.workloads for note in live.notes())
        print_preconditions(dict.fromkeys(notes), self.call.out)

    def _run(self) -> None:
        call, folder = self.call, self.path.parent
        hooks = [Hook(command, self.opened, call, folder) for command in self.file.commands]
        every: list[Moving] = [*self.workloads, *hooks]
        consumers = [live for live in every if live.application.role != "producer"]
        producers = [live for live in every if live.application.role == "producer"]
        moving = [live for live in consumers if not live.is_on("target")]
        left = [live for live in producers if not live.is_on("target")]
        # An earlier run has committed the positions if every consumer is there.
        commits = bool(moving) or not consumers
        first = left if commits and call.mode is not Mode.CONTINUOUS else []
        groups = _groups(moving)
        scope = replace(
            call,
            switched=frozenset(groups),
            stopped_producers=named([live.title for live in first]),
            max_lag=call.max_lag or (sys.maxsize if first else 0),
        )
        if commits:
            call.say(f"stop {named([live.title for live in (*moving, *first)], 20)}, then commit the positions")
        for line in dict.fromkeys(line for live in (*moving, *left) for line in live.lines("target")):
            call.say(line)
        disaster = call.mode is Mode.DISASTER
        if commits and (call.dry_run or not disaster):
            quiet = call.out if call.dry_run else Console(quiet=True)
            self.operation(replace(scope, dry_run=True, out=quiet, watch_seconds=0), self.opened).run()
        if call.dry_run:
            return
        past = len(moving) < len(consumers)
        try:
            stop = partial(self._stop, [*moving, *first], groups)
            if commits and disaster:
                # The source's groups cannot go on meanwhile, so it looks only once.
                self.operation(replace(scope, before_change=stop), self.opened).run()
            elif commits:
                stop()
                self.operation(scope, self.opened).run()
            for live in moving:
                live.lead("target")
            began = self._committed(_groups(consumers))
            past = True
            self._start(consumers)
            self._verify(began)
            self._stop([live for live in left if live not in first], ())
            for live in left:
                live.lead("target")
            self._start(left)
        finally:
            if not past:
                self._undo([*moving, *first])
            elif sys.exc_info()[0] is not None:
                what = f"consumers may run on {self.alias} already, so nothing is put back"
                call.err.print(f"{what}: run the command again, and it goes on from here", soft_wrap=True)
        call.done(f"the applications run on {self.alias}")

    def _stop(self, applications: Sequence["Moving"], groups: Sequence[str]) -> None:
        """Stop the applications. Wait until they have ended and, if the origin answers, their groups as well."""
        for live in applications:
            self.call.done(live.stop("source"))
        if self.call.mode is Mode.DISASTER:
            return

        def probe() -> None:
            for live in applications:
                live.expect_down()
            side = self.opened.parameters.source
            for group, count in self.opened.reader(side).members(groups).items():
                if count:
                    raise NotYetError(f"{group} still has {number(count, 'member')} on {side.alias}")

        self._wait("the applications to end", probe)

    def _start(self, applications: Sequence["Moving"]) -> None:
        for live in applications:
            live.start("target")

        def probe() -> None:
            for live in applications:
                live.expect_up()

        self._wait("the applications to be ready", probe)
        for live in applications:
            self.call.done(f"{live.title} runs on {self.alias}")

    def _committed(self, groups: Sequence[str]) -> dict[str, dict[TopicPartition, int]]:
        found = self.opened.reader(self.opened.parameters.target).committed(groups)
        return {group: found.get(group, {}) for group in groups}

    def _verify(self, began: dict[str, dict[TopicPartition, int]]) -> None:
        """Wait until each group has a member there, and has committed more unless it is at the end. Where every record
        is in a transaction, a group that has read all stands before the last marker, and it is not waited for.
        """
        reader, exact = self.opened.reader(self.opened.parameters.target), self.opened.parameters.exactly_once

        def probe() -> None:
            members, now = reader.members(began), self._committed(sorted(began))
            ends = reader.logs({partition for offsets in now.values() for partition in offsets})
            for group, offsets in now.items():
                if not members[group]:
                    raise NotYetError(f"{group} has no member on {self.alias}")
                behind = not exact and any(offset < ends[partition].end for partition, offset in offsets.items())
                if behind and offsets == began[group]:
                    raise NotYetError(f"{group} has committed nothing since it was started on {self.alias}")

        self._wait("the groups to go on", probe)
        self.call.done(f"{number(len(began), 'group')} {agreeing(len(began), '[consumes|consume]')} on {self.alias}")

    def _wait(self, what: str, probe: Callable[[], None]) -> None:
        with self.call.progress(f"waiting for {what}"):
            wait_for(what, probe, self.call.wait_seconds)

    def _undo(self, applications: Sequence["Moving"]) -> None:
        """Start the applications where they were. Raises CannotRunError if that fails."""
        titles = named([live.title for live in applications], 20)
        stopped = []
        try:
            for live in applications:
                if not live.is_on("source"):
                    stopped.append(live.title)
                    live.lead("source")
                    live.start("source")
        except (ApiError, CannotRunError) as error:
            why = f"Putting them back failed: {str(error).removesuffix('.')}."
            remedy = "run the command again: it goes on from there, or puts them back."
            raise CannotRunError("switch-left", f"{titles} may be stopped", shown(self.path), why, remedy) from error
        if stopped:
            self.call.say(f"put back on {self.opened.parameters.source.alias}: {named(stopped, 20)}")


def _groups(applications: Sequence["Moving"]) -> list[str]:
    return sorted({group for live in applications for group in live.application.groups})


Moving = LiveWorkload | Hook
