"""What the runbook says about moving groups: preparing for it, leaving a region, losing a region, and going back."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from components.contract.parameters import FlowParameters
from components.contract.problems import RefusedError
from components.contract.published_verdict import PROOF_HOURS
from components.kafka.replication_policy import Policy
from components.render.acls import flows_without_addresses
from infra.operate.move.facts import Mode
from infra.operate.move.failback import refuse_unsuited_back
from infra.operate.move.failover import refuse_unsuited
from infra.operate.rehearse.drill_record import DrillRecord
from infra.operate.rehearse.model import Do, RunbookModel, Section, code, commands, steps
from infra.stack.validation_job import in_cluster

LEAVE = "Leave a region that answers"
LOST = "The source does not answer"
TARGET_DOWN = "The target does not answer"
BACK = "Go back"
PREPARE = "Before a source is lost"

#: The part of a section about one flow.
_Part: TypeAlias = Callable[[RunbookModel, FlowParameters], Iterator[str]]


def sections(model: RunbookModel) -> Iterator[Section]:
    """The sections, each with a part for every flow."""
    yield Section(LEAVE, "a region has to be left, and both regions answer?", _parts(model, _leave))
    yield Section(LOST, "the source of a flow does not answer?", _parts(model, _lost))
    yield Section(TARGET_DOWN, "the target of a flow does not answer?", tuple(_target_down()))
    yield Section(BACK, "the groups have to go back to the source?", _parts(model, _back))
    yield Section(PREPARE, "all is well, and I prepare for the loss of a source?", tuple(_prepare(model)))


def flow_title(flow: FlowParameters) -> str:
    return f"### {flow.name}: {flow.source.alias} to {flow.target.alias}"


def _parts(model: RunbookModel, part: _Part) -> tuple[str, ...]:
    lines: list[str] = []
    for flow in model.parameters():
        lines += [flow_title(flow), "", *part(model, flow), ""]
    return tuple(lines)


def _leave(model: RunbookModel, flow: FlowParameters) -> Iterator[str]:
    if refused := refusal(flow, Mode.PLANNED):
        yield from _cannot(refused)
        return
    call = f"replicate failover {model.stack} {flow.name}"
    yield from (_duration(model, flow), "")
    yield from steps(
        Do(f"Stop the consumers on {flow.source.alias}, and then the producers."),
        Do("Look. This changes nothing:", (f"{call} --dry-run",)),
        Do("Correct every line with `✗`, and look again. Then move the groups:", (call,)),
        Do(f"{_start_there(flow)}"),
    )
    yield ""
    yield "**Undo it:** as long as nothing has started on the target, start everything on the source again."
    if flow.checkpoints.enabled:
        yield f"Then start the checkpoint connector again: `replicate resume {model.stack} {flow.name}`."
    yield ""
    if flow.guard is None:
        yield from _fence(flow, call)
    if flow.policy is Policy.DEFAULT:
        yield f"**The producers stay on {flow.source.alias}:** stop only the consumers. Look, and then move the groups:"
        yield ""
        yield from commands(f"{call} --mode continuous --dry-run", f"{call} --mode continuous")
    else:
        yield f"**The producers cannot stay on {flow.source.alias}:** topics have the same names on both sides."
    if flow.guard:
        yield ""
        yield "The order of records differs on both sides of this pair. A group that has not reached the end therefore"
        yield "reads some records again."


def _fence(flow: FlowParameters, call: str) -> Iterator[str]:
    yield f"**Not every producer can be stopped:** let the command deny everybody to write to {flow.source.alias}. If"
    yield "somebody still writes, it takes that back. The connectors' user needs Alter on that cluster."
    yield ""
    yield from commands(f"{call} --fence --dry-run", f"{call} --fence")
    yield ""
    yield f"Writes stay denied until the failback. To allow them without one: `{call} --lift-fence`."
    yield ""


def _lost(model: RunbookModel, flow: FlowParameters) -> Iterator[str]:
    call = f"replicate failover {model.stack} {flow.name} --mode disaster"
    yield from steps(
        Do(
            f"See what is lost. For each topic it says from when on records may be missing on {flow.target.alias}, and "
            "for each group how many records it may read again. This changes nothing:",
            (f"{call} --dry-run",),
        ),
        Do(
            f"Does `source` show `✗`? Then stop here: {flow.source.alias} is not lost, and the command changes "
            f"nothing. If it answers, go to [{LEAVE}](#leave-a-region-that-answers). If it refuses the login, go to "
            "[A login is refused](#a-login-is-refused)."
        ),
        Do(
            f"Does `lost` show `✗`? Then stop here, too: nothing on {flow.target.alias} shows that this flow ever "
            "replicated. Check that it is the right one."
        ),
        Do(
            "Every line with `!` is information: `lost` and `read again` say what the move costs. Go on if you accept "
            "that, and wait for the source if you do not."
        ),
        Do(
            f"Stop the flow, so that no connector moves a group when {flow.source.alias} comes back:",
            (f"replicate stop {model.stack} {flow.name}",),
        ),
        *(
            [Do("Give each group its published position on the target, or its newest checkpoint:", (call,))]
            if flow.checkpoints.enabled
            else []
        ),
        Do(_start_there(flow)),
    )
    if not flow.checkpoints.enabled:
        yield ""
        yield "This flow writes no checkpoints. A group without a position on the target begins there at its"
        yield "`auto.offset.reset`: `earliest` reads everything again, and `latest` skips records."


def _target_down() -> Iterator[str]:
    yield "Nothing has to be typed. Replication goes on by itself when the target is back, from the offsets that it had"
    yield "committed. Groups cannot move meanwhile. Make sure that the source's retention is longer than the outage:"
    yield "the source deletes records even if they were never replicated."


def _back(model: RunbookModel, flow: FlowParameters) -> Iterator[str]:
    reverse = [
        each.name
        for each in flows_without_addresses(model.settings.topology)
        if (each.alias("source"), each.alias("target")) == (flow.target.alias, flow.source.alias)
    ]
    try:
        refuse_unsuited_back(flow, reverse)
    except RefusedError as error:
        yield from _cannot(error)
        return
    if flow.policy is Policy.IDENTITY:
        yield from _back_after_records(flow)
        return
    call = f"replicate failback {model.stack} {flow.name}"
    yield from steps(
        Do(
            f"Stop the producers on {flow.target.alias}. Let the consumers read what was written there to the end: "
            "unless a flow leads back, these records never reach the source."
        ),
        Do(f"Stop the consumers on {flow.target.alias}."),
        Do("Look. This changes nothing:", (f"{call} --dry-run",)),
        Do("Move the groups:", (call,)),
        Do(f"Start the consumers on {flow.source.alias} at {flow.source.bootstrap_servers}, and then the producers."),
        Do("Start the connectors that were stopped:", (f"replicate resume {model.stack} {flow.name}",)),
    )


def _back_after_records(flow: FlowParameters) -> Iterator[str]:
    """Topics have the same name on both sides, so a flow in the other direction first takes the records back."""
    ends = f"from {flow.target.alias} to {flow.source.alias}"
    yield from steps(
        Do(
            f"Replace this flow in the topology by one {ends}, with `connectors: {{source: {{state: stopped}}}}`, and "
            "deploy it. It copies nothing yet."
        ),
        Do(
            "Type `replicate failback` with the stack and the name of that flow. It sets the offsets at which the flow "
            f"begins: at the first record that did not come from {flow.source.alias}."
        ),
        Do("Remove `state: stopped` from the topology, and deploy. The records return."),
        Do("Leave the region with that flow: `replicate failover` moves the groups."),
    )


def _prepare(model: RunbookModel) -> Iterator[str]:
    yield "Once a source is lost, exact positions come from the newest validation that was published before. Without"
    yield "one, groups continue at MirrorMaker's checkpoints, and read more records again. So publish one several times"
    yield "a day."
    yield ""
    yield from steps(
        _publish(model),
        Do(
            "See when the newest validation of each flow was published, and what it found. The line `verdict` says so, "
            f"and `status` reports one that is older than {PROOF_HOURS} hours:",
            (f"replicate status {model.stack}", f"replicate status {model.stack} --history 10"),
        ),
    )
    yield ""
    yield "No positions are published for a pair, for a flow with `startFrom: latest`, or for one whose transforms"
    yield "change or drop records. A flow without checkpoints cannot use them."


def _publish(model: RunbookModel) -> Do:
    if asked := in_cluster(model.settings.validation):
        when = f"at `{asked.schedule}` ({asked.time_zone})"
        return Do(f"Nothing has to be typed: the stack validates each flow in its cluster {when}, and publishes that.")
    file, key = f"Pulumi.{model.stack}.yaml", "replication:validation: {inCluster: …}"
    return Do(
        f"This stack does not do that by itself. Add `{key}` to `{file}`, with the image of the job, and deploy. Or "
        "let a scheduler of your own call this:",
        (f"replicate validate {model.stack} --publish",),
    )


def _start_there(flow: FlowParameters) -> str:
    policy, topics = flow.replication_policy, flow.topics
    names = sorted({name for topic in topics for name in (policy.remote(topic), topic)})
    where = f"Start the consumers on {flow.target.alias} at {flow.target.bootstrap_servers}. They read {code(names)}."
    return f"{where} Then start the producers there; they write to {code(topics)}."


def refusal(flow: FlowParameters, mode: Mode) -> RefusedError | None:
    """Why groups of the flow cannot be moved in this mode; None if they can."""
    try:
        refuse_unsuited(flow, mode)
    except RefusedError as error:
        return error
    return None


def _cannot(error: RefusedError) -> Iterator[str]:
    yield f"**Not possible for this flow:** {error.what}. {error.why}"
    yield ""
    yield f"Instead: {error.remedy}"
    yield ""


def _duration(model: RunbookModel, flow: FlowParameters) -> str:
    record = model.drills.get(flow.name)
    if record is None:
        return f"Expected duration: not measured: run `replicate drill {model.stack} {flow.name}`."
    return f"Expected duration: {measured(record)}"


def measured(record: DrillRecord) -> str:
    """What the last drill measured, as a sentence."""
    steps_taken = ", ".join(f"{step.name} {step.seconds:.1f} s" for step in record.steps)
    result = f"skipped {record.skipped}, read again {record.read_again}"
    verdict = "" if record.passed else " **The drill failed: find out why before you rely on it.**"
    return f"{record.seconds:.1f} s in the drill of {record.at[:10]} ({steps_taken}; {result}).{verdict}"
