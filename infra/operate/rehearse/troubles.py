"""What the runbook says when a flow falls behind, fails, repeats records or is refused."""

from collections.abc import Iterator

from components.contract.parameters import FlowParameters
from components.kafka.replication_policy import Policy
from infra.operate.rehearse.model import Do, RunbookModel, Section, steps

LAG = "The lag grows"
FAILED = "A task failed"
AGAIN = "A group reads records again"
LOGIN = "A login is refused"


def sections(model: RunbookModel) -> Iterator[Section]:
    """The sections, each for all flows."""
    yield Section(LAG, "the lag grows?", tuple(_lag(model)))
    yield Section(FAILED, "a task or a connector failed?", tuple(_failed(model)))
    yield Section(AGAIN, "a group reads records again?", tuple(_again(model)))
    yield Section(LOGIN, "a login is refused?", tuple(_login(model)))


def _each(model: RunbookModel, command: str, options: str = "") -> tuple[str, ...]:
    """One command for each flow."""
    return tuple(f"replicate {command} {model.stack} {flow.name}{options}" for flow in model.flows)


def _lag(model: RunbookModel) -> Iterator[str]:
    yield "The source deletes records after its retention, even if they were never replicated. So do not wait."
    yield ""
    yield from steps(
        Do(
            "Find the flow, and its busiest partition in the line `lag`. Does the lag still grow in the second answer?",
            (f"replicate status {model.stack}", f"replicate status {model.stack}"),
        ),
        Do("Is a task `failed`? Go to [A task failed](#a-task-failed)."),
        Do(
            "Is a connector paused or stopped? Ask the person that `status` names, and resume it:",
            _each(model, "resume"),
        ),
        Do(
            "Do all tasks run? Then producers write faster than the tasks copy. See how many tasks and which client "
            "settings the flow has:",
            _each(model, "explain", " tasks.max"),
        ),
        Do(
            f"Raise `tasksMax` of the source connector in `{model.topology_file}`, up to the number of partitions, and "
            "deploy it:",
            (f"replicate up {model.stack}",),
        ),
    )


def _failed(model: RunbookModel) -> Iterator[str]:
    yield from steps(
        Do("Read the line `failed`: its last part is the cause.", (f"replicate status {model.stack}",)),
        Do("Is it an authentication or authorization? Go to [A login is refused](#a-login-is-refused)."),
        Do("Restart what failed. What runs is left alone:", _each(model, "restart")),
        Do(
            "Does it fail again? See whether somebody changed something:",
            (f"replicate diff {model.stack} --against cluster",),
        ),
        Do("When all tasks run, prove that records cross:", (f"replicate validate {model.stack}",)),
    )


def _again(model: RunbookModel) -> Iterator[str]:
    yield "MirrorMaker's own positions are coarse: a group that starts at them reads records again. `failover` computes"
    yield "exact ones, and moves no group that runs."
    yield ""
    yield from steps(
        Do("The lines `re-read` and `group` say how many records at most:", (f"replicate status {model.stack}",)),
        Do(
            "See the exact position of each group on the target. This changes nothing:",
            tuple(_look(model, flow) for flow in model.parameters()),
        ),
        Do("Is a group behind its exact position? Stop it on both sides, and type that command without `--dry-run`."),
        Do(
            "Does `positions` say that records are duplicated on the target? A task was restarted. See the topics:",
            (f"replicate validate {model.stack}",),
        ),
    )


def _look(model: RunbookModel, flow: FlowParameters) -> str:
    mode = " --mode continuous" if flow.policy is Policy.DEFAULT else ""
    if flow.transformed:
        return f"replicate failover {model.stack} {flow.name} --mode disaster --dry-run"
    return f"replicate failover {model.stack} {flow.name}{mode} --dry-run"


def _login(model: RunbookModel) -> Iterator[str]:
    yield from steps(
        Do("Which cluster refuses whom? `status` names the cluster:", (f"replicate status {model.stack}",)),
        Do("[Credentials](#credentials) says which user logs in there, and where its credential is kept."),
        Do("Is it an authentication? Then the credential is wrong: [rotate it](#rotate-a-credential)."),
        Do(
            "Is it an authorization? Then an ACL is missing. Print every ACL that the stack needs, as commands:",
            (f"replicate acls {model.stack} --commands",),
        ),
        Do(
            "Restart the connectors that failed, and prove the result:",
            (*_each(model, "restart"), f"replicate validate {model.stack}"),
        ),
    )
