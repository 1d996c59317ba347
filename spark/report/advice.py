"""The report's advice to users of a flow, if the flow's shape or start requires any. Pure."""

from components.contract.parameters import FlowParameters


def advice(flow: FlowParameters) -> tuple[str, ...]:
    """Sentences for users of the flow; none if the checks say everything."""
    return (*_of_the_shape(flow), *_of_the_start(flow))


def _of_the_start(flow: FlowParameters) -> tuple[str, ...]:
    if flow.start_from == "earliest":
        return ()
    source, target, seconds = flow.source.alias, flow.target.alias, flow.refresh_topics_seconds
    records = (
        f"The flow starts at latest: {target} gets the records that are produced after a task first polled their "
        f"partition. Older records stay on {source} only. Setting `startFrom: earliest` later does not fetch them for "
        "partitions whose replication has begun.",
        f"New topics and partitions start at latest, too: records produced before the connector discovers them, which "
        f"takes up to {seconds:g} s (refreshTopicsSeconds), are not replicated. Create them first, wait that long, "
        "then produce.",
    )
    if not flow.checkpoints.enabled:
        return records
    return (
        *records,
        f"A consumer group whose offset on {source} is older than the start has no offset on {target}. It must begin "
        "there at the earliest offset (auto.offset.reset=earliest), where the replicated records begin. With latest, "
        "it would skip the records that have already arrived. The records between its offset and the start can be "
        f"consumed on {source} only.",
    )


def _of_the_shape(flow: FlowParameters) -> tuple[str, ...]:
    if flow.shape != "prefixlessPair":
        return ()
    source, target = flow.source.alias, flow.target.alias
    return (
        f"Consumer offsets are not translated: in a prefixless pair, a topic on {target} holds its own records between "
        f"those of {source}, so the same offset means different records. The flow writes neither checkpoints nor group "
        "offsets. Never copy offsets by hand.",
        f"A group that fails over to {target} and has consumed there before starts from its own committed offset on "
        f"{target}. It skips nothing, but reads again what it has consumed on {source} since then.",
        f"A group without an offset on {target} must seek by timestamp. Replicated records keep the timestamp of "
        f"{source}: take that of the oldest record that the group had not finished, minus an allowance for clocks. "
        "Without such a time, start at the earliest offset; the latest would skip what has already arrived.",
        "In both cases records may be read again: consumers must tolerate that.",
    )
