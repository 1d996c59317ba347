"""What the report says in words about a shape or a start, beside what it found. Pure."""

from spark.parameters import FlowParameters


def advice(flow: FlowParameters) -> tuple[str, ...]:
    """Sentences for whoever relies on the flow; none where the checks say it all."""
    return (*_of_the_shape(flow), *_of_the_start(flow))


def _of_the_start(flow: FlowParameters) -> tuple[str, ...]:
    if flow.start_from == "earliest":
        return ()
    source, target, seconds = flow.source.alias, flow.target.alias, flow.refresh_topics_seconds
    records = (
        f"The flow starts at latest: of each partition {target} gets what is produced after a task first polled it. "
        f"Older records stay on {source} alone, and `startFrom: earliest` later on does not fetch them where "
        "replication has begun.",
        f"Topics and partitions that are made later start at latest too: what is produced before the connector "
        f"discovers them, up to {seconds:g} s (refreshTopicsSeconds), is not replicated. Make them first, wait so "
        "long, then produce.",
    )
    if not flow.checkpoints.enabled:
        return records
    return (
        *records,
        f"A consumer group whose offset on {source} is older than the start has none on {target}. There it must begin "
        "at the earliest offset (auto.offset.reset=earliest), which is the start; with latest it would skip what has "
        f"arrived since. What lies between its offset and the start it can consume on {source} only.",
    )


def _of_the_shape(flow: FlowParameters) -> tuple[str, ...]:
    if flow.shape != "prefixlessPair":
        return ()
    source, target = flow.source.alias, flow.target.alias
    return (
        f"Consumer offsets are not translated: in a prefixless pair a topic of {target} holds its own records between "
        f"those of {source}, so that an offset of {source} names another record there. Neither checkpoints nor group "
        "offsets are written, and none must be copied by hand.",
        f"A group that fails over to {target} and has consumed there before starts from its own committed offset on "
        f"{target}. It skips nothing; what it has consumed on {source} since then it reads again.",
        f"A group without an offset on {target} seeks by timestamp: replicated records keep the time of {source}, so "
        "take the time of the oldest record that it had not finished, and an allowance for clocks. Without such a time "
        "it starts at the earliest offset; the latest would skip what has arrived already.",
        "Either way records may be read again: consumers must bear that.",
    )
