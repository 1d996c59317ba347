"""Carries out a failback whose preconditions are met, and can be run again at any time.

No state is kept between two runs: a new run finds what an interrupted one did.
"""

from collections.abc import Sequence

from components.clients.login import Purpose
from components.clients.writer import GroupWriter
from components.contract.problems import RefusedError
from components.render.job_parameters import connector_login
from infra.operate.move.facts import NewPosition
from infra.operate.move.failover_look import OpenFlow
from infra.operate.move.group_moves import commit_moves
from infra.operate.partition_logs import Say

_WRITING = Purpose("The command commits offsets on the source with the login of the connectors.")


def expect_idle(scene: OpenFlow, moves: Sequence[NewPosition]) -> None:
    """Look one last time before the point of no return. Raises RefusedError if a group runs or has moved."""
    names = sorted({move.group for move in moves})
    source, target = scene.reader(scene.parameters.source), scene.reader(scene.parameters.target)
    members, members_there, now = source.members(names), target.members(names), target.committed(names)
    for move in moves:
        runs = members[move.group] or members_there[move.group]
        if runs or now[move.group].get(move.source) != move.committed:
            what = f"group {move.group} runs, or has committed offsets meanwhile"
            why = "The positions were computed for the earlier state. Nothing was committed."
            where, remedy = f"flow {scene.flow.name}", "stop it, and run the command again."
            raise RefusedError("changed-meanwhile", what, where, why, remedy)


def source_writer(scene: OpenFlow) -> GroupWriter:
    """Commits on the source with the connectors' login, which needs the right to do so for each group."""
    return scene.stack.kafka(GroupWriter, connector_login(scene.flow, "source"), _WRITING)


def commit_back(scene: OpenFlow, writer: GroupWriter, moves: Sequence[NewPosition], say: Say) -> None:
    """Commit the positions on the source, one group after the other, and read them back."""
    source = scene.reader(scene.parameters.source)
    commit_moves(writer, source, moves, f"replicate failback {scene.flow.name}", say)
